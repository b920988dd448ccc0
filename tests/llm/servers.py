"""A small HTTP server for tests: answers by path, and remembers what it was asked."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field


@dataclass
class Answer:
    body: bytes = b""
    status: int = 200
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass
class Served:
    url: str
    heads: list[str]
    """The head of each request, whole."""
    bodies: list[bytes]


@contextlib.asynccontextmanager
async def serving(answers: Mapping[str, Answer]) -> AsyncGenerator[Served]:
    heads: list[str] = []
    bodies: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        heads.append(head)
        sizes = [h[15:] for h in head.split("\r\n") if h.lower().startswith("content-length:")]
        bodies.append(await reader.readexactly(int(sizes[0]) if sizes else 0))
        answer = answers.get(head.split(" ")[1], Answer(b"{}", 404))
        lines = [
            f"HTTP/1.1 {answer.status} X",
            f"Content-Type: {answer.kind}",
            f"Content-Length: {len(answer.body)}",
            "Connection: close",
            *(f"{k}: {v}" for k, v in answer.headers.items()),
        ]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + answer.body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield Served(f"http://127.0.0.1:{port}", heads, bodies)

"""A client that calls the ASGI application in process, byte for byte as a server would."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from starlette.types import ASGIApp, Message

HOST = "127.0.0.1:8765"


@dataclass
class Answered:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


async def ask(
    app: ASGIApp,
    method: str,
    target: str,
    *,
    headers: Iterable[tuple[str, str]] = (),
    body: bytes = b"",
) -> Answered:
    """One request. `host` is right unless given; an empty value leaves a header out."""
    pairs = list(headers)
    if not any(name == "host" for name, _ in pairs):
        pairs.append(("host", HOST))
    if body:
        pairs.append(("content-length", str(len(body))))
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(n.encode(), v.encode("latin-1")) for n, v in pairs if v],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8765),
        "scheme": "http",
        "root_path": "",
        "http_version": "1.1",
    }
    answer = Answered()

    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if messages:
            return messages.pop()
        return await asyncio.get_running_loop().create_future()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {n.decode(): v.decode() for n, v in message["headers"]}
        else:
            answer.body += message.get("body", b"")

    await app(scope, receive, send)
    return answer

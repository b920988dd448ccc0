"""Connections are kept and used again; one that was closed meanwhile is no reason to fail."""

import asyncio
import socket
import struct
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest

from shipmate.llm.connections import Connections
from shipmate.llm.endpoint import Endpoint
from shipmate.llm.model import ChatMessage, ModelInfo, Reply
from shipmate.llm.openai import OpenAIModel
from tests.provider import text_reply


class Keeping:
    """A provider that keeps connections, and drops each at its `drop_at`th request."""

    def __init__(self, drop_at: int = 0, *, reset: bool = False) -> None:
        self.drop_at = drop_at
        self.reset = reset
        self.requests: list[int] = []
        """Requests on each connection."""
        self.port = 0
        self._open: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[OpenAIModel]:
        connections = Connections()
        async with await asyncio.start_server(self._serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            endpoint = Endpoint("Acme", f"http://127.0.0.1:{port}/v1")
            yield OpenAIModel(ModelInfo("acme/m"), endpoint, connections)
            await connections.close()
            await asyncio.gather(*self._open)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        mine = len(self.requests)
        self.requests.append(0)
        with suppress(asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(_length_of(head))
                self.requests[mine] += 1
                if self.requests[mine] == self.drop_at:
                    break
                await _answer(writer)
        if self.reset:
            linger = struct.pack("ii", 1, 0)
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.close()
        await writer.wait_closed()


async def _answer(writer: asyncio.StreamWriter) -> None:
    reply = text_reply("ok")
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    writer.write(b"%x\r\n%b\r\n" % (len(reply), reply))
    await asyncio.sleep(0)
    writer.write(b"0\r\n\r\n")


def _length_of(head: bytes) -> int:
    name = b"content-length:"
    return next(int(h[len(name) :]) for h in head.split(b"\r\n") if h.lower().startswith(name))


async def ask(model: OpenAIModel) -> str:
    last = [item async for item in model.stream([ChatMessage("user", "hi")], [])][-1]
    assert isinstance(last, Reply)
    return last.text


async def test_a_connection_is_used_again() -> None:
    keeping = Keeping()
    async with keeping.serving() as model:
        for _ in range(3):
            assert await ask(model) == "ok"
    assert keeping.requests == [3]


@pytest.mark.parametrize("reset", [False, True])
async def test_a_kept_connection_that_was_closed_meanwhile_is_opened_anew(reset: bool) -> None:
    keeping = Keeping(drop_at=2, reset=reset)
    async with keeping.serving() as model:
        assert await ask(model) == "ok"
        assert await ask(model) == "ok"
    assert keeping.requests == [2, 1]


async def test_before_the_first_request_nothing_is_open() -> None:
    connections = Connections()
    await connections.warm()
    await connections.close()

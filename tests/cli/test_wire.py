"""Requests that no client of ours sends, byte for byte on the socket of a real server."""

import asyncio
import json
import re
import socket
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest
import uvicorn

from shipmate.cli.wire import MAX_HEAD, MAX_HEADERS, MAX_URL, PACE, Wire
from shipmate.handlers.gate import SECURITY_HEADERS
from tests.board import BOARD
from tests.cli.server import Served, served

SECRET = "/api/agent/info"


def sent(server: Served, data: bytes, *, patience: float = 30) -> bytes:
    """All that comes back until the server closes, or nothing comes any more."""
    place = urlsplit(server.url)
    received = b""
    with socket.create_connection((str(place.hostname), place.port or 0), patience) as wire:
        try:
            wire.sendall(data)
            while part := wire.recv(65536):
                received += part
        except (ConnectionResetError, BrokenPipeError, TimeoutError):
            pass  # refused before all was read; or it waits for the rest
    return received


def statuses(received: bytes) -> list[int]:
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)]


def request(host: str, *lines: str, start: str = f"GET {SECRET} HTTP/1.1") -> bytes:
    return "\r\n".join([start, f"Host: {host}", "Connection: close", *lines, "", ""]).encode(
        "latin-1"
    )


def smuggled(host: str, good: str) -> Iterator[tuple[str, bytes]]:
    """A second request, with good credentials, hidden in a body that only some would see."""
    inner = request(host, good).decode()
    size = len(inner)
    chunk = f"{size:x}\r\n{inner}\r\n0\r\n\r\n"
    post = "POST /api/auth/sign-out HTTP/1.1"
    for name, lines, body in (
        (
            "CL.TE",
            [f"Content-Length: {size + 5}", "Transfer-Encoding: chunked"],
            f"0\r\n\r\n{inner}",
        ),
        ("TE.CL", ["Transfer-Encoding: chunked", "Content-Length: 4"], chunk),
        ("TE twice", ["Transfer-Encoding: chunked", "Transfer-Encoding: x"], f"0\r\n\r\n{inner}"),
        ("TE, x", ["Transfer-Encoding: chunked, identity"], f"0\r\n\r\n{inner}"),
        ("TE tab", ["Transfer-Encoding:\tchunked", "Content-Length: 5"], f"0\r\n\r\n{inner}"),
        ("TE space", ["Transfer-Encoding : chunked"], f"0\r\n\r\n{inner}"),
        ("TE xchunked", ["Transfer-Encoding: xchunked"], f"0\r\n\r\n{inner}"),
        ("TE vertical tab", ["Transfer-Encoding: \x0bchunked"], f"0\r\n\r\n{inner}"),
        ("CL twice", ["Content-Length: 0", f"Content-Length: {size}"], inner),
        ("CL same twice", ["Content-Length: 3", "Content-Length: 3"], "abc" + inner),
        ("CL list", ["Content-Length: 0, 0"], inner),
        ("CL plus", ["Content-Length: +0"], inner),
        ("CL minus", ["Content-Length: -1"], inner),
        ("CL hex", ["Content-Length: 0x0"], inner),
        ("CL huge", [f"Content-Length: {'9' * 30}"], inner),
        ("CL space", ["Content-Length : 0"], inner),
        ("chunk too large", ["Transfer-Encoding: chunked"], f"{'f' * 17}\r\n{inner}"),
        ("chunk minus", ["Transfer-Encoding: chunked"], f"-1\r\n{inner}"),
        ("chunk bare LF", ["Transfer-Encoding: chunked"], f"0\n\n{inner}"),
        ("obs-fold", ["X-A: b", f" {good}"], ""),
        ("folded TE", ["Transfer-Encoding:", " chunked"], f"0\r\n\r\n{inner}"),
        ("bare CR in a value", [f"X-A: b\r{good}"], ""),
        ("NUL in a value", [f"X-A: b\0{good}"], ""),
        ("NUL in a name", ["X\0A: b"], ""),
        ("no colon", ["nothing"], ""),
        ("empty name", [": x"], ""),
        ("name with a space", ["X A: b"], ""),
        ("name in brackets", ["X(A): b"], ""),
    ):
        yield name, request(host, *lines, start=post) + body.encode("latin-1")


def malformed(host: str, good: str) -> Iterator[tuple[str, bytes]]:
    """With good credentials: what is wrong is all that can keep them out."""
    for start in (
        f"GET http://evil.test{SECRET} HTTP/1.1",
        f"GET http://{host}@evil.test{SECRET} HTTP/1.1",
        f"GET //evil.test{SECRET} HTTP/1.1",
        f"GET {SECRET}#x HTTP/1.1",
        f"GET {SECRET} HTTP/1.1 x",
        f"GET {SECRET}\x0b HTTP/1.1",
        f"GET {SECRET}/.. HTTP/1.1",
        f"GET {SECRET}\xe9 HTTP/1.1",
        f"GET {SECRET} HTTP/9.9",
        f"GET {SECRET} HTTP/2.0",
        f"GET {SECRET} http/1.1",
        f"GET {SECRET} XTTP/1.1",
        "GET * HTTP/1.1",
        "GET x HTTP/1.1",
        f"CONNECT {host} HTTP/1.1",
        "OPTIONS * HTTP/1.1",
        f"PRI {SECRET} HTTP/1.1",
        f"\x16\x03\x01{SECRET}",
        f"GET {SECRET}?{'a' * 2 * MAX_URL} HTTP/1.1",
    ):
        yield start[:60], request(host, good, start=start)
    for lines in (
        ["Host: evil.test"],
        [f"Host: {host}"],
        ["Origin: https://evil.test"],
        [f"Origin: http://{host}", "Origin: https://evil.test"],
        ["Authorization: Bearer sm_no"],
        [f"X-A: {'a' * 2 * MAX_HEAD}"],
        [f"{'a' * 2 * MAX_HEAD}: x"],
        [f"X-{n}: {'a' * 600}" for n in range(MAX_HEADERS + 20)],
        [f"X-{n}: a" for n in range(MAX_HEADERS + 20)],
    ):
        yield f"{lines[0][:40]} ({len(lines)})", request(host, good, *lines)
    yield "HTTP/0.9", f"GET {SECRET}\r\n".encode()
    yield "no host", f"GET {SECRET} HTTP/1.1\r\n{good}\r\nConnection: close\r\n\r\n".encode()
    yield "HTTP/1.0 without host", f"GET {SECRET} HTTP/1.0\r\n{good}\r\n\r\n".encode()
    yield "cut in the headers", request(host, good)[:-4]
    yield "bare LF", request(host, good).replace(b"\r\n", b"\n")
    yield "bare CR", request(host, good).replace(b"\r\n", b"\r")


def upgrades(host: str) -> Iterator[tuple[str, bytes]]:
    """To something else than HTTP; without credentials, as a browser elsewhere would."""
    key = ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13"]
    for upgrade in ("websocket", "WebSocket", "h2c", "TLS/1.0", "websocket, h2c"):
        for path in (SECRET, "/api/agent/events"):
            start = f"GET {path} HTTP/1.1"
            lines = ["Connection: Upgrade", f"Upgrade: {upgrade}", *key]
            yield f"{upgrade} {path}", request(host, *lines, start=start)


@pytest.mark.safety
def test_no_raw_request_is_let_in_or_read_in_two_ways(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        host, good = urlsplit(server.url).netloc, f"Authorization: Bearer {server.token}"
        assert statuses(sent(server, request(host, good))) == [200]
        wrong: list[str] = []
        tries = [*smuggled(host, good), *malformed(host, good), *upgrades(host)]
        for name, data in tries:
            found = statuses(sent(server, data, patience=2))
            if len(found) > 1 or any(status < 400 or status >= 500 for status in found):
                wrong.append(f"{name}: {found}")
        assert statuses(sent(server, request(host, good))) == [200]
    BOARD.put("raw requests", len(tries), len(wrong))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("start", "lines", "status", "code"),
    [
        (f"GET /{'a' * (MAX_URL + 1)} HTTP/1.1", [], 414, "uri_too_long"),
        ("GET / HTTP/1.1", [f"X-A: {'a' * MAX_HEAD}"], 431, "headers_too_large"),
        ("GET / HTTP/1.1", [f"X-{n}: a" for n in range(MAX_HEADERS)], 431, "headers_too_large"),
        ("GET / HTTP/1.1", ["Host: x"], 400, "bad_request"),
    ],
)
def test_what_is_too_large_is_told_as_every_error_is(
    tmp_path: Path, start: str, lines: list[str], status: int, code: str
) -> None:
    with served(tmp_path) as server:
        answer = sent(server, request("x", *lines, start=start))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert statuses(answer) == [status]
    assert json.loads(body)["code"] == code
    for name, value in SECURITY_HEADERS.items():
        assert f"{name}: {value}".encode() in head


def test_requests_in_a_row_are_answered_in_their_order(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        host = urlsplit(server.url).netloc
        good = f"Authorization: Bearer {server.token}"
        one = request(host, start="GET /healthz HTTP/1.1").replace(b"Connection: close\r\n", b"")
        two = request(host).replace(b"Connection: close\r\n", b"")
        found = statuses(sent(server, one + two + request(host, good)))
    assert found == [200, 401, 200]


class Quick(Wire):
    head_seconds = 0.2


class QuickBody(Wire):
    body_seconds = 0.2


class ByHand(Wire):
    """Its clock runs out when the test says so."""

    body_seconds = 3600.0
    made: ClassVar[list["ByHand"]] = []

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.made.append(self)

    def reads_nothing(self) -> bool:
        return self._asked and self.flow.read_paused

    def runs_out(self) -> None:
        self._disarm()
        self._late()


async def nothing(_scope: object, _receive: object, _send: object) -> None:
    raise AssertionError("no request was whole")


@asynccontextmanager
async def quick(kind: type[Wire], app: Any) -> AsyncGenerator[int]:
    """The port of a server with this protocol."""
    config = uvicorn.Config(app, port=0, http=kind, lifespan="off", log_config=None)
    config.load()
    server = uvicorn.Server(config)
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(
        lambda: kind(config, server.server_state, {}), "127.0.0.1", 0
    )
    async with listening:
        yield listening.sockets[0].getsockname()[1]


@pytest.mark.parametrize("begin", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\nX-A: "])
async def test_headers_that_do_not_come_end_the_connection(begin: bytes) -> None:
    async with quick(Quick, nothing) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(begin)
        assert statuses(await reader.read()) == [408]
        writer.close()


SLOW_BODIES = [
    b"Content-Length: 5\r\n\r\n",
    b"Content-Length: 100000\r\n\r\n" + b"a" * 2 * PACE,
    b"Transfer-Encoding: chunked\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n5\r\nabc",
    b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
]


@pytest.mark.parametrize("begin", SLOW_BODIES)
async def test_a_body_that_does_not_come_is_told_and_ends_the_connection(begin: bytes) -> None:
    ended = asyncio.Event()

    async def reads(_scope: Any, receive: Any, _send: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        ended.set()

    async with quick(QuickBody, reads) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\n" + begin)
        answer = await reader.read()
        assert statuses(answer) == [408]
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "timeout"
        await asyncio.wait_for(ended.wait(), 30)
        writer.close()


async def test_a_handler_may_take_as_long_as_it_likes_with_a_body_that_has_come() -> None:
    may_read = asyncio.Event()

    async def slow(_scope: Any, receive: Any, send: Any) -> None:
        await may_read.wait()
        size, more = 0, True
        while more:
            message = await receive()
            assert message["type"] == "http.request"
            size, more = size + len(message["body"]), message["more_body"]
        headers = [(b"content-length", b"7")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": str(size).encode()})

    async with quick(ByHand, slow) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n")
        writer.write(b"Content-Length: 1000000\r\n\r\n" + b"a" * 1_000_000)
        async with asyncio.timeout(50):
            while not (ByHand.made and ByHand.made[-1].reads_nothing()):
                await asyncio.sleep(0)
        for _ in range(3):
            ByHand.made[-1].runs_out()
        may_read.set()
        answer = await reader.read()
        assert statuses(answer) == [200]
        assert answer.endswith(b"1000000")
        writer.close()

"""The filter, with a real client and a real server behind it."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from shipmate.safety.sandbox.proxy import MOST, Filter, RefusedError, parse

NAMES = {"site.example": ["127.0.0.1"], "inner.example": ["203.0.113.9", "10.0.0.1"]}
PUBLIC = "127.0.0.1"


async def look_up(host: str) -> Sequence[str]:
    if host not in NAMES:
        raise OSError("no such name")
    return NAMES[host]


def refused(address: str) -> str:
    return "" if address == PUBLIC else "a private network"


@asynccontextmanager
async def site() -> AsyncGenerator[tuple[int, list[bytes]]]:
    """A server that answers each connection once, and what it was sent."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], heard


async def said(path: Path, *sent: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(path)
    for one in sent:
        writer.write(one)
    answer = await reader.read()
    writer.close()
    return answer


async def test_a_page_is_fetched_and_the_request_is_made_ordinary() -> None:
    ours = Filter(("site.example",), look_up, refused)
    async with site() as (port, heard), ours.listening() as path:
        head = f"GET http://site.example:{port}/a?b HTTP/1.1\r\nHost: other.example\r\n"
        answer = await said(path, head.encode() + b"Proxy-Authorization: x\r\n\r\n")
    assert answer.endswith(b"hi")
    assert heard[0].startswith(f"GET /a?b HTTP/1.1\r\nHost: site.example:{port}\r\n".encode())
    assert b"other.example" not in heard[0]
    assert b"Proxy-" not in heard[0]


async def test_a_tunnel_is_opened() -> None:
    ours = Filter(("*",), look_up, refused)
    async with site() as (port, _), ours.listening() as path:
        connect = f"CONNECT site.example:{port} HTTP/1.1\r\n\r\n".encode()
        answer = await said(path, connect, b"GET / HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK")


@pytest.mark.parametrize(
    ("asked", "status", "why"),
    [
        ("CONNECT other.example:443", b"403", b"not among the hosts"),
        ("CONNECT inner.example:443", b"403", b"a private network"),
        ("CONNECT gone.example:443", b"502", b"not known"),
        ("GET ftp://site.example/", b"400", b"only http"),
        ("GET /", b"400", b"only http"),
        ("CONNECT site.example:x", b"400", b"only http"),
        ("CONNECT site.example:25", b"403", b"not one of the web"),
        ("CONNECT site.example:22", b"403", b"not one of the web"),
        ("GET http://site.example:6379/", b"403", b"not one of the web"),
        ("nonsense", b"400", b"no HTTP request"),
    ],
)
async def test_all_else_is_refused_with_the_reason(asked: str, status: bytes, why: bytes) -> None:
    hosts = ("site.example", "inner.example", "gone.example")
    async with Filter(hosts, look_up, refused).listening() as path:
        answer = await said(path, f"{asked} HTTP/1.1\r\n\r\n".encode())
    assert answer.split(b" ")[1] == status
    assert why in answer


def test_a_request_without_an_end_of_names_is_refused() -> None:
    with pytest.raises(RefusedError):
        parse(b"CONNECT  HTTP/1.1\r\n\r\n")


async def test_a_crowd_of_connections_is_turned_away_and_then_served_again() -> None:
    async with Filter(("*",), look_up, refused).listening() as path:
        crowd = [await asyncio.open_unix_connection(path) for _ in range(MOST)]
        reader, writer = await asyncio.open_unix_connection(path)
        assert await reader.read() == b""
        for one in [writer, *(writer for _, writer in crowd)]:
            one.close()
        answer = b""
        while not answer:  # until those that went away were noticed
            with contextlib.suppress(OSError):
                answer = await said(path, b"nonsense\r\n\r\n")
    assert b"no HTTP request" in answer

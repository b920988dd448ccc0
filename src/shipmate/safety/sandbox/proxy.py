"""The only way out of a room: a proxy for HTTP that connects to approved hosts on public addresses.

It listens on a Unix socket that is bound into one room, speaks CONNECT and plain HTTP, looks names
up itself and judges the address it connects to, so a name cannot mean two things.
"""

import asyncio
import os
import socket
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from shipmate.safety.net import refused_address
from shipmate.safety.urls import BAD_PORTS

ANY = "*"
HEAD_BYTES = 65_536
PIECE = 65_536
MOST = 100
"""Connections at once: a command does not use up what the server may have open."""
PATIENCE = 30.0
"""Seconds for a request to come, a name to be found, a connection to be made."""
LookUp: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
"""The addresses of a name."""


class RefusedError(Exception):
    """A request that is not passed on."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True)
class Request:
    """What a client of the proxy asks for."""

    host: str
    port: int
    first: bytes
    """To be sent to the host before what follows; nothing for a tunnel."""
    tunnel: bool


async def look_up(host: str) -> list[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(slots=True)
class Filter:
    """The proxy of one command."""

    hosts: tuple[str, ...]
    look_up: LookUp = look_up
    refused: Callable[[str], str] = refused_address

    @asynccontextmanager
    async def listening(self, owner: int = -1) -> AsyncGenerator[Path]:
        """Its socket, for the user `owner`; at the end all its connections are cut."""
        with tempfile.TemporaryDirectory(prefix="shipmate-net-") as folder:
            path = Path(folder) / "socket"
            tasks: set[asyncio.Task[None]] = set()

            def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                if len(tasks) >= MOST:
                    writer.close()
                    return
                task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
                tasks.add(task)
                task.add_done_callback(tasks.discard)

            server = await asyncio.start_unix_server(accepted, path, limit=HEAD_BYTES)
            path.chmod(0o600)
            if owner >= 0 and os.getuid() == 0:
                os.chown(path, owner, -1)
            try:
                yield path
            finally:
                server.close()
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                opened = await self._opened(reader, writer)
            if opened is not None:
                await _relay((reader, writer), opened)
        except (OSError, EOFError, TimeoutError, ValueError):
            pass  # the client went away, or never asked for anything
        finally:
            writer.close()

    async def _opened(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """The connection to the host, the request passed on; None where it was refused."""
        try:
            request = parse(await reader.readuntil(b"\r\n\r\n"))
            there = await self.connect(request.host, request.port)
        except RefusedError as error:
            text = f"shipmate: {error}\n".encode()
            head = f"HTTP/1.1 {error.status}\r\nContent-Type: text/plain\r\nConnection: close\r\n"
            writer.write(f"{head}Content-Length: {len(text)}\r\n\r\n".encode() + text)
            await writer.drain()
            return None
        if request.tunnel:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            there[1].write(request.first)
        return there

    async def connect(
        self, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """To an address of the host that was judged. Raises `RefusedError`."""
        if port in BAD_PORTS:
            raise RefusedError("403 Forbidden", f"port {port} is not one of the web")
        if not self.allows(host):
            raise RefusedError("403 Forbidden", f"{host} is not among the hosts that were approved")
        try:
            addresses = await self.look_up(host)
        except OSError as error:
            raise RefusedError("502 Bad Gateway", f"{host} is not known: {error}") from error
        problem = "it has no address"
        for address in addresses:
            if problem := self.refused(address):
                continue
            try:
                return await asyncio.open_connection(address, port, limit=HEAD_BYTES)
            except OSError as error:
                problem = f"{error.strerror or error}"
        status = "403 Forbidden" if addresses and self.refused(addresses[-1]) else "502 Bad Gateway"
        raise RefusedError(status, f"{host} cannot be connected to: {problem}")

    def allows(self, host: str) -> bool:
        host = host.lower().rstrip(".")
        return any(name in (ANY, host) for name in self.hosts)


def parse(head: bytes) -> Request:
    """A request as it is sent to a proxy. Raises `RefusedError` for anything else."""
    first, _, rest = head.decode("latin-1").partition("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise RefusedError("400 Bad Request", "this is no HTTP request")
    method, target, version = words
    url = urlsplit(f"//{target}" if method == "CONNECT" else target)
    try:
        host, port = url.hostname or "", url.port
    except ValueError:
        host, port = "", None
    if not host or (method != "CONNECT" and url.scheme != "http"):
        raise RefusedError("400 Bad Request", "only http:// and CONNECT are served")
    if method == "CONNECT":
        return Request(host, port or 443, b"", tunnel=True)
    own = ("proxy-", "connection:", "keep-alive:", "host:")
    place = url.netloc.rpartition("@")[2]  # not what a header says: it could name another host
    lines = [f"Host: {place}"]
    lines += [line for line in rest.split("\r\n") if line and not line.lower().startswith(own)]
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    text = "\r\n".join([f"{method} {path} {version}", *lines, "Connection: close", "", ""])
    return Request(host, port or 80, text.encode("latin-1"), tunnel=False)


Ends: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _relay(inside: Ends, outside: Ends) -> None:
    """Both ways until both have ended."""
    try:
        async with asyncio.TaskGroup() as ways:
            ways.create_task(_copy(inside[0], outside[1]))
            ways.create_task(_copy(outside[0], inside[1]))
    except* OSError:
        pass  # one end was cut, and so is the other
    finally:
        outside[1].close()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(PIECE):
        sink.write(data)
        await sink.drain()
    if sink.can_write_eof():
        sink.write_eof()

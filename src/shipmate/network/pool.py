"""Connections on aiohttp, guarded where they are made. Imported when first used: it takes 0.2 s."""

import asyncio
import errno
import os
import socket
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from shipmate.network.request import Head, NetworkError, Request, Resolver
from shipmate.safety.urls import RefusedUrl, Url

_FIELD: Final = 16_384
"""Bytes of one line of an answer's head, of which there may be 128."""


class _RefusedAddressError(OSError):
    """The socket would have gone to an address that is refused."""


class _System(Resolver):
    """The system's own resolver, in a thread."""

    async def addresses(self, host: str, port: int) -> list[str]:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(info[4][0]) for info in found))


class _Guarded(AbstractResolver):
    """Gives the addresses of a name if all of them may be connected to."""

    def __init__(self, resolver: Resolver, refused: Callable[[str], str]) -> None:
        self._resolver = resolver
        self._refused = refused

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._resolver.addresses(host, port)
        for address in found:
            if reason := self._refused(address):
                raise RefusedUrl(f"It stands for {address}, {reason}.", "address")
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in found
            if family in (socket.AF_UNSPEC, socket.AF_INET6 if ":" in address else socket.AF_INET)
        ]

    async def close(self) -> None:
        pass


class Pool:
    """Two pools: one that connects to public addresses only, and one for hosts the user set up."""

    def __init__(
        self, proxy: Callable[[], str], resolver: Resolver | None, refused: Callable[[str], str]
    ) -> None:
        self._proxy = proxy
        self._refused = refused
        resolver = resolver or _System()
        guarded = _Guarded(resolver, refused)
        self._strict = _session(
            aiohttp.TCPConnector(
                resolver=guarded,
                use_dns_cache=False,
                force_close=True,
                socket_factory=self._socket,
            )
        )
        self._free = _session(
            aiohttp.TCPConnector(resolver=_Guarded(resolver, lambda _: ""), use_dns_cache=False)
        )

    def _socket(self, info: tuple[Any, ...]) -> socket.socket:
        """The last door: the address is the one that this socket is connected to."""
        family, kind, proto, _, address = info
        if reason := self._refused(str(address[0])):
            raise _RefusedAddressError(errno.EACCES, f"{address[0]} is {reason}")
        return socket.socket(family, kind, proto)

    async def send(self, url: Url, request: Request, *, free: bool) -> Head:
        target = URL(str(url), encoded=True)
        if target.raw_host != url.host or target.port != url.port:
            raise RefusedUrl("It is read in two ways.", "host")
        proxy = "" if free else self._proxy()
        session = self._free if free or proxy else self._strict
        try:
            answer = await session.request(
                request.method,
                target,
                headers=request.headers,
                data=request.body or None,
                allow_redirects=False,
                proxy=proxy or None,
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if isinstance(error, RefusedUrl):
                raise
            raise NetworkError(_words(error, url)) from error
        return _Head(answer)

    async def close(self) -> None:
        await self._strict.close()
        await self._free.close()


class _Head(Head):
    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer

    @property
    def status(self) -> int:
        return self._answer.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._answer.headers

    async def chunk(self) -> bytes:
        try:
            return await self._answer.content.readany()
        except aiohttp.ClientError as error:
            raise ConnectionError(str(error)) from error

    def close(self) -> None:
        self._answer.close()


def _session(connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=15),
        auto_decompress=False,
        trust_env=False,
        max_line_size=_FIELD,
        max_field_size=_FIELD,
        skip_auto_headers=("Content-Type",),
    )


def _words(error: Exception, url: Url) -> str:
    match error:
        case aiohttp.ClientConnectorDNSError():
            return f"{url.place} was not found: there is no such host, or the network is down."
        case aiohttp.ClientProxyConnectionError() | aiohttp.ClientHttpProxyError():
            return f"The proxy does not let {url.place} be reached: {_reason(error)}."
        case aiohttp.ClientSSLError():
            return f"The encrypted connection to {url.place} failed: {_reason(error)}."
        case aiohttp.ClientConnectorError():
            return f"{url.place} cannot be reached: {_reason(error)}."
        case _:
            return f"{url.place} broke the connection off, or speaks no HTTP: {_reason(error)}."


def _reason(error: Exception) -> str:
    inner = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(inner, _RefusedAddressError):
        return cast("str", inner.strerror)
    if isinstance(inner, OSError) and inner.errno and inner.errno in errno.errorcode:
        return os.strerror(inner.errno)
    return (str(inner) or type(inner).__name__)[:200].rstrip(".")

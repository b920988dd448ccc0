"""HTTP to providers, on aiohttp. Imported when first used: it takes 0.2 s."""

import asyncio
import errno
import os
import re
from collections.abc import AsyncIterator, Mapping
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from shipmate.llm.model import ModelError
from shipmate.safety.net import is_loopback

_WHOLE: Final = 2**20
"""Bytes up to which aiohttp takes a body in one piece without a warning."""
_PIECE: Final = 2**18
_CALLED: Final = re.compile(r"/(chat/completions|messages|models/[^/]*)$")
"""What stands after the base URL."""
ERROR_BODY: Final = 65_536
"""Bytes of a failure that are read."""


class Transport:
    """The process's one pool of connections. No redirects, no cookies, no `.netrc`."""

    def __init__(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=30),
            headers={"User-Agent": "shipmate"},
        )

    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str], *, provider: str, limit: float
    ) -> "Exchange":
        """Send, and wait up to `limit` seconds for the head of the answer."""
        try:
            async with asyncio.timeout(limit):
                answer = await self._post(url, body, headers)
        except TimeoutError as error:
            message = f"{provider} did not answer within {limit:g} s."
            raise ModelError(message, kind="unreachable") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise _unreachable(error, provider, url) from error
        return Exchange(answer, provider)

    async def _post(
        self, url: str, body: bytes, headers: Mapping[str, str]
    ) -> aiohttp.ClientResponse:
        """A kept connection that the server has just closed is no reason to fail."""
        headers = {**headers, "Content-Length": str(len(body))}
        proxy = _proxy_of(url)
        for tries_left in (2, 1, 0):
            data = body if len(body) <= _WHOLE else _pieces(body)
            try:
                return await self._session.post(
                    url, data=data, headers=headers, allow_redirects=False, proxy=proxy
                )
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
                if not tries_left or isinstance(error, aiohttp.ClientConnectorError):
                    raise
        raise AssertionError  # the loop returns or raises

    async def close(self) -> None:
        await self._session.close()


class Exchange:
    """One answer while it is read."""

    def __init__(self, answer: aiohttp.ClientResponse, provider: str) -> None:
        self._answer = answer
        self._provider = provider
        self.status = answer.status
        self.headers: Mapping[str, str] = answer.headers

    async def read(self, limit: float) -> bytes:
        """What has come, at least a byte; empty at the end, also an end that came too early.

        Raises `TimeoutError` after `limit` seconds.
        """
        try:
            async with asyncio.timeout(limit):
                return await self._answer.content.readany()
        except (aiohttp.ClientError, ConnectionError):
            return b""

    async def failure(self, limit: float) -> bytes:
        """The body of an answer that tells of a failure, as far as it comes in time."""
        found = b""
        try:
            while len(found) < ERROR_BODY and (data := await self.read(limit)):
                found += data
        except TimeoutError:
            pass  # what has come must do
        return found

    def close(self) -> None:
        """Give the connection back when the answer was read to its end, else close it."""
        self._answer.close()


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(body), _PIECE):
        yield body[at : at + _PIECE]


def _proxy_of(url: str) -> str | None:
    """The proxy that the environment names for `url`; never for this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host) or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)


def _unreachable(error: Exception, provider: str, url: str) -> ModelError:
    place = f"{provider} at {_CALLED.sub('', url)}"
    match error:
        case aiohttp.ClientConnectorDNSError():
            what = f"{place} was not found: is the address right, and the network up?"
        case aiohttp.ClientSSLError():
            what = f"The encrypted connection to {place} failed: {_reason(error)}."
        case aiohttp.ClientConnectorError():
            what = f"{place} cannot be reached: {_reason(error)}. Is it running?"
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError() | ConnectionError():
            what = f"{place} closed the connection without an answer."
            return ModelError(what, kind="truncated")
        case aiohttp.InvalidURL() | ValueError():
            what = f"The base URL of {provider} is not a URL that can be used: {url}."
        case _:
            what = f"{place} cannot be reached: {_reason(error)}."
    return ModelError(what, kind="unreachable")


def _reason(error: Exception) -> str:
    inner = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(inner, OSError) and inner.errno and inner.errno in errno.errorcode:
        return os.strerror(inner.errno)
    return (str(inner) or type(inner).__name__).rstrip(".")

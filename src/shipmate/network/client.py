"""Requests to places that the user did not set up: pages and files of the web.

The address that is judged is the address that is connected to (`network.pool`): a name that
stands for something else a moment later is refused then. Each hop of a redirect is read and
judged anew. Time and decoded bytes are bounded; no cookie, no proxy of the environment, no
credential is ever sent by itself.
"""

import asyncio
import importlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias
from urllib.parse import urljoin

from shipmate.network.decoding import ACCEPTED, Decoder, EncodingError
from shipmate.network.request import Head, NetworkError, Request, Resolver, Sender
from shipmate.safety.net import refused_address
from shipmate.safety.urls import RefusedUrl, Url, is_exempt, read_url

HOPS: Final = 10
_MOVED: Final = frozenset({301, 302, 303, 307, 308})
_BOUND: Final = frozenset({"authorization", "cookie", "proxy-authorization"})
"""Headers that are for the host alone that they were made for."""

Cut: TypeAlias = Literal["", "size", "time", "closed", "damaged"]


@dataclass(slots=True)
class Answer:
    """One answer while it is read."""

    url: Url
    """Where it came from in the end."""
    head: Head
    """Its body is yet to come."""
    deadline: float
    """On the clock of the event loop."""
    hops: tuple[str, ...] = ()
    """The URLs that pointed on, the first one first."""
    elsewhere: Url | None = None
    """Where it points to, when that was not followed: the body is of no interest then."""
    cut: Cut = ""
    """Why the body is not whole; known once it was read."""

    @property
    def status(self) -> int:
        return self.head.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self.head.headers

    async def pieces(self, most: int) -> AsyncIterator[bytes]:
        """The decoded body, at most `most` bytes of it. What came in time is given, and `cut`
        says what became of the rest. Raises `NetworkError` where nothing of it can be read."""
        try:
            decoder = Decoder(self.headers.get("Content-Encoding", ""))
        except EncodingError as error:
            raise NetworkError(f"{self.url.place}: {error}.") from None
        left = most
        try:
            while data := await self._chunk():
                for piece in decoder.feed(data):
                    yield piece[:left]
                    left -= len(piece)
                    if left < 0:
                        self.cut = "size"
                        return
        except EncodingError:
            self.cut = "damaged"
        if not self.cut and not decoder.whole:
            self.cut = "damaged"

    async def read(self, most: int) -> bytes:
        """The decoded body, at most `most` bytes of it."""
        return b"".join([piece async for piece in self.pieces(most)])

    async def _chunk(self) -> bytes:
        try:
            async with asyncio.timeout_at(self.deadline):
                return await self.head.chunk()
        except TimeoutError:
            self.cut = "time"
        except ConnectionError:
            self.cut = "closed"
        return b""


class Client:
    """One for the process; closed when the server ends."""

    def __init__(
        self,
        *,
        proxy: Callable[[], str] = str,
        resolver: Resolver | None = None,
        refused: Callable[[str], str] = refused_address,
    ) -> None:
        """`proxy`: the URL of the proxy the user configured, which then looks names up itself;
        empty: none. `refused`: why an address is not connected to; empty: it is."""
        self._proxy = proxy
        self._resolver = resolver
        self._refused = refused
        self._sender: Sender | None = None

    @asynccontextmanager
    async def request(self, url: Url, request: Request | None = None) -> AsyncGenerator[Answer]:
        """Send, follow, and give the answer; the connection is closed when it was left.

        Raises `NetworkError` in words for a person.
        """
        request = request or Request()
        await self._open()
        deadline = asyncio.get_running_loop().time() + request.seconds
        try:
            async with asyncio.timeout_at(deadline):
                answer = await self._followed(url, request, deadline)
        except TimeoutError:
            what = f"{url.place} did not answer within {request.seconds:g} seconds."
            raise NetworkError(what) from None
        except RefusedUrl as refused:
            raise NetworkError(f"{url.place}: {refused}") from None
        try:
            yield answer
        finally:
            answer.head.close()

    async def aclose(self) -> None:
        if self._sender is not None:
            await self._sender.close()
            self._sender = None

    async def _followed(self, url: Url, request: Request, deadline: float) -> Answer:
        hops: list[str] = []
        request = _with_defaults(request)
        while True:
            head = await self._sent(url, request)
            place = head.headers.get("Location", "") if head.status in _MOVED else ""
            if not place:
                return Answer(url, head, deadline, tuple(hops))
            try:
                target = _target(url, place, request)
            except RefusedUrl:
                head.close()
                raise
            if not (request.elsewhere or same_place(url, target)):
                return Answer(url, head, deadline, tuple(hops), target)
            head.close()
            if len(hops) == HOPS:
                raise RefusedUrl(f"It points on more than {HOPS} times.", "hops")
            hops.append(str(url))
            request, url = _onward(request, head.status, url, target), target

    async def _sent(self, url: Url, request: Request) -> Head:
        """Exempt hosts have a pool of their own, so that no kept connection to one of them is
        ever used by a request that may not go there."""
        sender = await self._open()
        return await sender.send(url, request, free=is_exempt(url, request.exempt))

    async def _open(self) -> Sender:
        if self._sender is None:
            # aiohttp takes 0.2 s: not before it is needed, and not on the event loop
            pool = await asyncio.to_thread(importlib.import_module, "shipmate.network.pool")
            if self._sender is None:
                self._sender = pool.Pool(self._proxy, self._resolver, self._refused)
        assert self._sender is not None  # noqa: S101 - it was just made
        return self._sender


def same_place(before: Url, after: Url) -> bool:
    """Whether a redirect stays with its host: there, or from its http to its https."""
    upgraded = (before.scheme, before.port, after.scheme, after.port) == ("http", 80, "https", 443)
    return before.host == after.host and (before.origin == after.origin or upgraded)


def _target(url: Url, place: str, request: Request) -> Url:
    try:
        joined = urljoin(str(url), place)
    except ValueError:
        joined = place
    try:
        return read_url(joined, request.exempt)
    except RefusedUrl as refused:
        shown = joined[:200].encode("ascii", "backslashreplace").decode()
        raise RefusedUrl(f"It points to {shown!r}: {refused}", refused.rule) from None


def _with_defaults(request: Request) -> Request:
    given = {name.lower() for name in request.headers}
    headers = {"User-Agent": "shipmate", "Accept-Encoding": ACCEPTED, "Accept": "*/*"}
    headers = {name: value for name, value in headers.items() if name.lower() not in given}
    return replace(request, headers={**headers, **request.headers})


def _onward(request: Request, status: int, before: Url, after: Url) -> Request:
    """What is sent to the next hop: elsewhere nothing that is bound to a host, and a plain look
    where the server says so, or where the body was meant for another host."""
    headers, method, body = dict(request.headers), request.method, request.body
    moved = before.origin != after.origin
    if moved:
        headers = {name: value for name, value in headers.items() if name.lower() not in _BOUND}
    if status in (301, 302, 303) or moved:
        method, body = ("HEAD" if method == "HEAD" else "GET"), b""
        headers = {n: v for n, v in headers.items() if not n.lower().startswith("content-")}
    return replace(request, headers=headers, method=method, body=body)

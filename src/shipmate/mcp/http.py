"""The network client of servers over HTTP: bounded answers, and what their status tells.

One seam: when the guarded client of the server is used, it comes in here.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import httpx2

CONNECT_S = 20.0
SILENCE_S = 300.0
"""A stream that says nothing for so long is opened anew."""
MOST_BYTES = 16 * 1024 * 1024
"""Of one answer that is no stream."""
SESSION = "mcp-session-id"


class TooLargeError(httpx2.TransportError):
    """An answer is larger than is read."""


@dataclass(slots=True)
class Refusals:
    """How the server last refused a request of the session."""

    status: int = 0
    """Of the last refusal of a request that named the session; 0: none."""
    last: int = 0
    """Of the last refusal of any request."""


class Bounded(httpx2.AsyncBaseTransport):
    """Passes on, counts what comes, and notes refusals."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, refusals: Refusals) -> None:
        self._inner = inner
        self._refusals = refusals

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if response.status_code >= 400:
            self._refusals.last = response.status_code
            if request.method == "POST" and SESSION in request.headers:
                self._refusals.status = response.status_code
        if "text/event-stream" not in response.headers.get("content-type", ""):
            response.stream = _Counted(response.stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, inner: object) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        assert isinstance(self._inner, httpx2.AsyncByteStream)  # noqa: S101 - of an async client
        async for data in self._inner:
            size += len(data)
            if size > MOST_BYTES:
                raise TooLargeError(f"The answer is larger than {MOST_BYTES // 1_048_576} MB.")
            yield data

    async def aclose(self) -> None:
        if isinstance(self._inner, httpx2.AsyncByteStream):
            await self._inner.aclose()


def client(
    headers: Mapping[str, str], auth: httpx2.Auth | None, refusals: Refusals
) -> httpx2.AsyncClient:
    """A client for one server. Redirects are followed by the SDK alone, within the origin."""
    return httpx2.AsyncClient(
        transport=Bounded(httpx2.AsyncHTTPTransport(), refusals),
        headers=dict(headers),
        auth=auth,
        timeout=httpx2.Timeout(CONNECT_S, read=SILENCE_S),
        follow_redirects=False,
    )

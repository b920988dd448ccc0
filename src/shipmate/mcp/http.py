"""The SDK's network client on our guarded one: the host that the user set up may be of a private
network, every other one (a server that signs people in) may not; answers are bounded."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass

import httpx2

from shipmate.network.client import Answer, Client
from shipmate.network.request import NetworkError, Request
from shipmate.safety.urls import RefusedUrl, read_url

SILENCE_S = 300.0
"""A stream that says nothing for so long has ended."""
LASTS_S = 7 * 24 * 3600.0
"""For the longest stream; calls have limits of their own."""
MOST_BYTES = 32 * 1024 * 1024
"""Of one answer that is no stream."""
SESSION = "mcp-session-id"
_OURS = frozenset({"host", "content-length", "accept-encoding", "connection"})
_CHANGED = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_STREAM = "text/event-stream"


@dataclass(slots=True)
class Refusals:
    """How the server last refused a request."""

    of_session: int = 0
    """One that named the session; 0: none."""
    last: int = 0
    """Any."""


class Guarded(httpx2.AsyncBaseTransport):
    """Sends through the guarded client, and notes refusals."""

    def __init__(self, network: Client, host: str, refusals: Refusals) -> None:
        self._network = network
        self._host = host
        self._refusals = refusals

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        exempt = frozenset({self._host})
        stack = AsyncExitStack()
        try:
            url = read_url(str(request.url), exempt)
            headers = {n: v for n, v in request.headers.items() if n.lower() not in _OURS}
            asked = Request(request.method, headers, await request.aread(), exempt, seconds=LASTS_S)
            answer = await stack.enter_async_context(self._network.request(url, asked))
        except (NetworkError, RefusedUrl) as error:
            raise httpx2.ConnectError(str(error), request=request) from error
        if answer.status >= 400:
            self._refusals.last = answer.status
            if request.method == "POST" and SESSION in request.headers:
                self._refusals.of_session = answer.status
        kept = [(n, v) for n, v in answer.headers.items() if n.lower() not in _CHANGED]
        body = _Body(answer, stack, streams=_STREAM in answer.headers.get("Content-Type", ""))
        return httpx2.Response(answer.status, headers=kept, stream=body, request=request)


class _Body(httpx2.AsyncByteStream):
    def __init__(self, answer: Answer, stack: AsyncExitStack, *, streams: bool) -> None:
        self._answer = answer
        self._stack = stack
        self._most = 1 << 62 if streams else MOST_BYTES

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = self._answer.pieces(self._most)
        while True:
            try:
                piece = await asyncio.wait_for(anext(pieces), SILENCE_S)
            except StopAsyncIteration:
                break
            except TimeoutError:
                raise httpx2.ReadTimeout("It has said nothing for a long time.") from None
            except NetworkError as error:
                raise httpx2.ReadError(str(error)) from error
            yield piece
        if self._answer.cut:
            why = {"size": f"The answer is larger than {MOST_BYTES // 1_048_576} MB."}
            raise httpx2.ReadError(why.get(self._answer.cut, "The answer was cut off."))

    async def aclose(self) -> None:
        await self._stack.aclose()


def client(
    network: Client, url: str, headers: Mapping[str, str], auth: httpx2.Auth | None, told: Refusals
) -> httpx2.AsyncClient:
    """A client for one server. The guarded client follows redirects, within its origin."""
    return httpx2.AsyncClient(
        transport=Guarded(network, httpx2.URL(url).host, told),
        headers=dict(headers),
        auth=auth,
        timeout=None,
        follow_redirects=False,
    )

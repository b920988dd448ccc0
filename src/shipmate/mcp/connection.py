"""One connection to a server: the SDK's session over a transport, and what we ask of it.

Imported when the first server connects: it brings the SDK and pydantic.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import httpx2
import mcp_types as types
from mcp.client.session import ClientRequestContext, ClientSession, IncomingMessage
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import listen
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from shipmate import __version__
from shipmate.mcp import http
from shipmate.mcp.expansion import Resolved
from shipmate.mcp.foreign import as_list, as_text
from shipmate.mcp.process import LINE_BYTES, ServerEndedError, ServerProcess
from shipmate.mcp.stdio import stdio
from shipmate.mcp.tapped import Ending
from shipmate.mcp.tapped import taken as taken_here
from shipmate.network.client import Client

PAGES = 200
"""Of a list; a server that has more, or repeats itself, is read as far as that."""
INPUT_ROUNDS = 10
"""How often a server may ask for something before it answers one call."""
_LOST = -32001
"""The code with which servers say that they do not know the session (any more)."""

for _name in ("mcp", "client", "httpx2"):
    # A server's noise must not fill our log; what matters is told by its state.
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class Hooks(Protocol):
    """What a server may ask of us."""

    async def roots(self) -> list[tuple[str, str]]:
        """Folders as URI and name."""
        ...

    async def elicit(self, params: types.ElicitRequestParams) -> types.ElicitResult: ...
    async def sample(
        self, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData: ...
    def changed(self) -> None:
        """Its list of tools is another one now."""
        ...


@dataclass(slots=True, eq=False)
class Connection:
    session: ClientSession
    running: ServerProcess | None
    refusals: http.Refusals
    broken: asyncio.Future[str]
    """Told why when the server broke the rules."""
    ended: asyncio.Event
    """Set when the transport has ended."""
    _sent: set[asyncio.Future[Any]] = field(default_factory=set[asyncio.Future[Any]])

    @property
    def version(self) -> str:
        return self.session.protocol_version or ""

    @property
    def modern(self) -> bool:
        return self.version in MODERN_PROTOCOL_VERSIONS

    @property
    def over(self) -> bool:
        """Whether it has ended, though its owner may not have looked yet."""
        return self.ended.is_set() or (self.running is not None and self.running.ended)

    async def tools(self) -> list[Any]:
        """All that the server lists, as it came, page by page; a cursor that was there before
        ends it."""
        capabilities = self.session.server_capabilities
        if capabilities is not None and capabilities.tools is None:
            return []
        found: list[Any] = []
        cursors: set[str] = set()
        cursor: str | None = None
        for _ in range(PAGES):
            params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
            raw = await self._raw(partial(self.session.list_tools, params=params))
            found += as_list(raw.get("tools"))
            after = as_text(raw.get("nextCursor"))
            if not after or after in cursors:
                break
            cursors.add(after)
            cursor = after
        return found

    async def call(
        self, tool: str, arguments: dict[str, Any], progress: ProgressFnT, hooks: Hooks
    ) -> dict[str, Any]:
        """The result of a call, as it came. What the server wants to know first is asked."""
        responses: Any = None
        state: str | None = None
        for _ in range(INPUT_ROUNDS):
            given: list[Any] = []
            ask = partial(
                self.session.call_tool,
                tool,
                arguments,
                progress_callback=progress,
                input_responses=responses,
                request_state=state,
                allow_input_required=True,
            )
            raw = await self._raw(ask, given)
            if not isinstance(given[0], types.InputRequiredResult):
                return raw
            state = given[0].request_state
            responses = await self._inputs(given[0], hooks)
        raise ServerEndedError(f"It asked for something {INPUT_ROUNDS} times without an answer.")

    async def _inputs(self, wanted: types.InputRequiredResult, hooks: Hooks) -> Any:
        if not wanted.input_requests:
            await asyncio.sleep(0.1)
            return None
        context = ClientRequestContext(session=self.session, request_id="input")
        answers: dict[str, Any] = {}
        for key, request in wanted.input_requests.items():
            answer = await self.session.dispatch_input_request(context, request)
            if isinstance(answer, types.ErrorData):
                raise MCPError.from_error_data(answer)
            answers[key] = answer
        return answers

    async def _raw(
        self, ask: Callable[[], Awaitable[Any]], given: list[Any] | None = None
    ) -> dict[str, Any]:
        """Ask in a task of its own, so that who is stopped need not wait until the server has
        been told; the answer as it came, and what the SDK made of it in `given`."""
        taken: list[dict[str, Any]] = []

        async def asked() -> Any:
            taken_here.set(taken)
            return await ask()

        task = asyncio.ensure_future(asked())
        self._sent.add(task)
        task.add_done_callback(self._done)
        try:
            made = await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if given is not None:
            given.append(made)
        return taken[0]

    def _done(self, task: asyncio.Future[Any]) -> None:
        self._sent.discard(task)
        if not task.cancelled():
            task.exception()

    def end(self, why: str) -> None:
        """Have the owner begin anew; one that has ended by itself keeps its own reason."""
        if not self.over and not self.broken.done():
            self.broken.set_result(why)
        self.ended.set()

    async def told_roots(self) -> None:
        """Tell that the folders are others now; later revisions ask each time."""
        if not self.modern:
            await self.session.send_notification(types.RootsListChangedNotification())

    def lost(self, error: MCPError) -> bool:
        """Whether the server does not know our session any more, so that the call was not run.
        An error inside an answer that is none is no loss of the session (MCP-17)."""
        status, self.refusals.of_session = self.refusals.of_session, 0
        return status == 404 or (status >= 400 and error.code == _LOST)

    async def follow_changes(self, hooks: Hooks) -> None:
        """In later revisions changes are told on a stream that is asked for."""
        with suppress(MCPError, RuntimeError):
            async with listen(self.session, tools_list_changed=True) as changes:
                async for _ in changes:
                    hooks.changed()


@dataclass(frozen=True, slots=True)
class Way:
    """How a server is reached."""

    transport: str
    given: Resolved
    running: ServerProcess | None
    auth: httpx2.Auth | None
    network: Client
    refusals: http.Refusals = field(default_factory=http.Refusals)


@asynccontextmanager
async def connected(way: Way, hooks: Hooks) -> AsyncGenerator[Connection]:
    """A connection whose session is open, but has not been agreed on; entered and left in the
    same task."""
    broken: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    ended = asyncio.Event()
    async with AsyncExitStack() as stack:
        read, write = await _streams(stack, way, broken)
        session = ClientSession(
            dispatcher=Ending(read, write, ended=ended),
            client_info=types.Implementation(name="shipmate", version=__version__),
            list_roots_callback=_roots_of(hooks),
            elicitation_callback=_elicit_of(hooks),
            sampling_callback=_sample_of(hooks),
            message_handler=_heard_by(hooks),
        )
        await stack.enter_async_context(session)
        yield Connection(session, way.running, way.refusals, broken, ended)


async def _streams(stack: AsyncExitStack, way: Way, broken: asyncio.Future[str]) -> Any:
    if way.running is not None:
        return await stack.enter_async_context(stdio(way.running, broken))

    def made(*_: Any, **__: Any) -> httpx2.AsyncClient:
        return http.client(way.network, way.given.url, way.given.headers, way.auth, way.refusals)

    if way.transport == "sse":
        return await stack.enter_async_context(sse_client(way.given.url, httpx_client_factory=made))
    client = await stack.enter_async_context(made())
    return await stack.enter_async_context(
        streamable_http_client(way.given.url, http_client=client, max_sse_event_size=LINE_BYTES)
    )


async def agree(connection: Connection, *, modern_first: bool) -> None:
    """Agree on a revision. Over HTTP the newest is tried first, as a refusal is quick; a program
    is greeted in the way all of them know."""
    session = connection.session
    if modern_first:
        try:
            await session.discover()
        except (MCPError, ValidationError, RuntimeError):
            await session.initialize()
        return
    try:
        await session.initialize()
    except MCPError as error:
        if error.code not in (types.METHOD_NOT_FOUND, types.UNSUPPORTED_PROTOCOL_VERSION):
            raise
        await session.discover()


def _roots_of(hooks: Hooks) -> Any:
    async def roots(_context: ClientRequestContext) -> types.ListRootsResult:
        found = await hooks.roots()
        return types.ListRootsResult.model_validate(
            {"roots": [{"uri": uri, "name": name} for uri, name in found]}
        )

    return roots


def _elicit_of(hooks: Hooks) -> Any:
    async def elicit(
        _context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        return await hooks.elicit(params)

    return elicit


def _sample_of(hooks: Hooks) -> Any:
    async def sample(
        _context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        return await hooks.sample(params)

    return sample


def _heard_by(hooks: Hooks) -> Any:
    async def heard(message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            hooks.changed()

    return heard

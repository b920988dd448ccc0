"""The time in which a server is connected. Imported with the SDK, when the first one connects."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from shipmate.mcp import asked, process
from shipmate.mcp.asked import Running, current
from shipmate.mcp.connection import Connection, Way, agree, connected
from shipmate.mcp.expansion import Resolved
from shipmate.mcp.oauth import signing_in
from shipmate.mcp.process import DRAIN, ServerProcess
from shipmate.mcp.server import Server, SessionLostError
from shipmate.mcp.whole import whole
from shipmate.mcp.words import words_of
from shipmate.tools.tool import StrangerError, ToolError

RELIST_S = 0.2
"""Changes of a list that come closer are read together."""
UNAUTHORIZED = 401
NOT_REPEATED = "Whether it was done is not known, and it was not tried again."


@dataclass(slots=True, eq=False)
class Live:
    """A connected server. Implements `connection.Hooks`."""

    server: Server
    connection: Connection = field(init=False)
    relist: asyncio.Event = field(default_factory=asyncio.Event)
    calls: dict[str, Running] = field(default_factory=dict[str, Running])
    root: Path | None = None
    """The project of the last call."""
    asked_roots: bool = False

    @property
    def last_words(self) -> str:
        running = self.connection.running
        return running.tail.text if running else ""

    def end(self, why: str) -> None:
        self.connection.end(why)

    async def call(self, tool: str, arguments: dict[str, Any], running: Running) -> dict[str, Any]:
        """The result of a call as it came. Raises `ToolError`; `SessionLostError` where the
        connection has ended before it, so that the call was not run."""
        if self.connection.over:
            raise SessionLostError
        limit = running.limit = self.server.settings.call_timeout
        self.calls[running.id] = running
        token = current.set(running)
        try:
            await self._at(running.root)
            async with asyncio.timeout(limit) as clock:
                running.clock = clock
                return await self._called(tool, arguments, running)
        except TimeoutError:
            raise ToolError(
                f"{self.server.name} did not answer within {limit:g} s; it was told to stop. "
                f"{NOT_REPEATED}"
            ) from None
        finally:
            current.reset(token)
            running.clock = None
            del self.calls[running.id]

    async def _called(
        self, tool: str, arguments: dict[str, Any], running: Running
    ) -> dict[str, Any]:
        async def told(progress: float, total: float | None, message: str | None) -> None:
            if running.desk is not None and running.tells():
                running.desk.progress(running.id, message or "", progress, total)

        try:
            return await self.connection.call(tool, arguments, told, self)
        except MCPError as error:
            if self.connection.lost(error):
                raise SessionLostError from error
            why = f" {running.refused}" if running.refused else ""
            raise StrangerError(f"{await self._explained(error)}{why}") from error
        except ToolError:
            raise
        except Exception as error:  # the SDK's, or a fault of what the server sent
            raise StrangerError(f"{self.server.name} failed: {words_of(error)}") from error

    async def _explained(self, error: MCPError) -> str:
        if error.code != types.CONNECTION_CLOSED:
            return f"{self.server.name} answered with an error: {words_of(error)}"
        why = await _ending(self.connection)
        return f"{self.server.name} ended during the call. {why} {NOT_REPEATED}"

    async def _at(self, root: Path) -> None:
        """The project of the call is the server's root; who has asked is told of another one."""
        told, self.root = self.root, root
        if told != root and self.asked_roots:
            with contextlib.suppress(Exception):  # a server that does not hear it, does not
                await asyncio.wait_for(self.connection.told_roots(), DRAIN)

    # --- what the server asks for ---------------------------------------------------------

    def _running(self) -> Running | None:
        """The call that a request belongs to: over HTTP it comes with it; else the only one."""
        found = current.get()
        if found is not None:
            return found
        return next(iter(self.calls.values())) if len(self.calls) == 1 else None

    async def roots(self) -> list[tuple[str, str]]:
        self.asked_roots = True
        roots = [self.root] if self.root else self.server.around.roots()
        return [(root.as_uri(), root.name) for root in roots]

    async def elicit(self, params: types.ElicitRequestParams) -> types.ElicitResult:
        return await asked.elicit(self.server.name, self._running(), params)

    async def sample(
        self, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        return await asked.sample(self.server.name, self._running(), params)

    def changed(self) -> None:
        self.relist.set()


async def live(server: Server, given: Resolved) -> str:
    """Connect, and stay until it ends; why it did. Never raises for what a server does."""
    way: Way | None = None
    try:
        async with AsyncExitStack() as stack:
            clock = await stack.enter_async_context(_patience(server))
            auth = signing_in(server, given, clock)
            program = server.settings.transport == "stdio"
            running = await stack.enter_async_context(_process(server, given)) if program else None
            network = server.around.network
            way = Way(server.settings.transport, given, running, auth, network)
            return await _connected(server, way, clock)
    except TimeoutError:
        return f"It was not ready within {server.around.connect_s:g} s."
    except Exception as error:  # noqa: BLE001 - work of others: it is told as the server's state
        refusals = way.refusals if way else None
        if refusals and refusals.last == UNAUTHORIZED and not server.wants_sign_in:
            server.wants_sign_in = True
            server.refresh()
        return words_of(error, refusals)
    finally:
        server.live = None
        if way is not None and way.running is not None:
            server.tail = way.running.tail.text
            server.noise += way.running.noise.total


async def _connected(server: Server, way: Way, clock: asyncio.Timeout) -> str:
    hooks = Live(server)
    async with connected(way, hooks) as connection:
        hooks.connection = connection
        try:
            await agree(connection, modern_first=way.transport == "http")
            await server.take(await connection.tools())
        except MCPError as error:
            if error.code == types.CONNECTION_CLOSED:
                return f"It ended before it was ready. {await _ending(connection)}"
            raise
        clock.reschedule(None)
        server.version = connection.version
        server.live = hooks
        server.set("ready")
        return await _stay(server, hooks)


async def _stay(server: Server, live: Live) -> str:
    """Until it ends: read the list again when it has changed."""
    connection = live.connection
    ended = asyncio.ensure_future(connection.ended.wait())
    following = asyncio.ensure_future(
        connection.follow_changes(live) if connection.modern else asyncio.sleep(0)
    )
    try:
        while True:
            relist = asyncio.ensure_future(live.relist.wait())
            try:
                await asyncio.wait([ended, relist], return_when=asyncio.FIRST_COMPLETED)
            finally:
                relist.cancel()
            if ended.done():
                return await _ending(connection)
            await asyncio.sleep(RELIST_S)
            live.relist.clear()
            try:
                async with asyncio.timeout(server.around.connect_s):
                    await server.take(await connection.tools())
            except MCPError as error:
                if connection.lost(error) or error.code == types.CONNECTION_CLOSED:
                    return "The session with it was lost."
                server.problems = (f"The list could not be read again: {words_of(error)}",)
            except TimeoutError:
                server.problems = ("The list could not be read again in time.",)
    finally:
        ended.cancel()
        following.cancel()


async def _ending(connection: Connection) -> str:
    """Why a connection has ended, as far as one can know."""
    if connection.broken.done():
        return connection.broken.result()
    running = connection.running
    if running is None:
        return "The connection was closed."
    for _ in range(20):
        if running.ended:
            break
        await asyncio.sleep(DRAIN / 10)
    await asyncio.sleep(0)
    if connection.broken.done():
        return connection.broken.result()
    status = running.process.returncode
    told = "It closed its output." if status is None else f"Its exit status was {status}."
    tail = running.tail.text
    return f"{told} It said: {tail[-500:]}" if tail else told


@asynccontextmanager
async def _patience(server: Server) -> AsyncGenerator[asyncio.Timeout]:
    async with asyncio.timeout(server.around.connect_s) as clock:
        yield clock


@asynccontextmanager
async def _process(server: Server, given: Resolved) -> AsyncGenerator[ServerProcess]:
    running = await process.start(
        server.name, given.command, given.cwd, given.env, server.around.owner
    )
    try:
        yield running
    finally:
        await whole(running.close())

"""One server: a task that owns its connection from beginning to end, and begins it anew."""

import asyncio
import contextlib
import importlib
import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from shipmate.errors import ShipmateError
from shipmate.mcp.definitions import Definition, Listed, kept, listed, read
from shipmate.mcp.expansion import Resolved, resolved
from shipmate.mcp.settings import McpServerSettings
from shipmate.mcp.sign_in import SignIns
from shipmate.network.client import Client
from shipmate.safety.secrets import Secrets

log = logging.getLogger(__name__)

State: TypeAlias = Literal["off", "connecting", "sign_in", "ready", "waiting", "failed"]
"""`waiting`: it ended, and is started again in a moment. `failed`: it is not tried any more."""
CONNECT_S = 15.0
"""From the start to the list of tools (FM072)."""
TRIES = 5
"""Starts in a row that fail before it is given up (FM071)."""
LONGEST_WAIT_S = 60.0
STEADY_S = 60.0
"""A connection that has held so long was a good one: failures are counted anew."""


class SessionLostError(Exception):
    """The server does not know our session any more; the call was not run."""


class Link(Protocol):
    """A connection that is open (`mcp.live`)."""

    relist: asyncio.Event
    """Set: the tools are to be listed again."""

    @property
    def last_words(self) -> str: ...
    async def call(self, tool: str, arguments: dict[str, Any], running: Any) -> dict[str, Any]:
        """The result as it came. Raises `ToolError`, or `SessionLostError`."""
        ...

    def end(self, why: str) -> None:
        """Have the connection made anew."""
        ...


class Pins(Protocol):
    """What the user has accepted of servers; kept by the database."""

    async def accepted(self, server: str) -> dict[str, bytes]:
        """The JSON of each definition, by the name of its tool."""
        ...

    async def accept(self, server: str, tools: Mapping[str, bytes]) -> None:
        """Accept these; those that were accepted before stay."""
        ...

    async def forget(self, server: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What servers need of the house; the same for all of them."""

    secrets: Secrets
    pins: Pins
    owner: str
    """Begins the marks of processes (`tools.processes`)."""
    roots: Callable[[], list[Path]]
    """The folders of all projects."""
    network: Client
    sign_ins: SignIns = field(default_factory=SignIns)
    connect_s: float = CONNECT_S
    pause_s: float = 1.0
    """Before the second try; doubled for each one after it."""


@dataclass(slots=True, eq=False)
class Server:
    """A server that is configured. `tools` and `state` are what the rest reads."""

    name: str
    settings: McpServerSettings
    around: Surroundings
    changed: Callable[[], None] = lambda: None
    """Told of every change of state or tools."""
    state: State = "off"
    error: str = ""
    tail: str = ""
    """The last words on standard error."""
    sign_in_url: str = ""
    wants_sign_in: bool = False
    """It has refused us without one."""
    sent_away: bool = False
    """Somebody was, since it was started, to sign in: what fails then is not tried unasked."""
    noise: int = 0
    starts: int = 0
    lists: int = 0
    """How often its tools were listed."""
    version: str = ""
    """The revision of the protocol that was agreed on."""
    tools: tuple[Listed, ...] = ()
    accepted: dict[str, Definition] = field(default_factory=dict[str, Definition])
    problems: tuple[str, ...] = ()
    live: Link | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)
    """Set, and renewed, with each change of state."""
    _again: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    # --- what it offers -------------------------------------------------------------------

    def offered(self) -> list[Listed]:
        """The tools that may be called: accepted as they are, and not switched off. Those of a
        server that is just being started again stay."""
        there = self.live is not None or self.state in ("ready", "connecting", "waiting")
        return [t for t in self.tools if self.usable(t)] if there else []

    def usable(self, tool: Listed) -> bool:
        known = self.accepted.get(tool.name)
        return known is not None and known.hash == tool.hash and tool.name not in self.settings.off

    def tool(self, name: str) -> Listed | None:
        return next((t for t in self.tools if t.name == name), None)

    async def accept(self, names: list[str]) -> None:
        """Accept tools as they are now."""
        taken = {t.name: t.definition for t in self.tools if t.name in names}
        await self.around.pins.accept(self.name, kept(taken))
        self.accepted = {**self.accepted, **taken}
        self._tell()

    @property
    def last_words(self) -> str:
        """Of the process that runs, else of the one before."""
        return self.live.last_words if self.live else self.tail

    # --- its life -------------------------------------------------------------------------

    def start(self, tasks: asyncio.TaskGroup) -> None:
        self.set("connecting")
        self._task = tasks.create_task(self._run(), name=f"MCP server {self.name}")

    async def close(self) -> None:
        """End it, with every process of it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self.set("off")

    def refresh(self) -> None:
        """Begin anew where it has failed or waits; else list the tools again."""
        self._again.set()
        if self.live is not None:
            self.live.relist.set()

    async def refreshed(self, patience: float) -> None:
        """Refresh, and wait for what comes of it."""
        if self.state == "off":
            return
        listing = self.live is not None
        seen = self.lists
        self.refresh()
        if self.state in ("failed", "waiting"):
            self.set("connecting")
        end = time.monotonic() + patience
        await self.settled(patience)
        while listing and self.lists == seen and self.live and time.monotonic() < end:
            try:
                await asyncio.wait_for(self.news.wait(), end - time.monotonic())
            except TimeoutError:
                return

    async def begin_anew(self) -> None:
        """End the connection that there is and wait until that has begun."""
        live, self.live = self.live, None
        if live is not None:
            self._again.set()
            live.end("The session with it was lost.")
            self.set("connecting")

    async def settled(self, patience: float) -> None:
        """Until it is ready, or will not be without a person; `patience` seconds at most."""
        end = time.monotonic() + patience
        while self.state in ("connecting", "waiting") and time.monotonic() < end:
            news = self.news
            try:
                await asyncio.wait_for(news.wait(), end - time.monotonic())
            except TimeoutError:
                return

    def set(self, state: State, error: str = "") -> None:
        self.state, self.error = state, error
        if state != "sign_in":
            self.sign_in_url = ""
        self._tell()

    def _tell(self) -> None:
        news, self.news = self.news, asyncio.Event()
        news.set()
        self.changed()

    async def _run(self) -> None:
        failures = 0
        while True:
            begun = time.monotonic()
            self._again.clear()
            why, final = await self._lived()
            failures = 1 if time.monotonic() - begun > STEADY_S else failures + 1
            if final or failures >= TRIES:
                given_up = "" if final else f" It was started {failures} times and is given up."
                self.set("failed", f"{why}{given_up}")
                log.warning("MCP server %s: %s", self.name, self.error)
                await self._again.wait()
                failures = 0
                self.set("connecting")
                continue
            pause = min(self.around.pause_s * 2 ** (failures - 1), LONGEST_WAIT_S)
            self.set("waiting", why)
            with contextlib.suppress(TimeoutError):  # then the pause is over
                await asyncio.wait_for(self._again.wait(), pause)
            self.set("connecting", why)

    async def _lived(self) -> tuple[str, bool]:
        """From one start to its end: why it ended, and whether trying again is of no use."""
        try:
            given = resolved(self.settings, os.environ, self.around.secrets)
        except ShipmateError as error:
            return str(error), True
        try:
            # the SDK takes a while to import: in a thread, when the first server connects
            live = await asyncio.to_thread(importlib.import_module, "shipmate.mcp.live")
            self.starts += 1
            self.sent_away = False
            lists = self.lists
            why = await live.live(self, given)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # a server's fault, or the SDK's, ends nothing but this
            log.exception("MCP server %s failed unexpectedly", self.name)
            return f"It failed unexpectedly: {error}", False
        return why, self.sent_away and self.lists == lists

    async def take(self, raw: list[Any]) -> None:
        """Take in a list of tools as it came. What was never seen of a new server is accepted:
        it was the user who set it up."""
        tools, problems = await asyncio.to_thread(listed, self.name, raw)
        accepted = read(await self.around.pins.accepted(self.name))
        if not accepted and tools:
            accepted = {t.name: t.definition for t in tools}
            await self.around.pins.accept(self.name, kept(accepted))
        self.tools, self.problems = tuple(tools), tuple(problems[:20])
        self.accepted = accepted
        self.lists += 1
        self._tell()


__all__ = ["Pins", "Resolved", "Server", "State", "Surroundings"]

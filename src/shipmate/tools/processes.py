"""Commands as processes: started under a guard, read while they run, ended with all they left.

Server, guard, shell: the server has a guard forked (`safety.sandbox`), which enters the command's
room and starts the shell in a session of its own. To end a command is to let go of its guard. Two
nets lie below that: the guard ends its command when the server dies, and each process carries a
mark in its environment, by which `remains.sweep` finds what outlived even its guard.
"""

import asyncio
import hashlib
import os
import tempfile
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from shipmate.safety.sandbox.guards import Guard
from shipmate.safety.sandbox.proxy import Filter
from shipmate.safety.sandbox.room import Room
from shipmate.safety.sandbox.spawn import Guarded, prepare, spawn
from shipmate.tools.collected import Collected
from shipmate.tools.remains import MARK, sweep

PASSED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "XDG_RUNTIME_DIR")
"""What a command sees of the server's environment, besides `LC_*`; no keys are among it."""
FIXED = {
    "TERM": "dumb",
    "SHELL": "/bin/bash",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}
"""No terminal, no pager; what would ask a person fails at once instead of waiting."""
FREE_BYTES = 1_000_000
"""Output up to here is read as fast as it comes; a flood beyond it is slowed down."""
PAUSE = 0.002
"""Seconds between two reads of a flood (30 MB/s), so that the server stays responsive."""
DRAIN = 0.2
"""Seconds that output may still take to arrive when the guard has ended."""
END = 3.0
"""Seconds that a guard may take to end a command."""


def environment(server: Mapping[str, str], mark: str) -> dict[str, str]:
    """The environment of a command: fresh each time, from a list of what is allowed."""
    passed = {k: v for k, v in server.items() if k in PASSED or k.startswith("LC_")}
    return {"LANG": "C.UTF-8", "PATH": os.defpath, **passed, **FIXED, MARK: mark}


def owner(files: Path | None) -> str:
    """The first part of the marks of a server: processes of other servers are not swept."""
    return hashlib.sha256(os.fsencode(files or "")).hexdigest()[:16]


class _Output(asyncio.Protocol):
    """Takes what comes through a pipe; slows a flood down."""

    def __init__(self, into: Collected) -> None:
        self.into = into
        self.ended = asyncio.Event()
        self.transport: asyncio.ReadTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # It is a pipe that is read; uvloop's transports are no subclasses of asyncio's.
        self.transport = cast("asyncio.ReadTransport", transport)

    def data_received(self, data: bytes) -> None:
        self.into.add(data)
        if self.into.bytes > FREE_BYTES and self.transport is not None:
            self.transport.pause_reading()
            asyncio.get_running_loop().call_later(PAUSE, self._resume)

    def _resume(self) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()


class _Report(asyncio.Protocol):
    """The guard's one line; its end is the end of the command."""

    def __init__(self) -> None:
        self.text = b""
        self.guard: Guard | None = None
        self.ended = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self.text += data

    def connection_lost(self, exc: Exception | None) -> None:
        if self.guard is not None:
            self.guard.reap()
        self.ended.set()


@dataclass(slots=True)
class Command:
    """A command that was started."""

    guard: Guarded
    mark: str
    collected: Collected
    output: _Output
    report: _Report
    closing: AsyncExitStack
    """What belongs to it alone: the filter of its network, its temporary folder."""
    begun: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    """How long it took, once it has ended."""
    status: int | None = None
    """Exit status, 128 + n for a signal; None while it runs, and when nobody could tell."""
    left: int = 0
    """Processes that outlived the shell and were ended."""
    stopping: bool = False
    _finishing: asyncio.Future[None] | None = None

    @property
    def running(self) -> bool:
        return not self.report.ended.is_set()

    async def wait(self) -> None:
        """Until the command has ended and nothing of it is left."""
        await self.report.ended.wait()
        await self._finish()

    async def end(self) -> None:
        """End it with all its processes; the request is sent even if this is cancelled."""
        self.stopping = True
        self.guard.let_go()
        try:
            await asyncio.wait_for(self.report.ended.wait(), END)
        except TimeoutError:
            self.guard.process.kill()
        await self._finish()

    async def _finish(self) -> None:
        """Once, and to its end: who waited for it may be stopped, and end it then."""
        if self._finishing is None:
            self._finishing = asyncio.ensure_future(self._finished())
        await asyncio.shield(self._finishing)

    async def _finished(self) -> None:
        self.seconds = max(time.monotonic() - self.begun, 0.001)
        self.guard.let_go()
        words = self.report.text.split()
        if len(words) == 3:
            self.status, self.left = int(words[1]), int(words[2])
        else:
            await asyncio.to_thread(sweep, self.mark)
        try:
            await asyncio.wait_for(self.output.ended.wait(), DRAIN)
        except TimeoutError:
            if self.output.transport is not None:
                self.output.transport.close()
                await self.output.ended.wait()
        self.collected.end()
        await self.closing.aclose()


async def start(script: str, room: Room, mark: str, collected: Collected) -> Command:
    """Start `script` in bash in its room, without a terminal, its input empty.

    Raises `OSError` when the folder or the shell is not there.
    """
    async with AsyncExitStack() as stack:
        room = await _furnished(room, stack)
        env = environment(os.environ, mark)
        prepared = await asyncio.to_thread(prepare, room, env)
        output, report = _Output(collected), _Report()
        out_read, out_write = os.pipe()
        try:
            guard = spawn(script, prepared, out_write)
        except OSError:
            os.close(out_read)
            raise
        finally:
            os.close(out_write)
        report.guard = guard.process
        loop = asyncio.get_running_loop()
        try:
            await loop.connect_read_pipe(lambda: output, os.fdopen(out_read, "rb", 0))
            await loop.connect_read_pipe(lambda: report, os.fdopen(guard.report, "rb", 0))
        except asyncio.CancelledError:
            guard.let_go()
            raise
        return Command(guard, mark, collected, output, report, stack.pop_all())


async def _furnished(room: Room, stack: AsyncExitStack) -> Room:
    """With what belongs to one command alone; it goes when the command has ended."""
    if room.means == "landlock":
        owner = room.person
        folder = tempfile.TemporaryDirectory(prefix="shipmate-", ignore_cleanup_errors=True)
        stack.push_async_callback(asyncio.to_thread, folder.cleanup)
        if owner.change == "user":
            os.chown(folder.name, owner.uid, owner.gid)
        return replace(room, temporary=Path(folder.name).resolve())
    if room.means == "bubblewrap" and room.hosts:
        owner = room.person.uid
        return replace(
            room, proxy=await stack.enter_async_context(Filter(room.hosts).listening(owner))
        )
    return room

"""A server as a process: started with a clean environment, read within bounds, ended whole."""

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shipmate.errors import ShipmateError
from shipmate.protocol import new_id
from shipmate.tools import processes, remains
from shipmate.tools.output import clean

log = logging.getLogger(__name__)

LINE_BYTES = 32 * 1024 * 1024
"""Of one message; a server that sends more at once is stopped (FM075). 5 million characters can
take 20 MB as JSON (MCP-20)."""
BAD_LINES = 100
"""Within a minute; a server that writes more noise where messages belong is stopped (FM074)."""
MINUTE = 60.0
TAIL_BYTES = 8_192
"""Of what it writes to standard error that is kept."""
QUIET = 0.6
"""Seconds a server may take to end by itself, and then again when it was told to."""
DRAIN = 0.2
"""Seconds that its last words may take to arrive when it has ended."""
LOOK = 0.5
"""Seconds between two looks whether it still runs."""
_POLL = 0.02
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
_CHUNK = 65_536
_MESSAGES = 500
"""Read as fast as they come in one second; a flood beyond is slowed down."""


class ServerEndedError(ShipmateError):
    """The process is gone, or was stopped as it broke the rules. Its words are the reason."""

    status = 502
    code = "mcp_server"


@dataclass(slots=True)
class Noise:
    """Lines that are no messages: skipped, counted, and told once a minute."""

    server: str
    times: deque[float] = field(default_factory=deque[float])
    total: int = 0

    def add(self, line: bytes) -> None:
        """Raises `ServerEndedError` when it is too much."""
        now = time.monotonic()
        while self.times and now - self.times[0] > MINUTE:
            self.times.popleft()
        if not self.times:
            shown = clean(line[:200].decode(errors="replace"))
            log.warning("MCP server %s writes what is no message: %s", self.server, shown)
        self.times.append(now)
        self.total += 1
        if len(self.times) >= BAD_LINES:
            raise ServerEndedError(
                f"It wrote {BAD_LINES} lines within a minute to standard output that are no "
                f"messages, such as {clean(line[:80].decode(errors='replace'))!r}."
            )


class Tail:
    """The last words on standard error; all of it is read, so that the server never blocks."""

    def __init__(self) -> None:
        self._data = b""

    def add(self, data: bytes) -> None:
        self._data = (self._data + data)[-TAIL_BYTES:]

    @property
    def text(self) -> str:
        return clean(self._data.decode(errors="replace")).strip()


@dataclass(slots=True)
class ServerProcess:
    process: asyncio.subprocess.Process
    mark: str
    tail: Tail
    noise: Noise

    @property
    def ended(self) -> bool:
        return self.process.returncode is not None

    def write(self, message: bytes) -> None:
        """A line to its input; what is gone cannot hear it, which its end tells."""
        stdin = self.process.stdin
        if stdin is not None and not stdin.is_closing():
            with contextlib.suppress(OSError, RuntimeError):
                stdin.write(message + b"\n")

    async def close(self) -> None:
        """End it and all it has started: its input closes, it is told, it is killed; then what
        left its group is looked for. Comes back when all of it is gone."""
        known = await asyncio.to_thread(remains.below, self.process.pid)
        stdin = self.process.stdin
        if stdin is not None:
            with contextlib.suppress(OSError, RuntimeError):
                stdin.close()
        for number in (None, signal.SIGTERM, _KILL):
            if number is not None:
                self._signal(number)
            if await self._gone(QUIET):
                break
        self._signal(_KILL)  # children that it left behind in its group
        await asyncio.to_thread(remains.sweep, self.mark, self.process.pid, known)
        transport = getattr(self.process, "_transport", None)
        if transport is not None:  # an escaped child may hold the pipes open for ever
            with contextlib.suppress(PermissionError, ProcessLookupError):
                transport.close()

    def _signal(self, number: int) -> None:
        if os.name != "posix":
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    async def _gone(self, patience: float) -> bool:
        """Not `wait()`: on 3.11 that waits for the pipes as well, which children may hold."""
        end = time.monotonic() + patience
        while not self.ended and time.monotonic() < end:  # noqa: ASYNC110 - nothing tells it
            await asyncio.sleep(_POLL)
        return self.ended


async def start(
    server: str, command: tuple[str, ...], cwd: Path, env: Mapping[str, str], owner: str
) -> ServerProcess:
    """Start the program of a server in a session of its own. `ServerEndedError` says what is not
    there. `owner`: the first part of the mark by which what is left of it is found."""
    mark = f"{owner}-mcp-{new_id()}"
    environment = {**processes.environment(os.environ, mark), **env, remains.MARK: mark}
    program = shutil.which(command[0], path=environment.get("PATH"))
    if program is None:
        raise ServerEndedError(
            f"The program {command[0]!r} was not found. Install it, or write its whole path."
        )
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            *command[1:],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=cwd,
            env=environment,
            start_new_session=True,
            limit=4 * _CHUNK,
        )
    except (OSError, ValueError) as error:
        raise ServerEndedError(f"{command[0]} could not be started: {error}") from error
    return ServerProcess(process, mark, Tail(), Noise(server))


async def drain(stream: asyncio.StreamReader, tail: Tail) -> None:
    """Read standard error to its end."""
    while data := await stream.read(_CHUNK):
        tail.add(data)


class Lines:
    """Lines of standard output, as they come; a line that never ends is not kept for ever."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        self._stream = stream
        self._parts: list[bytes] = []
        self._size = 0
        self._since = time.monotonic()
        self._count = 0

    async def next(self) -> list[bytes]:
        """The lines that are complete, without their ends; none at the end of all."""
        while data := await self._stream.read(_CHUNK):
            *whole, rest = data.split(b"\n")
            if whole:
                whole[0] = b"".join([*self._parts, whole[0]])
                self._parts, self._size = [], 0
            if rest:
                self._parts.append(rest)
                self._size += len(rest)
                if self._size > LINE_BYTES:
                    raise ServerEndedError(
                        f"It sent a message of more than {LINE_BYTES // 1_048_576} MB."
                    )
            if whole:
                await self._slow(len(whole))
                return whole
        return []

    async def _slow(self, count: int) -> None:
        """A flood is read at a pace that leaves the server responsive."""
        now = time.monotonic()
        if now - self._since > 1:
            self._since, self._count = now, 0
        self._count += count
        if self._count > _MESSAGES:
            await asyncio.sleep(min(count / (4 * _MESSAGES), 0.5))

"""Guards of commands: forked by a process that waits for it, or started one by one."""

import atexit
import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Protocol

import shipmate

PROGRAM = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from shipmate.safety.sandbox.inside.{module} import main; "
    "main(*map(int, sys.argv[2:]))"
)
PACKAGES = Path(shipmate.__file__).parent.parent
PATIENCE = 30.0
"""Seconds for the fork server to start and to answer, on a machine that is busy."""
Descriptors = tuple[int, int, int, int, int]
"""Control, script, report, order, output."""


class Guard(Protocol):
    """A guard's process."""

    def wait(self, timeout: float | None = None) -> object:
        """Raises `subprocess.TimeoutExpired`."""

    def kill(self) -> None:
        """Nothing, where it has ended."""

    def reap(self) -> None:
        """Take note of its end, once it has reported, where that is ours to do."""


class Forked:
    """A guard that the fork server made; known by a descriptor, as its number may be another's."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __del__(self) -> None:
        os.close(self._descriptor)

    def wait(self, timeout: float | None = None) -> None:
        if not select.select([self._descriptor], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("a guard", timeout or 0)

    def reap(self) -> None:
        """The fork server does."""

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)


class Started(subprocess.Popen[bytes]):
    """A child of this process."""

    def reap(self) -> None:
        self.wait()


class ForkServer:
    """Started when it is first needed, and again when it was ended."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._channel: socket.socket | None = None
        self._process: Started | None = None

    def guard(self, given: Descriptors) -> Forked:
        """Raises `OSError`."""
        with self._turn:
            if self._channel is not None:
                with contextlib.suppress(ConnectionError):
                    return self._asked(self._channel, given)
                self.end()
            try:
                return self._asked(self._start(), given)
            except TimeoutError:
                self.end()  # what comes late would be taken for the next answer
                raise

    def _asked(self, channel: socket.socket, given: Descriptors) -> Forked:
        socket.send_fds(channel, [b"+"], given)
        answer, descriptors, _, _ = socket.recv_fds(channel, 16, 1)
        if not answer:
            raise ConnectionError("the fork server of commands has ended")
        if not descriptors:
            raise OSError(int(answer), os.strerror(int(answer)))
        return Forked(descriptors[0])

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = _started("forkserver", (theirs.fileno(),), None)
        ours.settimeout(PATIENCE)
        self._channel = ours
        return ours

    def end(self) -> None:
        """No guard of it ends with it."""
        if self._channel is not None and self._process is not None:
            self._channel.close()
            try:
                self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._channel = self._process = None


_FORK_SERVER = ForkServer()
atexit.register(_FORK_SERVER.end)


def guard(given: Descriptors) -> Guard:
    """A guard for one command, which takes these descriptors. Raises `OSError`."""
    if _forked():
        return _FORK_SERVER.guard(given)
    *wanted, output = given
    return _started("guard", tuple(wanted), output)


@cache
def _forked() -> bool:
    """Linux 5.3, where processes can be known by descriptors."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.close(os.pidfd_open(os.getpid()))
            return True
    return False


def _started(module: str, given: tuple[int, ...], output: int | None) -> Started:
    """Python with one of our modules and nothing of the environment or of packages."""
    return Started(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            PROGRAM.format(module=module),
            PACKAGES,
            *map(str, given),
        ],
        cwd="/",
        env={},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if output is None else output,
        stderr=output,
        start_new_session=True,
        pass_fds=given,
    )

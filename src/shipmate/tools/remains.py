"""What is left of processes that were started here: found, ended, and waited for.

A process is found by the mark in its environment, by the session it is in, or by who started it.
The kernel takes a killed process's memory away first, and its environment with it: it is nowhere
to be found by its mark then, and still there, for a tenth of a second where it had much. So what
was killed is kept, and looked for until it is gone.
"""

import contextlib
import logging
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

log = logging.getLogger(__name__)

MARK = "SHIPMATE_COMMAND"
"""Variable in the environment of every process that a command starts."""
PATIENCE = 5.0
"""Seconds after which what cannot be killed (it is in the kernel) is left, and told."""
_POLL = 0.005
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Process:
    """One that runs. With its time of birth: its number may be another's later."""

    pid: int
    born: int
    parent: int = field(compare=False)
    session: int = field(compare=False)


def sweep(mark: str, session: int = 0, known: Iterable[Process] = ()) -> int:
    """End all processes whose mark begins with `mark`, those of a session, and those that are
    known; gives how many, once they are gone. Waits: not for the event loop's thread.

    At the start of a server with its `owner`: what outlived a server that died. It looks again
    until it finds none, as a process may start another one while it is looked for.
    """
    wanted = f"{MARK}={mark}".encode()
    seen, ended = set(known), set[Process]()
    until = time.monotonic() + PATIENCE
    while True:
        there = _running()
        seen |= {one for one in there if one.session == session > 0 or _marked(one.pid, wanted)}
        left = seen & there
        ended |= left
        for one in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one.pid, _KILL)
        if not left:
            return len(ended)
        if time.monotonic() > until:
            numbers = ", ".join(str(one.pid) for one in left)
            log.warning("These processes were killed and are still there: %s", numbers)
            return len(ended)
        time.sleep(_POLL)


def below(pid: int) -> set[Process]:
    """A process with all that it has started, as far as each one's parent still runs."""
    there = _running()
    found = {one for one in there if one.pid == pid}
    todo = list(found)
    while todo:
        above = todo.pop().pid
        children = {one for one in there if one.parent == above} - found
        found |= children
        todo += children
    return found


def _running() -> set[Process]:
    """All but ourselves, without zombies: those wait for nothing but their parent. None where
    there is no /proc."""
    names = (entry.name for entry in Path("/proc").glob("[0-9]*"))
    read = (_read(int(name)) for name in names if int(name) != os.getpid())
    return {one for one in read if one is not None}


def _read(pid: int) -> Process | None:
    try:
        words = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()
    except OSError:
        return None
    if words[0] in (b"Z", b"X"):
        return None
    return Process(pid, born=int(words[19]), parent=int(words[1]), session=int(words[3]))


def _marked(pid: int, wanted: bytes) -> bool:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(variable.startswith(wanted) for variable in variables)

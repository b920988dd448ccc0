"""The namespaces that bubblewrap makes for a command, entered by its guard.

The first process in there is a `cat`, which no signal from within reaches; its end, by the guard or
by the guard's death, is the end of all that runs in there. It ignores SIGCHLD, so orphans leave
nothing behind. The guard is in all of these namespaces but that of processes, so that nothing in
there can see it or send it signals; what it forks is in that one, too.
"""

import json
import os
import select
import signal
import time

from shipmate.safety.sandbox.inside.processes import GIVE_UP, listed, parent_of, reaped, send

FIRST = 1
"""`cat`, as it is numbered in there."""
PATIENCE = 30.0
"""Seconds for bubblewrap to be ready, on a machine that is busy."""


class Namespaces:
    """Made, not entered yet. Raises `OSError` with what bubblewrap says of it."""

    def __init__(self, maker: list[str]) -> None:
        """`maker`: bubblewrap, its arguments, and the `cat` to run."""
        info, info_write = os.pipe()
        held_read, self.held = os.pipe()
        echo, echo_write = os.pipe()
        given = memory("\0".join(maker[1:-1]).encode(errors="surrogateescape"))
        words = memory(b"")  # not the command's output, whose end would have to wait for bubblewrap
        for one in (info_write, given):
            os.set_inheritable(one, True)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        os.posix_spawn(
            maker[0],
            [maker[0], "--args", str(given), "--info-fd", str(info_write), "--", maker[-1]],
            {},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, held_read, 0),
                (os.POSIX_SPAWN_DUP2, echo_write, 1),
                (os.POSIX_SPAWN_DUP2, words, 2),
            ],
        )
        for one in (info_write, held_read, echo_write, given):
            os.close(one)
        first = first_in(info)
        if first:
            self.first = os.pidfd_open(first)
            os.write(self.held, b"\n")
        if not first or not said(echo):
            text = os.pread(words, 1_000, 0).decode(errors="replace").strip()
            raise OSError(text or "bubblewrap ended")
        for one in (info, echo, words):
            os.close(one)

    def others(self) -> list[int]:
        """What runs in there besides what holds it, numbered as in there; for who has entered."""
        own = (FIRST, os.getpid())
        return [int(name) for name in listed() if int(name) not in own and parent_of(name) >= 0]

    def end(self, grace: float) -> int:
        """End all processes: SIGTERM, a grace, then the namespace with them. Gives how many."""
        left = len(self.others())
        if left:
            self._ask_to_end()
            limit = time.monotonic() + grace
            while self.others() and time.monotonic() < limit:
                time.sleep(0.005)
        os.close(self.held)
        limit = time.monotonic() + GIVE_UP
        while not select.select([self.first], [], [], 0.01)[0] and time.monotonic() < limit:
            reaped()  # it waits for us to take note of our children
        return left

    def _ask_to_end(self) -> None:
        """By a process in there, where the numbers are right."""
        helper = os.fork()
        if helper:
            os.waitpid(helper, 0)
            return
        try:
            for pid in self.others():
                send(pid, signal.SIGTERM)
        finally:
            os._exit(0)


def first_in(info: int) -> int:
    """The number of the first process in there, as it is numbered out here; 0: there is none."""
    text = b""
    while not text.rstrip().endswith(b"}"):
        piece = said(info)
        if not piece:
            return 0
        text += piece
    return int(json.loads(text)["child-pid"])


def memory(content: bytes) -> int:
    """A file without a name, to be read from its beginning."""
    file = os.memfd_create("shipmate")
    with open(file, "wb", closefd=False) as writing:
        writing.write(content)
    os.lseek(file, 0, os.SEEK_SET)
    return file


def said(pipe: int) -> bytes:
    """The next piece; nothing at the end, or when it takes too long."""
    return os.read(pipe, 1_000) if select.select([pipe], [], [], PATIENCE)[0] else b""

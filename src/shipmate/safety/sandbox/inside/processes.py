"""Processes of a command: which there are, and how they are ended where they are no namespace's.

A guard outside of namespaces adopts the orphans of its command (PR_SET_CHILD_SUBREAPER), so that
no child gets away by `setsid` or by losing its parent. Where there is no `prctl` (not Linux), the
process group is what can be ended.
"""

import os
import signal
import sys
import time

ADOPTING = sys.platform == "linux"
GIVE_UP = 5.0
"""Seconds after which processes that cannot be killed (in the kernel) are left."""


class Orphans:
    """All that descends from this process."""

    def __init__(self) -> None:
        self.group = 0
        """The shell's process group."""

    def others(self) -> list[int]:
        return descendants(self.group)

    def end(self, grace: float) -> int:
        """SIGTERM, a grace, SIGKILL until none is left. Gives how many there were."""
        left = len(self.others())
        begun = time.monotonic()
        number = signal.SIGTERM
        while self.any_left() and time.monotonic() - begun < GIVE_UP:
            for pid in self.others():
                send(pid, number)
            self._settle(begun + grace if number == signal.SIGTERM else time.monotonic() + 0.02)
            number = signal.SIGKILL
        return left

    def any_left(self) -> bool:
        """Is anything of the command alive? Each of its processes is below a child of ours, so
        having no child is certain, where a look at /proc may miss one that is just starting."""
        reaped()
        return reaped() is not None or (not ADOPTING and bool(group_of(self.group)))

    def _settle(self, limit: float) -> None:
        """Wait until nothing is left, or until the time `limit`."""
        while self.any_left() and (rest := limit - time.monotonic()) > 0:
            time.sleep(min(rest, 0.005))


def reaped() -> list[tuple[int, int]] | None:
    """Children that have ended, with their status; None when there is no child at all."""
    found: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found or None
        if pid == 0:
            return found
        found.append((pid, status))


def send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
        if number == signal.SIGTERM:
            os.kill(pid, signal.SIGCONT)
    except (ProcessLookupError, PermissionError):
        pass


def listed() -> list[str]:
    """Raises `OSError` where there is no /proc."""
    # No pathlib: importing it would double the time to start.
    return [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208


def descendants(group: int) -> list[int]:
    """All processes below this one; without /proc, the shell's process group as one."""
    try:
        names = listed()
    except OSError:
        return group_of(group)
    children: dict[int, list[int]] = {}
    for name in names:
        children.setdefault(parent_of(name), []).append(int(name))
    found, todo = list[int](), [os.getpid()]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def parent_of(name: str) -> int:
    """The parent in /proc/PID/stat; -1 for a process that is gone or a zombie."""
    try:
        with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - as above
            state, parent = file.read().rpartition(b") ")[2].split()[:2]
    except (OSError, ValueError):
        return -1
    return -1 if state in (b"Z", b"X") else int(parent)


def group_of(group: int) -> list[int]:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return []
    return [-group]

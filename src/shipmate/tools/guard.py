"""Runs beside each command: starts it, and ends everything that it leaves behind.

A program of its own (`python -I -S guard.py PARENT SCRIPT_FD REPORT_FD SHELL`), which imports
nothing of ours. It adopts the orphans of its command (PR_SET_CHILD_SUBREAPER), so that no child
gets away by `setsid` or by losing its parent, and it is told when the server dies, however it
dies (PR_SET_PDEATHSIG). SIGTERM asks it to end the command. It reports one line: `exit STATUS
LEFT`, LEFT being the processes that outlived the shell. Where there is no `prctl` (not Linux),
the process group is what can be ended.
"""

import ctypes
import os
import signal
import sys
import time

PDEATHSIG, CHILD_SUBREAPER = 1, 36
"""Options of prctl(2)."""
GRACE = 0.2
"""Seconds between SIGTERM and SIGKILL; with it a Stop takes well under a second."""
GIVE_UP = 5.0
"""Seconds after which processes that cannot be killed (in the kernel) are left."""
ADOPTING = sys.platform == "linux"
AWAITED = {signal.SIGTERM, signal.SIGCHLD}
STOPPED = 128 + signal.SIGTERM


def main(parent: int, script: int, report: int, shell: str) -> None:
    os.set_inheritable(report, False)
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    signal.signal(signal.SIGCHLD, noted)
    if ADOPTING:
        prctl = ctypes.CDLL(None).prctl
        prctl(CHILD_SUBREAPER, 1, 0, 0, 0)
        prctl(PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != parent:
        return
    shell_pid = os.fork()
    if shell_pid == 0:
        run(script, shell)
    os.close(script)
    status = wait(shell_pid)
    left = end(shell_pid)
    os.write(report, f"exit {status} {left}\n".encode())


def noted(_number: int, _frame: object) -> None:
    """With a handler the signal is kept for `sigwait` on every system."""


def run(script: int, shell: str) -> None:
    """In the child: become the shell, leader of a session of its own."""
    try:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED)
        for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        if script == 3:
            os.set_inheritable(script, True)
        else:
            os.dup2(script, 3)
            os.close(script)
        os.execv(shell, ["bash", "--noprofile", "--norc", "/dev/fd/3"])  # noqa: S606 - it is the shell
    except OSError as error:
        os.write(2, f"{shell}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def wait(shell_pid: int) -> int:
    """The exit status of the shell, as shells count; `STOPPED` when asked to end it."""
    while True:
        for pid, status in reaped() or ():
            if pid == shell_pid:
                code = os.waitstatus_to_exitcode(status)
                return 128 - code if code < 0 else code
        if signal.sigwait(AWAITED) == signal.SIGTERM:
            return STOPPED


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


def any_left(group: int) -> bool:
    """Is anything of the command alive? Each of its processes is below a child of ours, so
    having no child is certain, where a look at /proc may miss one that is just starting."""
    reaped()
    return reaped() is not None or (not ADOPTING and bool(group_of(group)))


def end(group: int) -> int:
    """End all descendants: SIGTERM, a grace, SIGKILL until none is left. Gives how many."""
    left = len(descendants(group))
    begun = time.monotonic()
    number = signal.SIGTERM
    while any_left(group) and time.monotonic() - begun < GIVE_UP:
        for pid in descendants(group):
            send(pid, number)
        settle(group, begun + GRACE if number == signal.SIGTERM else time.monotonic() + 0.02)
        number = signal.SIGKILL
    return left


def settle(group: int, limit: float) -> None:
    """Wait until nothing is left, or until the time `limit`."""
    while any_left(group) and (rest := limit - time.monotonic()) > 0:
        time.sleep(min(rest, 0.005))


def send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
        if number == signal.SIGTERM:
            os.kill(pid, signal.SIGCONT)
    except (ProcessLookupError, PermissionError):
        pass


def descendants(group: int) -> list[int]:
    """All processes below this one; without /proc, the shell's process group as one."""
    try:
        # No pathlib: importing it would double the time to start.
        names = [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
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
    """The parent in /proc/PID/stat; 0 for a process that is gone or a zombie."""
    try:
        with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - as above
            state, parent = file.read().rpartition(b") ")[2].split()[:2]
    except (OSError, ValueError):
        return 0
    return 0 if state == b"Z" else int(parent)


def group_of(group: int) -> list[int]:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return []
    return [-group]


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])

"""Runs beside each command: starts it, and ends everything that it leaves behind.

A program of its own, which gives up its own rights first and then all the rest for the command.
In a room with its own processes it is their first one, so that the end of it is the end of all.
Elsewhere it adopts the orphans of its command (PR_SET_CHILD_SUBREAPER), so that no child gets
away by `setsid` or by losing its parent. The server holds the other end of `control`: when that
is closed, by the server or by its death, the command is ended. It reports one line: `exit STATUS
LEFT`, LEFT being the processes that outlived the shell. Where there is no `prctl` (not Linux),
the process group is what can be ended.
"""

import os
import select
import signal
import sys
import time

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from shipmate.safety.sandbox.inside import confine

CHILD_SUBREAPER = 36
"""Option of prctl(2)."""
GRACE = 0.2
"""Seconds between SIGTERM and SIGKILL; with it a Stop takes well under a second."""
GIVE_UP = 5.0
"""Seconds after which processes that cannot be killed (in the kernel) are left."""
LOOK = 0.5
"""Seconds between two counts of the processes."""
CROWD = 2_000
"""Processes of one command; more are a flood, and end it."""
ADOPTING = sys.platform == "linux"
STOPPED = 128 + signal.SIGTERM
FLOODED = 128 + signal.SIGKILL


def main(control: int, script: int, report: int, plan: int, shell: str) -> None:
    woken = wake_on_children()
    for own in (control, report, plan):
        os.set_inheritable(own, False)
    confined, forwarder = adopt(plan)
    shell_pid = os.fork()
    if shell_pid == 0:
        run(script, shell, confined)
    os.close(script)
    status = wait(shell_pid, control, woken)
    if forwarder:
        os.kill(forwarder, signal.SIGKILL)
        os.waitpid(forwarder, 0)
    left = end(shell_pid)
    os.write(report, f"exit {status} {left}\n".encode())


def wake_on_children() -> int:
    """A pipe that can be read from when a child has ended, or when asked to end."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, noted)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    return woken


def adopt(plan: int) -> "tuple[confine.Confinement | None, int]":
    """Become who and what the plan says; None where there is nothing to give up. Also the process
    that leads from the room's own loopback to the server's filter; 0 where there is none."""
    text = os.read(plan, 1 << 20)
    if not ADOPTING:
        return None, 0
    from shipmate.safety.sandbox.inside import confine  # ctypes is not everywhere

    confine.libc.prctl(CHILD_SUBREAPER, 1, 0, 0, 0)
    if not text:
        return None, 0
    wanted = confine.Confinement(text)
    proxy = wanted.one("proxy")
    if not proxy:
        confine.become(wanted)
        return wanted, 0
    # Slow to import; and who the guard becomes may not be able to read it.
    from shipmate.safety.sandbox.inside import forward

    confine.become(wanted)
    return wanted, forward.start(proxy)


def noted(_number: int, _frame: object) -> None:
    """With a handler the signal wakes `wait`."""


def run(script: int, shell: str, confined: "confine.Confinement | None") -> None:
    """In the child: become the shell, leader of a session of its own."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        if script == 3:
            os.set_inheritable(script, True)
        else:
            os.dup2(script, 3)
            os.close(script)
        if confined is not None:
            confined.restrict()
        os.execv(shell, ["bash", "--noprofile", "--norc", "/dev/fd/3"])  # noqa: S606 - it is the shell
    except OSError as error:
        os.write(2, f"{shell}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def wait(shell_pid: int, control: int, woken: int) -> int:
    """The exit status of the shell, as shells count; `STOPPED` when asked to end it."""
    looked = time.monotonic()
    while True:
        for pid, status in reaped() or ():
            if pid == shell_pid:
                code = os.waitstatus_to_exitcode(status)
                return 128 - code if code < 0 else code
        ready, _, _ = select.select([control, woken], [], [], LOOK)
        if control in ready or (woken in ready and signal.SIGTERM in os.read(woken, 512)):
            return STOPPED
        if time.monotonic() - looked < LOOK:
            continue
        looked = time.monotonic()
        if len(descendants(shell_pid)) > CROWD:
            os.write(2, f"[more than {CROWD} processes: all were ended]\n".encode())
            return FLOODED


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

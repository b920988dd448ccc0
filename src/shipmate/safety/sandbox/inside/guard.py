"""Stands beside each command: starts it, and ends everything that it leaves behind.

A process of its own, which gives up its own rights first and then all the rest for the command.
With bubblewrap it enters the namespaces that were made for the command (`namespaces`); elsewhere
it adopts the command's orphans (`processes`). The server holds the other end of `control`: when
that is closed, by the server or by its death, the command is ended. It reports one line: `exit
STATUS LEFT`, LEFT being the processes that outlived the shell.
"""

import os
import select
import signal
import sys
import time

from shipmate.safety.sandbox.inside.order import Order
from shipmate.safety.sandbox.inside.processes import Orphans, reaped

if sys.platform == "linux":  # elsewhere ctypes and namespaces may not be there
    from shipmate.safety.sandbox.inside import confine, forward
    from shipmate.safety.sandbox.inside.namespaces import Namespaces

GRACE = 0.2
"""Seconds between SIGTERM and SIGKILL; with it a Stop takes well under a second."""
LOOK = 0.5
"""Seconds between two counts of the processes."""
CROWD = 2_000
"""Processes of one command; more are a flood, and end it."""
REFUSED = "shipmate cannot run the command: "
STOPPED = 128 + signal.SIGTERM
FLOODED = 128 + signal.SIGKILL


def main(control: int, script: int, report: int, ordered: int) -> None:
    for own in (control, script, report):
        os.set_inheritable(own, False)
    room, forwarder = enter(order := Order(ordered))
    woken = wake_on_children()
    shell = os.fork()
    if shell == 0:
        run(script, order)
    os.close(script)
    status = wait(shell, (control, woken), room)
    if forwarder:
        os.kill(forwarder, signal.SIGKILL)
        os.waitpid(forwarder, 0)
    left = room.end(GRACE)
    os.write(report, f"exit {status} {left}\n".encode())
    os.close(report)  # before the memory of this process is given back


def wake_on_children() -> int:
    """A pipe that can be read from when a child has ended, or when asked to end."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, noted)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    return woken


def noted(_number: int, _frame: object) -> None:
    """With a handler the signal wakes `wait`."""


def enter(order: Order) -> "tuple[Namespaces | Orphans, int]":
    """Be where the command is to run, with no right that it needs not. Also the process that leads
    from the room's own loopback to the server's filter; 0 where there is none."""
    if sys.platform != "linux":
        os.chdir(order.root)
        return Orphans(), 0
    confine.adopt_orphans()
    room = Namespaces(order.maker) if order.maker else Orphans()
    if isinstance(room, Namespaces):
        confine.join(room.first, order.namespaces)
    os.chdir(order.root)
    plan = confine.Confinement(order.plan)
    if order.plan:
        confine.become(plan)
    proxy = plan.one("proxy")
    return room, forward.start(proxy) if proxy else 0


def run(script: int, order: Order) -> None:
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
        if order.plan:
            confine.Confinement(order.plan).restrict()
        os.execve(order.shell, ["bash", "--noprofile", "--norc", "/dev/fd/3"], order.env)  # noqa: S606 - it is the shell
    except OSError as error:
        os.write(2, f"{REFUSED}{error}\n".encode())
    finally:
        os._exit(127)


def wait(shell: int, ends: tuple[int, int], room: "Namespaces | Orphans") -> int:
    """The exit status of the shell, as shells count; `STOPPED` when asked to end it."""
    control, woken = ends
    looked = time.monotonic()
    while True:
        for pid, status in reaped() or ():
            if pid == shell:
                code = os.waitstatus_to_exitcode(status)
                return 128 - code if code < 0 else code
        ready, _, _ = select.select([control, woken], [], [], LOOK)
        if control in ready or (woken in ready and signal.SIGTERM in os.read(woken, 512)):
            return STOPPED
        if time.monotonic() - looked < LOOK:
            continue
        looked = time.monotonic()
        if len(room.others()) > CROWD:
            os.write(2, f"[more than {CROWD} processes: all were ended]\n".encode())
            return FLOODED

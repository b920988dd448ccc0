"""Waits with all imported, and forks a guard for each command: a fork of Python takes a
millisecond where its start takes twenty.

A guard is a copy of what has run nothing yet and holds nothing of other commands. The fork server
ends with the server, whose end of the socket it reads.
"""

import os
import signal
import socket
import sys

from shipmate.safety.sandbox.inside import confine, guard
from shipmate.safety.sandbox.inside.processes import listed, parent_of, reaped, send

DESCRIPTORS = 5
"""Of a request: control, script, report, order, output."""
NOTED = {signal.SIGCHLD}
GUARDS: set[int] = set()


def main(number: int) -> None:
    sys.path.clear()  # nothing is imported from here on, as a room has other files
    confine.adopt_orphans()  # what a guard leaves; the system's first process may take note of none
    signal.signal(signal.SIGCHLD, reap)
    with socket.socket(fileno=number) as channel:
        while True:
            _, given, _, _ = socket.recv_fds(channel, 1, DESCRIPTORS)
            if len(given) < DESCRIPTORS:
                return
            serve(channel, given)


def serve(channel: socket.socket, given: list[int]) -> None:
    """Fork a guard, which answers for itself; where there is none, the reason is the answer."""
    signal.pthread_sigmask(signal.SIG_BLOCK, NOTED)
    try:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, NOTED)
            become_guard(channel, given)
        GUARDS.add(pid)
    except OSError as error:
        channel.send(str(error.errno).encode())
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, NOTED)
    for one in given:
        os.close(one)


def become_guard(channel: socket.socket, given: list[int]) -> None:
    """In the child. It tells of itself by a descriptor, as its number may be another's later."""
    try:
        own = os.pidfd_open(os.getpid())
        socket.send_fds(channel, [b"0"], [own])
        os.close(own)
        channel.close()
        os.setsid()
        *wanted, output = given
        for standard in (1, 2):
            os.dup2(output, standard)
        os.close(output)
        guard.main(*wanted)
        os._exit(0)
    except OSError as error:
        os.write(2, f"{guard.REFUSED}{error}\n".encode())
    finally:
        os._exit(1)


def reap(_number: int, _frame: object) -> None:
    """Take note of guards that have ended, and end what they left, which is ours then."""
    for pid, _ in reaped() or ():
        GUARDS.discard(pid)
    for pid in children():
        if pid not in GUARDS:
            send(pid, signal.SIGKILL)


def children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:  # noqa: PTH123 - no pathlib
            return [int(word) for word in file.read().split()]
    except OSError:  # a kernel without that list
        return [int(name) for name in listed() if parent_of(name) == os.getpid()]

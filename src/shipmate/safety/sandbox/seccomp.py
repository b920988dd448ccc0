"""The filter of system calls: a classic BPF program, assembled by hand.

Refused with an error, never by a signal, so that programs can say what they miss: looking into
other processes, keys of the kernel, mounts, new namespaces, io_uring, input put into terminals,
sockets other than ordinary ones, and what only an administrator needs. Where the namespaces are
everybody's (`Sockets` other than LOCAL) also memory and queues that processes share by name.
Numbers are those of the kernel's tables (`arch/x86/entry/syscalls/syscall_64.tbl`,
`include/uapi/asm-generic/unistd.h`).
"""

import errno
import platform
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
"""BPF_LD|W|ABS, BPF_JMP|JEQ|K, JGE, JSET, BPF_RET|K."""
ALLOW, FAIL = 0x7FFF0000, 0x00050000
"""SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO."""
NUMBER, ARCHITECTURE, ARGUMENT = 0, 4, 16
"""Offsets in `struct seccomp_data`; arguments have 8 bytes each, the low half first."""
X32 = 0x40000000
NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
UNIX, INET, INET6, NETLINK = 1, 2, 10, 16
NETLINK_ROUTE = 0


class Sockets(Enum):
    """Which kinds of sockets may be made."""

    LOCAL = "local"
    """All ordinary ones: the network is one of its own."""
    NONE = "none"
    """None but pairs, where the network is everybody's."""
    INTERNET = "internet"
    """No Unix sockets: they lead to other programs of this machine."""


FAMILIES = {
    Sockets.LOCAL: (UNIX, INET, INET6),
    Sockets.NONE: (),
    Sockets.INTERNET: (INET, INET6),
}
_BOTH = {
    "pidfd_getfd": 438,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "mount_setattr": 442,
    "open_tree_attr": 467,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "quotactl_fd": 443,
}
_X86_64 = {
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312,
    "add_key": 248, "request_key": 249, "keyctl": 250, "bpf": 321, "perf_event_open": 298,
    "userfaultfd": 323, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161,
    "unshare": 272, "setns": 308, "create_module": 174, "init_module": 175,
    "delete_module": 176, "finit_module": 313, "kexec_load": 246, "kexec_file_load": 320,
    "reboot": 169, "swapon": 167, "swapoff": 168, "acct": 163, "settimeofday": 164,
    "clock_settime": 227, "adjtimex": 159, "clock_adjtime": 305, "syslog": 103,
    "quotactl": 179, "open_by_handle_at": 304, "ioperm": 173, "iopl": 172,
    "modify_ldt": 154, "fanotify_init": 300, "lookup_dcookie": 212, "vhangup": 153,
    "sethostname": 170, "setdomainname": 171, "uselib": 134, "nfsservctl": 180,
}  # fmt: skip
_AARCH64 = {
    "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272,
    "add_key": 217, "request_key": 218, "keyctl": 219, "bpf": 280, "perf_event_open": 241,
    "userfaultfd": 282, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51,
    "unshare": 97, "setns": 268, "init_module": 105, "delete_module": 106,
    "finit_module": 273, "kexec_load": 104, "kexec_file_load": 294, "reboot": 142,
    "swapon": 224, "swapoff": 225, "acct": 89, "settimeofday": 170, "clock_settime": 112,
    "adjtimex": 171, "clock_adjtime": 266, "syslog": 116, "quotactl": 60,
    "open_by_handle_at": 265, "fanotify_init": 262, "lookup_dcookie": 18, "vhangup": 58,
    "sethostname": 161, "setdomainname": 162, "nfsservctl": 42,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Machine:
    audit: int
    """AUDIT_ARCH_*: programs for another architecture would have other numbers."""
    refused: Mapping[str, int]
    clone: int
    ioctl: int
    socket: int
    prlimit: int
    shared: tuple[int, ...]
    """What opens memory and queues that all processes of a user share (System V, POSIX)."""
    clone3: int = 435
    x32: bool = False


MACHINES = {
    "x86_64": Machine(
        0xC000003E,
        _BOTH | _X86_64,
        clone=56,
        ioctl=16,
        socket=41,
        prlimit=302,
        shared=(29, 64, 68, 240),
        x32=True,
    ),
    "aarch64": Machine(
        0xC00000B7,
        _BOTH | _AARCH64,
        clone=220,
        ioctl=29,
        socket=198,
        prlimit=261,
        shared=(194, 190, 186, 180),
    ),
}
Step = tuple[int, int, int, int]
"""Code, how many steps to leap when true, when false, the constant."""


def known(machine: str = "") -> bool:
    return (machine or platform.machine()) in MACHINES


@cache
def program(sockets: Sockets, machine: str = "") -> bytes:
    """The filter, as an array of `struct sock_filter`."""
    steps = _steps(MACHINES[machine or platform.machine()], sockets)
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _steps(machine: Machine, sockets: Sockets) -> Iterator[Step]:
    yield LOAD, 0, 0, ARCHITECTURE
    yield EQUAL, 1, 0, machine.audit
    yield _fail(errno.EPERM)
    yield LOAD, 0, 0, NUMBER
    if machine.x32:
        yield AT_LEAST, 0, 1, X32
        yield _fail(errno.EPERM)
    alone = () if sockets is Sockets.LOCAL else machine.shared
    for number in sorted((*machine.refused.values(), *alone)):
        yield EQUAL, 0, 1, number
        yield _fail(errno.EPERM)
    yield EQUAL, 0, 1, machine.clone3
    yield _fail(errno.ENOSYS)  # its flags cannot be seen from here; libraries then use `clone`
    yield from _when(machine.clone, _bits(0, NEW_NAMESPACES))
    yield from _when(machine.ioctl, _any_of(1, (TIOCSTI, TIOCLINUX)))
    yield from _when(machine.prlimit, _own(0))
    yield from _when(machine.socket, _only(FAMILIES[sockets], netlink=sockets != Sockets.NONE))
    yield RETURN, 0, 0, ALLOW


def _fail(number: int) -> Step:
    return RETURN, 0, 0, FAIL | number


def _when(number: int, checks: list[Step]) -> Iterator[Step]:
    """The checks of one call, which end it one way or the other."""
    yield EQUAL, 0, len(checks), number
    yield from checks


def _load(argument: int) -> Step:
    return LOAD, 0, 0, ARGUMENT + 8 * argument


def _bits(argument: int, mask: int) -> list[Step]:
    ends = [_fail(errno.EPERM), (RETURN, 0, 0, ALLOW)]
    return [_load(argument), (ANY_BIT, 0, 1, mask), *ends]


def _own(argument: int) -> list[Step]:
    """A process id: 0, which is the caller."""
    return [_load(argument), (EQUAL, 0, 1, 0), (RETURN, 0, 0, ALLOW), _fail(errno.EPERM)]


def _any_of(argument: int, values: tuple[int, ...]) -> list[Step]:
    checks = [step for value in values for step in ((EQUAL, 0, 1, value), _fail(errno.EPERM))]
    return [_load(argument), *checks, (RETURN, 0, 0, ALLOW)]


def _only(families: tuple[int, ...], *, netlink: bool) -> list[Step]:
    """Sockets of these families; of netlink the table of addresses, which libraries ask."""
    allow = (RETURN, 0, 0, ALLOW)
    steps = [_load(0)]
    steps += [step for family in families for step in ((EQUAL, 0, 1, family), allow)]
    if netlink:
        steps += [(EQUAL, 0, 3, NETLINK), _load(2), (EQUAL, 0, 1, NETLINK_ROUTE), allow]
    return [*steps, _fail(errno.EACCES)]

"""Rights a process gives up for good: identity, capabilities, files (Landlock), system calls."""

import ctypes
import errno
import os
import resource
import struct

NO_NEW_PRIVILEGES, DUMPABLE, SECCOMP, FILTER, CHILD_SUBREAPER, DROP_BOUND = 38, 4, 22, 2, 36, 24
"""prctl(2): PR_SET_NO_NEW_PRIVS, PR_SET_DUMPABLE, PR_SET_SECCOMP with SECCOMP_MODE_FILTER,
PR_SET_CHILD_SUBREAPER, PR_CAPBSET_DROP."""
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""Landlock's system calls, the same on every architecture."""
ABI_FLAG, PATH_BENEATH = 1, 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK = 1 << 6, 1 << 11
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
ALL = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
"""Rights on files by version of the interface; from 5 on also IOCTL_DEV."""
READ = EXECUTE | READ_FILE | READ_DIR
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
ALL_TCP, ALL_SCOPES = 3, 3
"""Binding and connecting; abstract Unix sockets and signals."""
NEW_USER = 0x10000000
CAPABILITY_VERSION = 0x20080522
PROCESSES = 4_096
SHARE = 2
"""One file may take this part (1/SHARE) of what is free where the project lies."""
UNWELCOME = 500
"""Added to the badness by which the kernel picks what to end when memory is short."""

libc = ctypes.CDLL(None, use_errno=True)


class Confinement:
    """What is asked of `restrict`; filled from the plan that the server wrote."""

    def __init__(self, plan: list[list[str]]) -> None:
        self.values: dict[str, list[str]] = {}
        for key, value in plan:
            self.values.setdefault(key, []).append(value)

    def all(self, key: str) -> list[str]:
        return self.values.get(key, [])

    def one(self, key: str) -> str:
        return (self.values.get(key) or [""])[0]

    def restrict(self) -> None:
        restrict(self)


def abi() -> int:
    """The version of Landlock here; 0 where there is none."""
    return int(max(0, libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ABI_FLAG)))


def adopt_orphans() -> None:
    prctl(CHILD_SUBREAPER, 1)


def join(process: int, namespaces: int) -> None:
    """Enter those of a process, given as a descriptor (Linux 5.8); children are in its namespace
    of processes, too. One is then in the root of its files."""
    if libc.setns(process, namespaces) < 0:
        why = os.strerror(ctypes.get_errno())
        raise OSError(f"its namespaces cannot be entered, which takes Linux 5.8 ({why})")


def become(plan: Confinement) -> None:
    """For the guard: no way back to more rights, nobody looks into it, and no longer root."""
    prctl(NO_NEW_PRIVILEGES, 1)
    drop_bounds()
    if user := plan.one("user"):
        number, group = map(int, user.split(":"))
        os.setgroups([])
        os.setresgid(group, group, group)
        os.setresuid(number, number, number)
    if not plan.one("namespace"):  # it takes rights to leave root for a namespace, later
        capset()
    prctl(DUMPABLE, 0)


def drop_bounds() -> None:
    """No program can give a capability any more; without the right to, none could anyway."""
    number = 0
    while libc.prctl(DROP_BOUND, ctypes.c_ulong(number), 0, 0, 0) == 0:
        number += 1


def restrict(plan: Confinement) -> None:
    """For the command: all the rest. Raises `OSError` where something cannot be given up."""
    prctl(DUMPABLE, 1)  # or /proc/self would be root's
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    disk = os.statvfs(".")
    lower(resource.RLIMIT_FSIZE, disk.f_bavail * disk.f_frsize // SHARE)
    if plan.one("processes"):
        lower(resource.RLIMIT_NPROC, PROCESSES)
    with open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 - pathlib is slow to import
        file.write(str(UNWELCOME))
    if number := plan.one("namespace"):
        leave_root(int(number))
    drop_bounds()
    capset()
    if plan.all("write") or plan.one("alone"):
        landlock(plan)
    if code := plan.one("filter"):
        seccomp(bytes.fromhex(code))


def lower(limit: int, most: int) -> None:
    """Never raised again."""
    before = resource.getrlimit(limit)[1]
    few = most if before == resource.RLIM_INFINITY else min(most, before)
    resource.setrlimit(limit, (few, few))


def leave_root(number: int) -> None:
    """A user namespace in which root's files belong to an ordinary id without capabilities."""
    user, group = os.getuid(), os.getgid()
    if libc.unshare(NEW_USER) < 0:
        why = os.strerror(ctypes.get_errno())
        raise OSError(f"no namespace of users can be made for root's own project ({why})")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{number} {user} 1"),
        ("gid_map", f"{number} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - as above
            file.write(text)
    os.setresgid(number, number, number)
    os.setresuid(number, number, number)


def capset() -> None:
    """Hold no capability, and inherit none."""
    header, none = struct.pack("=Ii", CAPABILITY_VERSION, 0), bytes(24)
    check(
        libc.capset(ctypes.create_string_buffer(header, 8), ctypes.create_string_buffer(none, 24))
    )


def landlock(plan: Confinement) -> None:
    version = abi()
    if plan.one("alone") and version < 6:
        raise OSError(errno.ENOSYS, "this kernel's Landlock does not hold signals back")
    if version < 2:
        return  # could not move files between folders; bubblewrap holds without it
    handled = ALL.get(version, ALL[4] | IOCTL_DEV)
    if not plan.one("alone"):
        handled &= ~IOCTL_DEV
    tcp = ALL_TCP if version >= 4 and plan.one("alone") == "off" else 0
    scopes = ALL_SCOPES if version >= 6 else 0
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = ctypes.create_string_buffer(struct.pack("=QQQ", handled, tcp, scopes), 24)
    rules = check(libc.syscall(CREATE_RULESET, ruleset, ctypes.c_size_t(size), 0))
    for path in plan.all("read"):
        allow(rules, path, handled & READ)
    for path in plan.all("write"):
        allow(rules, path, handled & ~(MAKE_CHAR | MAKE_BLOCK))
    for path in plan.all("device"):
        allow(rules, path, handled & (READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV))
    check(libc.syscall(RESTRICT_SELF, rules, 0))
    os.close(rules)


def allow(rules: int, path: str, rights: int) -> None:
    """Allow `rights` on all that is beneath the path; one that is not there is left out."""
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not os.path.isdir(path):  # noqa: PTH112 - as above
        rights &= OF_FILES
    rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, place), 12)
    check(libc.syscall(ADD_RULE, rules, PATH_BENEATH, rule, 0))
    os.close(place)


def seccomp(code: bytes) -> None:
    """`struct sock_fprog`: how many steps, and where they are."""
    steps = ctypes.create_string_buffer(code, len(code))
    fprog = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(steps))
    prctl(SECCOMP, FILTER, ctypes.create_string_buffer(fprog, len(fprog)))


def prctl(option: int, first: object, second: object = 0) -> None:
    as_long = [ctypes.c_ulong(v) if isinstance(v, int) else v for v in (first, second)]
    check(libc.prctl(option, *as_long, ctypes.c_ulong(0), ctypes.c_ulong(0)))


def check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result

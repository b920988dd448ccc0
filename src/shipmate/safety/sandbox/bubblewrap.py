"""The command line of bubblewrap for a room."""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from shipmate.safety.sandbox import places
from shipmate.safety.sandbox.repository import folders_of, repository
from shipmate.safety.sandbox.room import INSIDE_ID, PROXY_SOCKET, Person, Room, readable

HOLDER = "cat"
"""Runs in a room as long as its command does."""
SYSTEM_PATH = "/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin"
KERNEL = {"": ("/proc/sys",), "user": (), "namespace": ("/proc/fs", "/proc/acpi")}
"""What of /proc is the machine's own: root's files, whose owner may write them. What of `sys`,
`sysrq-trigger`, `irq` and `bus` could be written bubblewrap itself makes read-only."""
NEW_CGROUP, NEW_UTS, NEW_IPC, NEW_NET = 0x02000000, 0x04000000, 0x08000000, 0x40000000
NEW_FILES, NEW_PROCESSES, NEW_USERS = 0x00020000, 0x20000000, 0x10000000
"""CLONE_NEW* of `sched.h`."""
SECRETIVE = ("/proc/kcore", "/proc/kmsg", "/proc/kallsyms", "/proc/keys", "/proc/timer_list")
SHARE = 4
"""The part of the memory (1/SHARE) that temporary files may take."""


def installed() -> str:
    """The program; only of the system's own folders, as the guard of all else."""
    return shutil.which("bwrap", path=SYSTEM_PATH) or ""


def maker(room: Room) -> list[str]:
    """The program, all its arguments, and what holds the room. Raises `OSError`."""
    holder = shutil.which(HOLDER, path=SYSTEM_PATH)
    if holder is None:
        raise FileNotFoundError(f"there is no {HOLDER} on this system")
    return [*arguments(room), holder]


def namespaces(person: Person) -> int:
    """Flags of those a room has of its own."""
    users = NEW_USERS if person.change != "user" else 0
    return NEW_FILES | NEW_PROCESSES | NEW_IPC | NEW_UTS | NEW_NET | NEW_CGROUP | users


def interpreter() -> Path:
    """Python itself, not the link to it in an environment."""
    base: str = getattr(sys, "_base_executable", sys.executable)
    return Path(base).resolve()


def arguments(room: Room) -> list[str]:
    """All but what is to run."""
    person = room.person
    visible = readable(room, person)
    given = [installed(), "--die-with-parent", "--as-pid-1", *_spaces(person), *_identity(person)]
    given += _ground(room, person, visible)
    given += _project(room)
    given += _hidden(room, person, visible)
    return [*given, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", str(room.root)]


def _spaces(person: Person) -> list[str]:
    spaces = ["pid", "ipc", "uts", "net", "cgroup-try"]
    return [f"--unshare-{name}" for name in spaces + (["user"] if person.change != "user" else [])]


def _identity(person: Person) -> list[str]:
    if person.change == "user":
        return ["--cap-drop", "ALL"]
    if person.change == "namespace":
        return ["--uid", str(INSIDE_ID), "--gid", str(INSIDE_ID)]
    return ["--uid", str(person.uid), "--gid", str(person.gid)]


def _ground(room: Room, person: Person, visible: list[Path]) -> Iterator[str]:
    """The system, a home of its own with the tools of the real one, temporary folders."""
    yield from ("--proc", "/proc", "--dev", "/dev")
    if person.change == "user":
        yield from _open_ways([*visible, room.root, Path(PROXY_SOCKET)])
    yield from _tmpfs("/dev/shm", "/tmp", "/var/tmp", str(person.home))  # noqa: S108 - its own
    for path in outermost(visible):
        yield from _seen(path)
    yield from _bind("--ro-bind-try", map(Path, KERNEL[person.change]))
    for path in filter(os.path.exists, SECRETIVE):
        yield from ("--ro-bind", "/dev/null", path)
    if room.proxy is not None:
        yield from ("--bind", str(room.proxy), PROXY_SOCKET)


def outermost(folders: Iterable[Path]) -> Iterator[Path]:
    """Those that lie in no other one: each costs bubblewrap a look at all that it has made."""
    last = None
    for path in sorted(folders):
        if last is None or not _lies_in(path, last):
            last = path
            yield path


def _lies_in(path: Path, folder: Path) -> bool:
    """By no link on the way."""
    if not path.is_relative_to(folder):
        return False
    below = [path, *path.parents][: len(path.parts) - len(folder.parts)]
    return not any(one.is_symlink() for one in below)


def _open_ways(places_seen: Iterable[Path]) -> Iterator[str]:
    """The folders above these, so that another user than the one who makes them may pass."""
    above = {parent for path in places_seen for parent in path.parents if parent.parent != parent}
    for folder in sorted(above):
        if not Path(*folder.parts[:2]).is_symlink():
            yield from ("--perms", "0755", "--dir", str(folder))


def _tmpfs(*paths: str) -> Iterator[str]:
    for path in paths:
        yield from ("--perms", "1777", "--size", str(temporary_bytes()), "--tmpfs", path)


def temporary_bytes() -> int:
    """Bytes that one folder of temporary files may hold."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // SHARE


def _seen(path: Path) -> list[str]:
    """A folder of the system, or the link that stands in its place (`/bin` to `usr/bin`)."""
    if path.is_symlink() and path.parent == Path("/"):
        return ["--symlink", str(path.readlink()), str(path)]
    return ["--ro-bind-try", str(path), str(path)]


def _bind(how: str, paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        yield from (how, str(path), str(path))


def _project(room: Room) -> Iterator[str]:
    if room.read_only:
        yield from _bind("--ro-bind", [room.root, *folders_of(room.root)])
        return
    git = repository(room.root)
    yield from _bind("--bind", [room.root])
    yield from _bind("--bind-try", room.settings.writable)
    yield from _bind("--bind", git.folders)
    yield from _bind("--ro-bind", git.read_only)


def _hidden(room: Room, person: Person, visible: list[Path]) -> Iterator[str]:
    """What lies within something that is seen, and must not be."""
    seen = ["/etc", "/opt", *map(str, (room.root, *visible, *room.settings.writable))]
    within = tuple(f"{one}/" for one in seen)
    wanted = [*room.protected, *places.private(person.home)]
    wanted += places.sockets(room.root)
    if person.uid == 0:
        wanted += places.unreadable_by_others(Path("/etc"))
    for path in wanted:
        if f"{path}/".startswith(within) and path.exists():
            yield from _covered(path)


def _covered(path: Path) -> list[str]:
    if path.is_dir():
        return [
            "--perms",
            "0500",
            "--size",
            "4096",
            "--tmpfs",
            str(path),
            "--remount-ro",
            str(path),
        ]
    return ["--ro-bind", "/dev/null", str(path)]

"""The command line of bubblewrap for a room."""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import shipmate
from shipmate.safety.sandbox import places
from shipmate.safety.sandbox.repository import folders_of, repository
from shipmate.safety.sandbox.room import INSIDE_ID, PROXY_SOCKET, Person, Room, readable

PROGRAMS = "/run/shipmate"
"""Where our own programs are found in a room."""
PACKAGE = Path(shipmate.__file__).parent
KERNEL = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi")
"""What of /proc is the machine's own: root's files, whose owner may write them."""
SECRETIVE = ("/proc/kcore", "/proc/kmsg", "/proc/kallsyms", "/proc/keys", "/proc/timer_list")
SHARE = 4
"""The part of the memory (1/SHARE) that temporary files may take."""


def installed() -> str:
    """The program; only of the system's own folders, as the guard of all else."""
    return (
        shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin") or ""
    )


def interpreter() -> Path:
    """Python itself, not the link to it in an environment."""
    base: str = getattr(sys, "_base_executable", sys.executable)
    return Path(base).resolve()


def arguments(room: Room) -> list[str]:
    """All but what is to run."""
    person = room.person
    given = [installed(), "--die-with-parent", "--as-pid-1", *_spaces(person), *_identity(person)]
    given += _ground(room, person)
    given += _project(room)
    given += _hidden(room, person)
    return [*given, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", str(room.root)]


def _spaces(person: Person) -> list[str]:
    spaces = ["pid", "ipc", "uts", "net", "cgroup-try"]
    return [f"--unshare-{name}" for name in spaces + (["user"] if person.change != "user" else [])]


def _identity(person: Person) -> list[str]:
    if person.change == "user":
        return ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    if person.change == "namespace":
        return ["--uid", str(INSIDE_ID), "--gid", str(INSIDE_ID)]
    return ["--uid", str(person.uid), "--gid", str(person.gid)]


def _ground(room: Room, person: Person) -> Iterator[str]:
    """The system, a home of its own with the tools of the real one, temporary folders."""
    yield from ("--proc", "/proc", "--dev", "/dev")
    if person.change == "user":
        yield from _open_ways(
            [*readable(room, person), room.root, Path(PROGRAMS), Path(PROXY_SOCKET)]
        )
    yield from _tmpfs("/dev/shm", "/tmp", "/var/tmp", str(person.home))  # noqa: S108 - its own
    for path in readable(room, person):
        yield from _seen(path)
    yield from ("--ro-bind", str(PACKAGE), f"{PROGRAMS}/shipmate")
    yield from _bind("--ro-bind-try", map(Path, KERNEL))
    for path in filter(os.path.exists, SECRETIVE):
        yield from ("--ro-bind", "/dev/null", path)
    if room.proxy is not None:
        yield from ("--bind", str(room.proxy), PROXY_SOCKET)


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


def _hidden(room: Room, person: Person) -> Iterator[str]:
    """What lies within something that is seen, and must not be."""
    seen = [Path("/etc"), Path("/opt"), room.root, *readable(room, person), *room.settings.writable]
    wanted = [*room.protected, *places.private(person.home)]
    wanted += places.sockets(room.root)
    if person.uid == 0:
        wanted += places.unreadable_by_others(Path("/etc"))
    for path in wanted:
        if path.exists() and any(path.is_relative_to(one) for one in seen):
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

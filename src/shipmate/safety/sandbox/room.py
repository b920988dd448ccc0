"""What one command may do, and the same said to the programs that see to it."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from shipmate.safety.sandbox import places, repository, seccomp

Means = Literal["bubblewrap", "landlock", "none"]
DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom"))
INSIDE_ID = 1000
"""The unprivileged id that root's own projects are worked on with."""
PROXY_SOCKET = "/run/shipmate-net"
"""Where the socket of the server's filter is found in a room."""


class SandboxSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`[sandbox]`: how commands are confined, in all projects."""

    mode: Literal["auto", "off"] = "auto"
    """`off`: they can do all that the server's user can, and every one asks."""
    read: tuple[str, ...] = ()
    """Further folders that commands may read."""
    write: tuple[str, ...] = ()
    """Further folders that commands may change."""

    def __post_init__(self) -> None:
        for name in (*self.read, *self.write):
            if not Path(name).expanduser().is_absolute():
                raise ValueError(f"expected whole paths of folders, not {name!r}")

    @property
    def readable(self) -> tuple[Path, ...]:
        return tuple(Path(name).expanduser() for name in self.read)

    @property
    def writable(self) -> tuple[Path, ...]:
        return tuple(Path(name).expanduser() for name in self.write)


AUTO = SandboxSettings()


@dataclass(frozen=True, slots=True)
class Room:
    """The confinement of one command."""

    means: Means
    root: Path
    """The project's folder, resolved."""
    protected: tuple[Path, ...] = ()
    """Never seen: the server's data directory."""
    hosts: tuple[str, ...] = ()
    """What it may reach: names of hosts, `*` for all public ones; none: no network at all. Where
    nothing can filter it, any name opens the whole network."""
    proxy: Path | None = None
    """The socket of the filter that sees to `hosts`."""
    read_only: bool = False
    """Not even the project is written to."""
    temporary: Path | None = None
    """The folder for temporary files, where /tmp is everybody's."""
    settings: SandboxSettings = AUTO

    @property
    def person(self) -> "Person":
        return who(self.root)


@dataclass(frozen=True, slots=True)
class Person:
    """Who a command runs as."""

    uid: int
    gid: int
    name: str
    home: Path
    change: Literal["", "user", "namespace"] = ""
    """How the server's user gets there: a root server becomes the project's owner, or leaves
    root behind in a namespace of users where the project is root's own."""


def who(root: Path) -> Person:
    """Raises `OSError` when the folder is gone."""
    uid = os.getuid()
    if uid != 0:
        return _person(uid, os.getgid())
    owner = root.stat()
    if owner.st_uid == 0:
        return _person(0, os.getgid(), "namespace")
    return _person(owner.st_uid, owner.st_gid, "user")


def _person(uid: int, gid: int, change: Literal["", "user", "namespace"] = "") -> Person:
    import pwd  # not there on Windows

    try:
        entry = pwd.getpwuid(uid)
        name, home = entry.pw_name, Path(entry.pw_dir)
    except KeyError:  # an id without a name, as in containers
        name, home = str(uid), Path(os.environ.get("HOME", "/nonexistent"))
    if not change and os.environ.get("HOME"):
        home = Path(os.environ["HOME"])
    return Person(uid, gid, name, home.resolve(), change)


def readable(room: Room, person: Person) -> list[Path]:
    """What may be read besides the project: the system, its tools, and what the user names."""
    folders = [
        *places.system(),
        *places.in_home(person.home),
        *places.on_the_path(os.environ.get("PATH", ""), person.home, (room.root, *room.protected)),
        *room.settings.readable,
        Path(sys.base_prefix),
    ]
    return list(dict.fromkeys(folders))


def plan(room: Room) -> list[tuple[str, str]]:
    """For the guard: pairs of a key and a value. None: nothing is given up."""
    if room.means == "none":
        return []
    person = room.person
    pairs = [("write", str(path)) for path in _written(room)]
    if person.change == "user":
        pairs.append(("user", f"{person.uid}:{person.gid}"))
    if room.means == "bubblewrap":
        pairs += _in_bubblewrap(room, person)
    else:
        pairs += _alone(room, person)
    return pairs


def _written(room: Room) -> list[Path]:
    if room.read_only:
        return []
    return [room.root, *room.settings.writable, *repository.repository(room.root).folders]


def _in_bubblewrap(room: Room, person: Person) -> Iterator[tuple[str, str]]:
    """Folders were chosen already; what is not seen needs no rule."""
    yield "read", "/"
    yield from (("write", path) for path in ("/tmp", "/dev/shm", str(person.home)))  # noqa: S108
    yield from (("device", path) for path in (*DEVICES, "/dev/tty", "/dev/ptmx", "/dev/pts"))
    yield "filter", seccomp.program(seccomp.Sockets.LOCAL).hex()
    if person.change != "user":
        yield "processes", "1"  # they are counted in this namespace only
    if room.proxy is not None:
        yield "proxy", PROXY_SOCKET


def _alone(room: Room, person: Person) -> Iterator[tuple[str, str]]:
    yield "alone", "open" if room.hosts else "off"
    for folder in readable(room, person):
        parts = places.readable_by_others(folder) if folder == Path("/etc") else [folder]
        yield from (("read", str(part)) for part in parts)
    yield from (("read", path) for path in ("/proc", "/dev/null"))
    yield from (("device", path) for path in DEVICES)
    if room.temporary is not None:
        yield "write", str(room.temporary)
    if room.read_only:
        yield from (("read", str(one)) for one in (room.root, *repository.folders_of(room.root)))
    if person.change == "namespace":
        yield "namespace", str(INSIDE_ID)
    kind = seccomp.Sockets.INTERNET if room.hosts else seccomp.Sockets.NONE
    yield "filter", seccomp.program(kind).hex()


def identity(room: Room) -> dict[str, str]:
    """Variables that say who runs the command and where its own things are."""
    if room.means == "none":
        return {}
    person = room.person
    names = {"HOME": str(person.home), "USER": person.name, "LOGNAME": person.name}
    if room.means == "bubblewrap":
        return {**names, "TMPDIR": "/tmp"}  # noqa: S108 - its own
    temporary = str(room.temporary or room.root)
    return {**names, "TMPDIR": temporary, "XDG_CACHE_HOME": temporary}

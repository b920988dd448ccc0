"""Tries to get out of the sandbox, for real, and tells what was held.

    python -m tests.safety.sandbox.battery bubblewrap|landlock [OWNER]

Imports the sandbox and the standard library only, so that it can be run as any user. OWNER: the
id of the project's owner, where root runs it.
"""

import asyncio
import contextlib
import ctypes
import fcntl
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import cast

from shipmate.safety.net import refused_address
from shipmate.safety.sandbox import bubblewrap, seccomp
from shipmate.safety.sandbox.proxy import Filter
from shipmate.safety.sandbox.repository import mend
from shipmate.safety.sandbox.room import Means, Room, who
from shipmate.safety.sandbox.spawn import prepare, spawn
from tests.safety.sandbox.attempts import Attempt, groups

PATIENCE = 60.0
MARK = f"31415{os.getpid():08}"
"""Seconds that what is left behind sleeps: another battery has its own."""
FLOODED = 137
PREAMBLE = """
import ctypes, os, resource, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *given): return libc.syscall(NUMBERS[name], *given)
"""


@dataclass(frozen=True)
class Row:
    """What came of one attempt."""

    tried: str
    held: bool
    expected: bool
    """It is claimed to be held by this means."""
    said: str


@dataclass
class Place:
    """What there is to get at: a canary, a data directory, sockets, a process."""

    means: Means
    folder: Path
    owner: int
    words: dict[str, object] = field(default_factory=dict[str, object])
    udp: socket.socket | None = None
    victim: "subprocess.Popen[bytes] | None" = None
    secret: int = -1
    """A descriptor of the data directory's secret, as a server has such open."""

    @property
    def root(self) -> Path:
        return self.folder / "project"

    @property
    def outside(self) -> Path:
        return self.folder / "outside"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def home(self) -> Path:
        return who(self.root).home

    @property
    def canary(self) -> str:
        return f".shipmate-canary-{os.getpid()}"

    def project(self) -> None:
        """Made anew, so that what one attempt did is gone for the next one."""
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.rmtree(self.root.with_name("project-moved"), ignore_errors=True)
        shutil.copytree(self.folder / "template", self.root)
        if os.getuid() == 0:
            for path in (self.root, *self.root.rglob("*")):
                os.chown(path, self.owner, self.owner)
            shutil.copy("/usr/bin/id", self.root / "root-id")
            (self.root / "root-id").chmod(0o4755)
        for path in self.made():
            path.unlink(missing_ok=True)
        (self.outside / "canary").write_text("a canary\n")
        if self.victim is None or self.victim.poll() is not None:
            self.victim = subprocess.Popen(["sleep", "1000"])
            self.words["victim"] = self.victim.pid

    def made(self) -> list[Path]:
        """What attempts would make elsewhere."""
        made = [self.outside / "made", self.data / "made", self.home / f"{self.canary}-made"]
        return [*made, *(Path(folder) / self.canary for folder in ("/tmp", "/dev/shm", "/etc"))]

    def rest(self) -> None:
        if self.victim is not None:
            self.victim.kill()
            self.victim.wait()

    def harm(self) -> Iterator[str]:
        """What can be seen from outside."""
        canary = self.outside / "canary"
        if not canary.exists() or canary.read_text() != "a canary\n":
            yield "the canary was changed"
        yield from (f"{path} was made" for path in self.made() if path.exists())
        if not (self.root / ".git").is_dir() and self.means == "bubblewrap":
            yield "the project was moved"
        if self.victim is None or self.victim.poll() is not None:
            yield "a process was ended"
        if self.udp is not None and select.select([self.udp], [], [], 0)[0]:
            yield f"a datagram came: {self.udp.recv(9)!r}"
        if any(MARK in line for line in _processes()):
            yield "a process is left"
        mend(self.root)
        if (self.root / ".git" / "commondir").exists():
            yield "git is led elsewhere"


def _processes() -> Iterator[str]:
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield entry.read_bytes().decode(errors="replace")


@contextlib.contextmanager
def place(means: Means, owner: int) -> Generator[Place]:
    with ExitStack() as stack:
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="shipmate-battery-"))
        here = Place(means, Path(name).resolve(), owner)
        here.folder.chmod(0o755)
        _template(here.folder / "template")
        here.outside.mkdir()
        here.data.mkdir()
        (here.data / "secret").write_text("a secret\n")
        opened = stack.enter_context((here.data / "secret").open())
        here.secret = fcntl.fcntl(opened, fcntl.F_DUPFD, 10)  # no number of a command's own
        stack.callback(os.close, here.secret)
        _shared_memory(stack)
        here.project()
        canary = here.home / here.canary
        canary.write_text("a canary\n")
        stack.callback(canary.unlink)
        words = _sockets(here, stack)
        stack.callback(here.rest)
        here.words |= words | {
            "outside": here.outside,
            "data": here.data,
            "root": here.root,
            "home": here.home,
            "canary": here.canary,
            "server": os.getpid(),
            "mark": MARK,
            "key": os.getpid(),
            "quota": bubblewrap.temporary_bytes() // 1024 + 64,  # as it is rounded
        }
        yield here


def _template(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
    module = folder / ".git" / "modules" / "sub"
    (module / "hooks").mkdir(parents=True)
    (module / "HEAD").write_text("ref: refs/heads/main\n")
    (module / "config").write_text("[core]\n")


def _shared_memory(stack: ExitStack) -> None:
    """Of this process, and open to all."""
    libc = ctypes.CDLL(None, use_errno=True)
    segment = libc.shmget(os.getpid(), 16, 0o1666)
    stack.callback(libc.shmctl, segment, 0, None)


def _sockets(here: Place, stack: ExitStack) -> dict[str, object]:
    """What listens on this machine, where every user may knock."""
    tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    here.udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    here.udp.bind(("127.0.0.1", 0))
    for address in (str(here.outside / "socket"), f"\0{here.canary}"):
        local = stack.enter_context(socket.socket(socket.AF_UNIX))
        local.bind(address)
        local.listen()
    (here.outside / "socket").chmod(0o777)
    port = tcp.getsockname()[1]
    with contextlib.suppress(OSError):
        stack.enter_context(socket.create_server(("::1", port), family=socket.AF_INET6))
    return {"port": port, "udp": here.udp.getsockname()[1]}


def run(here: Place, attempts: Sequence[Attempt]) -> list[Row]:
    """Try some in one command."""
    here.project()
    script = "\n".join(script_of(here, number, one) for number, one in enumerate(attempts))
    hosts = attempts[0].hosts if here.means == "bubblewrap" else ()
    with filtered(hosts, here.owner) as proxy:
        said, status = ran(here, script, proxy)
    harm = "; ".join(here.harm())
    rows: list[Row] = []
    for number, one in enumerate(attempts):
        text = said.partition(f"BEGIN {number}\n")[2].partition(f"TRIED {number}\n")
        through = "ESCAPED" in text[0] or bool(harm)
        tried = bool(text[1]) or status == FLOODED
        expected = one.alone or here.means == "bubblewrap"
        rows.append(Row(one.name, tried and not through, expected, harm or text[0].strip()[-300:]))
    return rows


def script_of(here: Place, number: int, one: Attempt) -> str:
    text = one.script.format_map(here.words)
    if one.python:
        machine = seccomp.MACHINES[os.uname().machine]
        numbers = {**machine.refused, "clone": machine.clone, "clone3": machine.clone3}
        body = f"NUMBERS = {numbers!r}\n{PREAMBLE}\n{text}"
        text = f"{bubblewrap.interpreter()} -I -S - <<'PYTHON' 2>&1\n{body}\nPYTHON"
    return f"echo BEGIN {number}\n(\n{text}\n) 2>&1\necho; echo TRIED {number}"


def ran(here: Place, script: str, proxy: Path | None) -> tuple[str, int]:
    """What the command wrote, and its exit status."""
    own = here.folder / "temporary"
    own.mkdir(exist_ok=True)
    if os.getuid() == 0:
        os.chown(own, here.owner, here.owner)
    room = Room(here.means, here.root, (here.data,), proxy=proxy, temporary=own)
    out_read, out_write = os.pipe()
    guarded = spawn(script, prepare(room, {"PATH": os.environ["PATH"]}), out_write)
    os.close(out_write)
    chunks: list[bytes] = []
    with os.fdopen(out_read, "rb", 0) as output:
        while select.select([output], [], [], PATIENCE)[0] and (data := output.read(65_536)):
            chunks.append(data)
    guarded.let_go()
    guarded.process.wait(PATIENCE)
    report = os.read(guarded.report, 100).split()
    os.close(guarded.report)
    return b"".join(chunks).decode(errors="replace"), int(report[1]) if report else -1


@contextlib.contextmanager
def filtered(
    hosts: tuple[str, ...], owner: int, refused: Callable[[str], str] = refused_address
) -> Generator[Path | None]:
    """The server's filter, in a thread as there is no server."""
    if not hosts:
        yield None
        return
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    listening = Filter(hosts, refused=refused).listening(owner)
    try:
        yield asyncio.run_coroutine_threadsafe(listening.__aenter__(), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(listening.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def battery(means: Means, owner: int) -> list[Row]:
    """All attempts. `owner`: of the project."""
    rows: list[Row] = []
    with place(means, owner) as here:
        for together, group in groups():
            usable = [one for one in group if not one.hosts or means == "bubblewrap"]
            batches = [usable] if together and usable else [[one] for one in usable]
            for batch in batches:
                rows += run(here, batch)
    return rows


def table(rows: Sequence[Row]) -> str:
    """For people: what was tried, and whether it was held."""
    lines = [f"{'held' if row.held else 'NOT HELD':9}{row.tried}" for row in rows]
    held = sum(row.held for row in rows)
    return "\n".join([*lines, f"{held} of {len(rows)} held"])


if __name__ == "__main__":
    given = sys.argv[1:]
    found = battery(cast("Means", given[0]), int(given[1]))
    print(json.dumps([asdict(row) for row in found]))

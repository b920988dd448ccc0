"""The entries of a folder: opened without following links, .gitignore honoured."""

import asyncio
import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from shipmate.protocol import MatchesDetail
from shipmate.safety.paths import within
from shipmate.safety.verdict import Verdict
from shipmate.tools.files import (
    BY_DESCRIPTOR,
    FOLDER,
    NotThereError,
    decide,
    opened,
    path_verdict,
    real_path,
)
from shipmate.tools.ignored import Ignored
from shipmate.tools.reading import shown_name
from shipmate.tools.tool import ToolContext, ToolError, ToolOutput, Workspace, tool

_WIDE = 50_000
"""Entries of one folder that are looked at."""
_MOST = 1_000
"""Entries that one call may ask for."""


@dataclass(frozen=True, slots=True)
class Entry:
    relative: str
    """Below the project's folder, with `/`."""
    folder: bool = False
    link: bool = False
    file: bool = False
    """A regular file, not a link to one."""


@dataclass
class Walk:
    """A walk through folders, the nearest first, names in order. What is left out is counted."""

    work: Workspace
    hidden: Callable[[str, bool], bool] | None = None
    """Whether an entry (and all below it) is ignored; None shows all."""
    ignored: int = 0
    unreadable: list[str] = field(default_factory=list[str])

    def entries(self, start: str, *, deep: bool = True) -> Iterator[Entry]:
        """`start` is relative to the project's folder; "" is the folder itself."""
        folders = deque([start])
        while folders:
            for entry in self._look(folders.popleft()):
                yield entry
                if deep and entry.folder and entry.relative.rpartition("/")[2] != ".git":
                    folders.append(entry.relative)

    def _look(self, folder: str) -> Iterator[Entry]:
        try:
            found = _scan(self.work.root, folder)
        except OSError as error:
            self.unreadable.append(f"{shown_name(folder) or '.'} ({error.strerror})")
            return
        for entry in found:
            if self._protected(entry):
                continue
            if self.hidden and self.hidden(entry.relative, entry.folder):
                self.ignored += 1
            else:
                yield entry

    def _protected(self, entry: Entry) -> bool:
        """The server's own data does not show."""
        place = self.work.root / entry.relative
        return any(within(place, folder) for folder in self.work.protected)


def walk(work: Workspace, start: str, *, ignored: bool = False) -> Walk:
    """`ignored`: also what .gitignore hides. A folder that is ignored and asked for by name
    is shown, by its own rules."""
    rules = Ignored(work.root)
    if ignored or rules.hides_within(start):
        return Walk(work)
    return Walk(work, lambda relative, folder: rules.hides(relative, folder=folder))


@contextmanager
def near_names_told(work: Workspace, path: str) -> Generator[None]:
    """The error that a path leads to nothing says in the end what is there in its place."""
    try:
        yield
    except NotThereError as error:
        raise ToolError(f"{error}{_near_names(work, path)}") from error


def _near_names(work: Workspace, path: str) -> str:
    folder, _, name = path.rstrip("/").rpartition("/")
    decision = decide(work, folder or ".", "list")
    if not decision.usable:
        return ""
    start = "" if decision.relative == "." else decision.relative
    try:
        names = [_name(entry) for entry in _scan(work.root, start)]
    except OSError:
        return ""
    plain = {known.lower(): known for known in names}
    near = [plain[n] for n in get_close_matches(name.lower(), plain, 3)]
    if near:
        return f" Near: {', '.join(shown_name(n) for n in near)}."
    listed = ", ".join(shown_name(n) for n in islice(names, 8))
    return f" There: {listed}{', ...' if len(names) > 8 else ''}." if names else ""


def _name(entry: Entry) -> str:
    return entry.relative.rpartition("/")[2] + ("/" if entry.folder else "")


def _scan(root: Path, folder: str) -> list[Entry]:
    if not BY_DESCRIPTOR:
        with os.scandir(root / folder) as found:
            return _sorted(folder, found)
    with (
        opened(root, folder or ".", os.O_RDONLY | FOLDER) as descriptor,
        os.scandir(descriptor) as found,
    ):
        return _sorted(folder, found)


def _sorted(folder: str, found: "Iterator[os.DirEntry[str]]") -> list[Entry]:
    base = f"{folder}/" if folder else ""
    entries = [
        Entry(
            base + entry.name,
            folder=entry.is_dir(follow_symlinks=False),
            link=entry.is_symlink(),
            file=entry.is_file(follow_symlinks=False),
        )
        for entry in islice(found, _WIDE)
    ]
    return sorted(entries, key=lambda entry: entry.relative)


async def _by_folder(ctx: ToolContext, path: str, **_others: object) -> Verdict:
    return await asyncio.to_thread(_judge, ctx.work, path or ".")


@tool(
    provider="read_only",
    judge=_by_folder,
    effect=False,
    example='{"path": "src", "recursive": true}',
)
async def list_files(
    ctx: ToolContext, path: str = ".", recursive: bool = False, max_results: int = 200
) -> ToolOutput:
    """List a folder of the project: one name a line, folders end in `/`.

    With recursive, all that is below it, the nearest first. What .gitignore hides is only
    counted; list such a folder by its own name to see into it. maxResults is 1,000 at most.
    """
    most = min(max(max_results, 1), _MOST)
    return await asyncio.to_thread(_list, ctx.work, path or ".", most, recursive)


def _judge(work: Workspace, path: str) -> Verdict:
    with near_names_told(work, path):
        return path_verdict(decide(work, path, "list"))


def _list(work: Workspace, path: str, most: int, recursive: bool) -> ToolOutput:
    _, relative = real_path(work, path, "list")
    start = "" if relative == "." else relative
    walker = walk(work, start)
    found = list(islice(walker.entries(start, deep=recursive), most + 1))
    more = len(found) > most
    lines = [_shown(entry, start) for entry in found[:most]]
    name = "The project's folder" if not start else f"The folder {shown_name(start)}"
    notes = _notes(walker, most if more else 0)
    if not lines and not notes:
        return ToolOutput(f"{name} is empty.", details=MatchesDetail(count=0, what="entries"))
    if not lines:
        notes = f"{name} shows no entry.\n{notes}"
    details = MatchesDetail(count=len(lines), what="entries", more=more)
    return ToolOutput(notes + "\n".join(sorted(lines)), details=details, truncated=more)


def _shown(entry: Entry, start: str) -> str:
    name = entry.relative[len(start) + 1 :] if start else entry.relative
    return shown_name(name) + ("/" if entry.folder else "") + (" (link)" if entry.link else "")


def _notes(walker: Walk, most: int) -> str:
    notes: list[str] = []
    if most:
        way = "list a folder below it, or raise maxResults"
        notes.append(f"[There are more than these {most} entries: {way} ({_MOST:,} at most)]")
    if walker.ignored:
        word = "entry" if walker.ignored == 1 else "entries"
        notes.append(f"[{walker.ignored} {word} hidden by .gitignore]")
    if walker.unreadable:
        places = ", ".join(walker.unreadable[:5])
        notes.append(f"[Could not look into {len(walker.unreadable)}: {places}]")
    return "".join(f"{note}\n" for note in notes)

"""The entries of a folder: opened without following links, .gitignore honoured."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from shipmate.safety.paths import within
from shipmate.tools.files import BY_DESCRIPTOR, FOLDER, decide, opened
from shipmate.tools.ignored import Ignored
from shipmate.tools.reading import shown_name
from shipmate.tools.tool import Workspace

_WIDE = 50_000
"""Entries of one folder that are looked at."""


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


def near_names(work: Workspace, path: str) -> str:
    """What is there in place of a path that is not: a hint for the end of an error, or ""."""
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

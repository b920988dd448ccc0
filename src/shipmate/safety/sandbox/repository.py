"""What git keeps of a project, and which of it may run programs: that stays as it is.

The project's word is not taken for where its repository is: a `.git` file is followed out of the
project only where the repository there names this project, too.
"""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

READ_ONLY = ("hooks", "config", "config.worktree")
OWN_CONFIG = re.compile(rb"worktreeconfig", re.IGNORECASE)
WORKTREE = re.compile(r"^\s*worktree\s*=\s*(.+?)\s*$", re.MULTILINE)
MOVED = "commondir"
"""In a repository of its own this file would have git read another configuration and hooks."""
MAX_MODULES = 1_000


@dataclass(frozen=True, slots=True)
class Repository:
    """Folders of git that a command may write to, and what in them it may only read."""

    folders: tuple[Path, ...] = ()
    """To be bound onto themselves, so that they cannot be moved away. The first is the main one."""
    read_only: tuple[Path, ...] = ()


def repository(root: Path) -> Repository:
    """Of the project at `root`. Makes the folder `hooks` where it is missing, as it must be there
    to be guarded."""
    marked = root / ".git"
    folders = folders_of(root)
    also = (marked,) if marked.is_file() and not marked.is_symlink() else ()
    return _guarded(folders, also)


def folders_of(root: Path) -> tuple[Path, ...]:
    """Where git keeps the project: nowhere, in the project, or in a repository that owns it."""
    marked = root / ".git"
    if marked.is_symlink():
        return ()
    if marked.is_dir():
        return (marked,)
    return _named(root, marked) if marked.is_file() else ()


def _named(root: Path, marked: Path) -> tuple[Path, ...]:
    """The folders that a `.git` file names, if they name the project as well."""
    gitdir = _target(root, marked, "gitdir:")
    if gitdir is None or not gitdir.is_dir():
        return ()
    if (gitdir / "gitdir").is_file():
        common = _target(gitdir, gitdir / MOVED)
        back = _target(gitdir, gitdir / "gitdir")
        linked = back == marked and common is not None and gitdir.parent == common / "worktrees"
        return (common,) if linked and common else ()
    with contextlib.suppress(OSError):
        match = WORKTREE.search((gitdir / "config").read_text("utf-8", "replace"))
        if match and (gitdir / match[1].strip('"')).resolve() == root:
            return (gitdir,)
    return ()


def _target(folder: Path, file: Path, prefix: str = "") -> Path | None:
    try:
        text = file.read_text("utf-8", "replace")
    except OSError:
        return None
    return (folder / text.removeprefix(prefix).strip()).resolve()


def _guarded(folders: tuple[Path, ...], also: tuple[Path, ...]) -> Repository:
    kept = list(also)
    for folder in folders:
        for gitdir in (folder, *_modules(folder / "modules")):
            _complete(gitdir)
            kept += [gitdir / name for name in READ_ONLY if (gitdir / name).exists()]
        kept += [f for f in (folder / "worktrees").glob("*/*") if f.name in (*READ_ONLY, MOVED)]
    return Repository(folders, tuple(kept))


def _modules(folder: Path) -> Iterator[Path]:
    """The repositories of submodules, and of theirs."""
    found = 0
    for config in folder.rglob("config") if folder.is_dir() else ():
        if (config.parent / "HEAD").is_file():
            found += 1
            if found > MAX_MODULES:
                return
            yield config.parent


def _complete(gitdir: Path) -> None:
    with contextlib.suppress(OSError):
        (gitdir / "hooks").mkdir(exist_ok=True)
        if OWN_CONFIG.search((gitdir / "config").read_bytes()):
            (gitdir / "config.worktree").touch()


def mend(root: Path) -> str:
    """Undo what no room can forbid: a file that leads git to another configuration. Gives what
    was done, for the user to read."""
    moved = root / ".git" / MOVED
    if (root / ".git").is_symlink() or not moved.parent.is_dir() or not moved.exists():
        return ""
    with contextlib.suppress(OSError):
        moved.unlink()
    return f".git/{MOVED} was removed: it would have git read another configuration"

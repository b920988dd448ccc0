"""What .gitignore hides, read as folders are entered."""

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shipmate.tools.files import check_regular, opened, read_descriptor
from shipmate.tools.tool import ToolError

_MOST = 1_000_000
"""Bytes of a .gitignore that are read."""


def git_root(root: Path) -> Path | None:
    """The folder of the repository that a project is in."""
    return next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)


@dataclass
class Ignored:
    """The rules that hold in a project: its own files', those of the folders above it in the
    same repository, and `.git/info/exclude`. The user's global rules do not count."""

    root: Path
    _own: dict[str, Any] = field(default_factory=dict[str, Any])
    _above: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])

    def __post_init__(self) -> None:
        top = git_root(self.root)
        if top is None:
            return
        above = [folder for folder in self.root.parents if folder.is_relative_to(top)]
        for folder, name in [*((f, ".gitignore") for f in above), (top, ".git/info/exclude")]:
            if spec := _parsed(_plain(folder / name)):
                prefix = self.root.relative_to(folder).as_posix()
                self._above.append(("" if prefix == "." else f"{prefix}/", spec))

    def hides(self, relative: str, *, folder: bool) -> bool:
        """Whether an entry is ignored whose folders are not. The nearest rule decides."""
        name = f"{relative}/" if folder else relative
        at = relative
        while at:
            at = at.rpartition("/")[0]
            if (spec := self._spec(at)) is not None:
                inner = name[len(at) + 1 :] if at else name
                if (hidden := spec.check_file(inner).include) is not None:
                    return hidden
        for prefix, spec in self._above:
            if (hidden := spec.check_file(prefix + name).include) is not None:
                return hidden
        return False

    def hides_within(self, relative: str) -> bool:
        """Whether a folder, or one that it is in, is ignored."""
        parts = relative.split("/") if relative not in {"", "."} else []
        return any(self.hides("/".join(parts[: n + 1]), folder=True) for n in range(len(parts)))

    def _spec(self, folder: str) -> Any:
        if folder not in self._own:
            name = f"{folder}/.gitignore" if folder else ".gitignore"
            self._own[folder] = _parsed(_inside(self.root, name))
        return self._own[folder]


def _inside(root: Path, relative: str) -> bytes:
    try:
        with opened(root, relative, os.O_RDONLY) as descriptor:
            check_regular(descriptor, relative)
            return read_descriptor(descriptor, _MOST)
    except (OSError, ToolError):
        return b""  # not there, or nothing git would read either (a link, a pipe)


def _plain(path: Path) -> bytes:
    try:
        if stat.S_ISREG(path.lstat().st_mode):
            return path.read_bytes()[:_MOST]
    except OSError:
        return b""  # no such file: the usual case
    return b""


def _parsed(data: bytes) -> Any:
    """None where there is no rule."""
    from pathspec import GitIgnoreSpec  # 60 ms: not before the first listing

    lines = data.decode("utf-8", "replace").split("\n")
    lines = [line.rstrip("\r") for line in lines if line.strip() and not line.startswith("#")]
    return GitIgnoreSpec.from_lines(lines) if lines else None

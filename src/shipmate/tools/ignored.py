"""What .gitignore hides, read as folders are entered."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from shipmate.tools.files import check_regular, opened, read_descriptor
from shipmate.tools.globs import Segment, fits, segments
from shipmate.tools.tool import ToolError

_MOST = 1_000_000
"""Bytes of a .gitignore that are read."""
_LINES, _LONG = 5_000, 1_000
"""Lines of one file, characters of one line; what is beyond hides nothing."""
_END = re.compile(r"(?<!\\) +\Z")
_CLASSES = {
    "[:alpha:]": "a-zA-Z",
    "[:digit:]": "0-9",
    "[:alnum:]": "a-zA-Z0-9",
    "[:upper:]": "A-Z",
    "[:lower:]": "a-z",
    "[:xdigit:]": "0-9a-fA-F",
    "[:space:]": " \t\n\r\f\v",
}
"""As they may stand within brackets."""


def git_root(root: Path) -> Path | None:
    """The folder of the repository that a project is in."""
    return next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)


@dataclass(frozen=True, slots=True)
class Rule:
    """A line of a .gitignore (gitignore(5))."""

    wanted: tuple[Segment, ...]
    hides: bool
    """False where it begins with `!`."""
    folders: bool
    """Only these."""

    def matches(self, names: list[str], *, folder: bool) -> bool:
        return (folder or not self.folders) and fits(self.wanted, names)


class Rules(tuple[Rule, ...]):
    """Those of one file; the last one that matches decides."""

    __slots__ = ()

    def say(self, relative: str, *, folder: bool) -> bool | None:
        """Whether the entry is hidden; None where no line speaks of it."""
        names = relative.split("/")
        for rule in reversed(self):
            if rule.matches(names, folder=folder):
                return rule.hides
        return None

    def hold(self, folder: str) -> bool:
        """Whether a folder, or one that it is in, is hidden."""
        names = folder.split("/")
        return any(self.say("/".join(names[: n + 1]), folder=True) for n in range(len(names)))


@dataclass
class Ignored:
    """The rules that hold in a project: its own files', those of the folders above it in the
    same repository, and `.git/info/exclude`. The user's global rules do not count."""

    root: Path
    _own: dict[str, Rules] = field(default_factory=dict[str, Rules])
    _above: list[tuple[str, Rules]] = field(default_factory=list[tuple[str, Rules]])
    _within: bool = False
    """The project lies in a folder that is ignored."""

    def __post_init__(self) -> None:
        top = git_root(self.root)
        if top is None:
            return
        above = [folder for folder in self.root.parents if folder.is_relative_to(top)]
        for folder, name in [*((f, ".gitignore") for f in above), (top, ".git/info/exclude")]:
            if rules := _parsed(_inside(folder, name)):
                prefix = self.root.relative_to(folder).as_posix()
                self._above.append(("" if prefix == "." else f"{prefix}/", rules))
                self._within |= prefix != "." and rules.hold(prefix)

    def hides(self, relative: str, *, folder: bool) -> bool:
        """Whether an entry is ignored whose folders are not. The nearest rule decides."""
        at = relative
        while at:
            at = at.rpartition("/")[0]
            inner = relative[len(at) + 1 :] if at else relative
            if (hidden := self._rules(at).say(inner, folder=folder)) is not None:
                return hidden
        for prefix, rules in self._above:
            if (hidden := rules.say(prefix + relative, folder=folder)) is not None:
                return hidden
        return self._within

    def hides_within(self, relative: str) -> bool:
        """Whether a folder, or one that it is in, is ignored."""
        parts = relative.split("/") if relative not in {"", "."} else []
        return any(self.hides("/".join(parts[: n + 1]), folder=True) for n in range(len(parts)))

    def _rules(self, folder: str) -> Rules:
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


def _parsed(data: bytes) -> Rules:
    lines = data.decode("utf-8", "replace").split("\n")[:_LINES]
    return Rules(rule for line in lines if (rule := _rule(line.removesuffix("\r"))))


def _rule(line: str) -> Rule | None:
    """None where the line says nothing."""
    pattern = _END.sub("", line)
    hides = not pattern.startswith("!")
    pattern = pattern if hides else pattern[1:]
    if not pattern.strip("/") or line.startswith("#") or len(pattern) > _LONG:
        return None
    for name, spelled in _CLASSES.items():
        pattern = pattern.replace(name, spelled)
    folders = pattern.endswith("/")
    names = pattern.removesuffix("/").removeprefix("/").split("/")  # of "//" one is a name: ""
    anywhere = len(names) == 1 and not pattern.startswith("/")
    return Rule((*((None,) if anywhere else ()), *segments(names, escapes=True)), hides, folders)

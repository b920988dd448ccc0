"""May a tool touch this path? Decided on where the path really leads, never on its text."""

import stat
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from os.path import lexists
from pathlib import Path
from typing import Literal

from shipmate.safety.paths_places import danger_of, secret_of
from shipmate.safety.paths_spelling import (
    Platform,
    Spelled,
    SpellingError,
    climbs,
    looks_expanded,
    spell,
)
from shipmate.safety.paths_walk import Walked, WalkError, same_name, walk

Op = Literal["read", "list", "search", "write", "create", "mkdir"]
"""What is to be done: `search` looks into a file or a folder, `list` into a folder."""
PathVerdict = Literal["allow", "ask", "ask_danger", "deny", "error"]
Fault = Literal["", "missing", "folder"]
"""What is wrong, where more can be said about it: nothing is there; it is a folder."""
WRITES = frozenset({"write", "create", "mkdir"})
"""What the bypass of a session covers."""
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
HOST: Platform = (
    "windows" if sys.platform == "win32" else "macos" if sys.platform == "darwin" else "linux"
)


@dataclass(frozen=True, slots=True)
class PathDecision:
    """`real` and `relative` are where the path leads; empty where it leads nowhere we may go."""

    verdict: PathVerdict
    reason: str = ""
    fault: Fault = ""
    """With the verdict `error`."""
    real: Path = Path()
    relative: str = ""
    """Below the project's folder, with `/`; "." for the folder itself."""
    exists: bool = False
    through_link: bool = False
    """The path as given goes through a link; `relative` is what it points to."""

    @property
    def usable(self) -> bool:
        return self.verdict not in {"deny", "error"}


class _RefusedError(Exception):
    """Carries a decision out of the steps below."""

    def __init__(self, verdict: Literal["deny", "error"], reason: str, fault: Fault = "") -> None:
        super().__init__(reason)
        self.decision = PathDecision(verdict, reason, fault)


@dataclass(frozen=True, slots=True)
class _Question:
    op: Op
    path: str
    root: Path
    platform: Platform

    @property
    def folding(self) -> bool:
        """Names that differ in case or Unicode form only are one file."""
        return self.platform != "linux"

    def outside(self) -> _RefusedError:
        return _RefusedError("deny", f"{self.path!r} is outside the project {self.root}.")

    def wrong(self, what: str, fault: Fault = "") -> _RefusedError:
        return _RefusedError("error", f"{self.path!r} {what}.", fault)

    def inside(self, place: Path) -> bool:
        return within(place, self.root, folding=self.folding)


def decide_path(
    op: Op,
    path: str,
    root: Path,
    *,
    protected: Iterable[Path] = (),
    platform: Platform = HOST,
    ask_secrets: bool = True,
) -> PathDecision:
    """Decide on one path of a tool call. It asks the disk, so call it off the event loop.

    A verdict `ask` of a write may be covered by the user's bypass, `ask_danger` never. Opening
    must still not follow links (`tools.files`), as the disk may change after the decision.
    """
    question = _Question(op, path, root.resolve(), platform)
    try:
        spelled = spell(path, str(question.root), platform)
        _check_literal(question, spelled)
        found = _locate(question, spelled)
        _check_protected(question, found.real, protected)
        return _decide(question, spelled, found, ask_secrets=ask_secrets)
    except SpellingError as error:
        return PathDecision("deny" if error.denied else "error", f"{path!r}: {error}")
    except _RefusedError as error:
        return error.decision


def within(place: Path, folder: Path, *, folding: bool = HOST != "linux") -> bool:
    """Compared part by part, so that `/proj-evil` is not within `/proj`."""
    inner, outer = place.parts[: len(folder.parts)], folder.parts
    if folding:
        return [same_name(p) for p in inner] == [same_name(p) for p in outer]
    return inner == outer


def _check_literal(question: _Question, spelled: Spelled) -> None:
    """Spellings that are legal names here, and yet never mean what they say."""
    if spelled.absolute or not spelled.parts or lexists(question.root / spelled.parts[0]):
        return
    if looks_expanded(spelled.parts[0], rest=len(spelled.parts) > 1):
        raise question.wrong(
            "is taken literally (`~`, variables and drives mean nothing here): no such path"
        )
    if question.op in WRITES and any(part != ".." and climbs(part) for part in spelled.parts):
        raise question.wrong("has a name that stands for `..` in other places")


def _check_backslash(question: _Question, spelled: Spelled, *, exists: bool) -> None:
    """Here `\\` is part of a name; elsewhere the same file would be somewhere else."""
    names = [name for name in spelled.parts if "\\" in name]
    if question.platform == "windows" or question.op not in WRITES or not names:
        return
    if any(".." in name.split("\\") for name in names):
        raise question.outside()
    if not exists:
        raise question.wrong("has a backslash in a name; separate folders with `/`")


def _locate(question: _Question, spelled: Spelled) -> Walked:
    if not spelled.absolute:
        return _walk_inside(question, question.root, spelled)
    anchor = Path(question.root.anchor)
    try:
        found = walk(anchor, spelled.parts, folding=question.folding)
    except WalkError as error:
        if question.inside(error.where):
            raise question.wrong(str(error)) from error
        found = Walked(anchor)
    if question.inside(found.real):
        return found
    if found.mode:
        raise question.outside()
    return _project_relative(question, spelled)


def _project_relative(question: _Question, spelled: Spelled) -> Walked:
    """A leading `/` of what is not on the disk, but in the project (readings 18)."""
    try:
        found = _walk_inside(question, question.root, spelled)
    except _RefusedError as error:
        raise question.outside() from error
    if not found.mode:
        raise question.outside()
    return found


def _walk_inside(question: _Question, start: Path, spelled: Spelled) -> Walked:
    try:
        found = walk(start, spelled.parts, folding=question.folding)
    except WalkError as error:
        if question.inside(error.where):
            raise question.wrong(str(error)) from error
        raise question.outside() from error
    if not question.inside(found.real):
        raise question.outside()
    return found


def _check_protected(question: _Question, real: Path, protected: Iterable[Path]) -> None:
    if any(within(real, folder.resolve(), folding=question.folding) for folder in protected):
        raise _RefusedError(
            "deny", f"{question.path!r} belongs to the server's own data, which no tool may touch."
        )


def _decide(
    question: _Question, spelled: Spelled, found: Walked, *, ask_secrets: bool
) -> PathDecision:
    exists = bool(found.mode)
    _check_backslash(question, spelled, exists=exists)
    below = found.real.parts[len(question.root.parts) :]
    asked = _asked(question, spelled)
    _check_unicode(question, below)
    verdict, reason = _weigh(question.op, below, asked, ask_secrets=ask_secrets)
    if verdict != "ask_danger":
        _check_kind(question, spelled, found.mode)
        _check_new(question, found)
    return PathDecision(
        verdict,
        reason,
        real=found.real,
        relative="/".join(below) or ".",
        exists=exists,
        through_link=".." not in spelled.parts and _differ(asked, below),
    )


def _asked(question: _Question, spelled: Spelled) -> tuple[str, ...]:
    """The names of the path as it was given, below the project's folder; () where another way
    leads there. What the project's folder itself is called does not matter."""
    parts = spelled.parts
    if spelled.absolute:
        outer = question.root.parts[1:]
        parts = parts[len(outer) :] if parts[: len(outer)] == outer else ()
    return tuple(part for part in parts if part != "..")


def _differ(asked: tuple[str, ...], below: tuple[str, ...]) -> bool:
    return bool(asked) and [*map(same_name, asked)] != [*map(same_name, below)]


def _check_unicode(question: _Question, below: tuple[str, ...]) -> None:
    try:
        "/".join(below).encode()
    except UnicodeEncodeError:
        raise question.wrong("leads to a name that is not valid Unicode") from None


def _weigh(
    op: Op, below: tuple[str, ...], asked: tuple[str, ...], *, ask_secrets: bool
) -> tuple[PathVerdict, str]:
    """Judged by where it leads, and by what it is called: a link `.git` is red as well."""
    if op in WRITES:
        reason = danger_of(below) or danger_of(asked)
        return ("ask_danger", reason) if reason else ("ask", "")
    if op == "read" and ask_secrets and (reason := secret_of(below) or secret_of(asked)):
        return "ask", reason
    return "allow", ""


def _check_kind(question: _Question, spelled: Spelled, mode: int) -> None:
    kind = stat.S_IFMT(mode)
    if not mode:
        if question.op not in WRITES:
            raise question.wrong("does not exist", "missing")
        if spelled.folder and question.op != "mkdir":
            raise question.wrong("ends in a separator, so it can only be a folder")
    elif kind == stat.S_IFDIR:
        if question.op in {"read", "write", "create"}:
            raise question.wrong("is a folder", "folder")
    elif kind != stat.S_IFREG:
        raise question.wrong(f"is {_KINDS.get(kind, 'not a regular file')}, not a regular file")
    elif spelled.folder or question.op in {"list", "mkdir"}:
        raise question.wrong("is a file, not a folder")


def _check_new(question: _Question, found: Walked) -> None:
    if question.op == "create" and found.size:
        raise question.wrong("exists already and is not empty")

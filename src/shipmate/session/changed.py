"""A session's changes as one diff: from before its first change of a file to what is there now.

What tools wrote is in the transcript (`ToolResult.written`); what commands changed in other files
is not, as nobody recorded what was there before.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from msgspec import Struct, structs

from shipmate.errors import NotFoundError
from shipmate.protocol import AnyBlock, FileChange, FileWritten, ToolResult, User
from shipmate.tools.contents import MAX_KEPT, kept
from shipmate.tools.diffs import file_change
from shipmate.tools.files import (
    NotThereError,
    check_regular,
    opened,
    read_descriptor,
    real_path,
    sha256,
)
from shipmate.tools.listing import walk
from shipmate.tools.tool import ToolError, Workspace

MAX_LINES = 20_000
"""Lines of hunks of all files; of those after that only the sums are given."""
MAX_WALKED = 20_000
"""Entries that are looked at for files that were moved."""
_TITLE = 120
_NOT_KEPT = "its content before is not kept: more than 4 MB, a secret in it, or a full disk"


class ChangedFile(Struct, frozen=True):
    file: FileChange
    since: bool
    """On disk is something else than what the session wrote last."""


class ChangedRound(Struct, frozen=True):
    """A message of the user's in whose round files were written."""

    id: str
    text: str
    at: int
    files: int


class Changes(Struct, frozen=True):
    files: list[ChangedFile]
    """By path; those that are as they were before are left out."""
    added: int
    removed: int
    rounds: list[ChangedRound]
    """All of them, whatever round was asked for."""


@dataclass(slots=True)
class Round:
    user: User | None
    writes: list[FileWritten] = field(default_factory=list[FileWritten])


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a comparison: `content` is None where the file is not there; `fault` says why
    it is not known."""

    content: bytes | None = None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class _Touched:
    """A file from its first write to its last."""

    path: str
    before: str
    after: str
    was: str = ""


def rounds_of(blocks: Iterable[AnyBlock]) -> list[Round]:
    """The rounds in which files were written, by place; what sub-agents wrote is in them."""
    rounds = [Round(None)]
    for block in blocks:
        if isinstance(block, User) and not (block.parent or block.steers):
            rounds.append(Round(block))
        elif isinstance(block, ToolResult):
            rounds[-1].writes += block.written
    return [one for one in rounds if one.writes]


def changes(
    blocks: Iterable[AnyBlock], work: Workspace, *, wanted: str = "", now: bool = True
) -> Changes:
    """Of the whole session, or of the round that the message `wanted` began. `now`: compared
    with what is on disk; else with what the session wrote last. It asks the disk and compares:
    run it off the event loop's thread."""
    rounds = rounds_of(blocks)
    chosen = [one for one in rounds if not wanted or (one.user and one.user.id == wanted)]
    if wanted and not chosen:
        raise NotFoundError(f"No round of this session that changed files is {wanted!r}.")
    touched = _touched(write for one in chosen for write in one.writes)
    if now and not wanted:
        found = [_compared(work, one) for one in _moved(work, touched)]
    else:
        found = [_recorded(work, one) for one in touched]
    files = _bounded([one for one in found if one is not None])
    return Changes(
        files=files,
        added=sum(one.file.added for one in files),
        removed=sum(one.file.removed for one in files),
        rounds=[_shown(one) for one in rounds if one.user],
    )


def _shown(one: Round) -> ChangedRound:
    assert one.user is not None  # noqa: S101 - the caller has asked
    text = one.user.text.strip().partition("\n")[0]
    text = text if len(text) <= _TITLE else f"{text[:_TITLE]}…"
    return ChangedRound(one.user.id, text, one.user.at, len({w.path for w in one.writes}))


def _touched(writes: Iterable[FileWritten]) -> list[_Touched]:
    first: dict[str, FileWritten] = {}
    last: dict[str, FileWritten] = {}
    for write in writes:
        first.setdefault(write.path, write)
        last[write.path] = write
    return [_Touched(path, first[path].before, last[path].after) for path in sorted(first)]


# --- moved files ---------------------------------------------------------------------------


def _moved(work: Workspace, touched: Sequence[_Touched]) -> list[_Touched]:
    """With the new places of files that are gone, where the same content now is elsewhere: a
    file that the session wrote, or one that a command moved."""
    gone = [one for one in touched if _disk(work, one.path) == _Side()]
    if not gone:
        return list(touched)
    here = {one.after: one for one in touched if not one.before and one not in gone}
    result = [one for one in touched if one not in gone]
    lost: list[_Touched] = []
    for one in gone:
        new = here.pop(one.before, None) or here.pop(one.after, None)
        if new is None:
            lost.append(one)
            continue
        result.remove(new)
        result.append(replace(new, before=one.before, was=one.path))
    elsewhere = _elsewhere(work, lost, {one.path for one in touched})
    for one in lost:
        path = elsewhere.get(one.after, "")
        result.append(replace(one, path=path, was=one.path) if path else one)
    return sorted(result, key=lambda one: one.path)


def _elsewhere(work: Workspace, lost: Sequence[_Touched], known: set[str]) -> dict[str, str]:
    """Paths of files that no tool wrote, by the wanted content they have."""
    contents = {one.after: _kept(work, one.after).content for one in lost}
    sizes = {len(content) for content in contents.values() if content}
    found: dict[str, str] = {}
    if not sizes:
        return found
    for count, entry in enumerate(walk(work, "").entries("")):
        if count > MAX_WALKED or len(found) == len(contents):
            break
        if not entry.file or entry.relative in known or not _sized(work, entry.relative, sizes):
            continue
        side = _disk(work, entry.relative)
        digest = sha256(side.content) if side.content else ""
        if digest in contents:
            found.setdefault(digest, entry.relative)
    return found


def _sized(work: Workspace, path: str, sizes: set[int]) -> bool:
    try:
        return os.lstat(work.root / path).st_size in sizes
    except OSError:
        return False


# --- comparing -----------------------------------------------------------------------------


def _compared(work: Workspace, one: _Touched) -> ChangedFile | None:
    """With what is on disk now; None where it is what it was."""
    disk = _disk(work, one.path)
    digest = "" if disk.content is None else sha256(disk.content)
    if digest == one.before and not disk.fault and not one.was:
        return None
    file = _file(one, _kept(work, one.before), disk)
    return ChangedFile(file, since=bool(disk.fault) or digest != one.after)


def _recorded(work: Workspace, one: _Touched) -> ChangedFile | None:
    """With what the session wrote last."""
    if one.before == one.after:
        return None
    return ChangedFile(_file(one, _kept(work, one.before), _kept(work, one.after)), since=False)


def _file(one: _Touched, before: _Side, after: _Side) -> FileChange:
    fault = before.fault or after.fault
    if fault:
        change = "modify" if one.before else "create"
        return FileChange(path=one.path, change=change, was=one.was, note=fault)
    gone = after.content is None
    made = file_change(one.path, before.content, after.content or b"")
    if gone:
        return structs.replace(made, change="delete")
    if one.was and one.before:
        return structs.replace(made, change="rename", was=one.was)
    return made


def _kept(work: Workspace, digest: str) -> _Side:
    if not digest:
        return _Side()
    content = kept(work.files, work.session, digest) if work.files else None
    return _Side(fault=_NOT_KEPT) if content is None else _Side(content)


def _disk(work: Workspace, path: str) -> _Side:
    try:
        _, relative = real_path(work, path, "read")
        with opened(work.root, relative, os.O_RDONLY) as descriptor:
            if check_regular(descriptor, path).st_size > MAX_KEPT:
                return _Side(fault="it is now larger than 4 MB: not compared")
            return _Side(read_descriptor(descriptor, MAX_KEPT))
    except (NotThereError, FileNotFoundError):
        return _Side()
    except ToolError as error:
        return _Side(fault=str(error))
    except OSError as error:
        return _Side(fault=f"it cannot be read: {error.strerror}")


def _bounded(files: Sequence[ChangedFile]) -> list[ChangedFile]:
    left = MAX_LINES
    result: list[ChangedFile] = []
    for one in files:
        left -= sum(len(hunk.lines) for hunk in one.file.hunks)
        if left < 0:
            note = "; ".join(filter(None, (one.file.note, "too much to show beside the others")))
            one = ChangedFile(structs.replace(one.file, hunks=(), note=note), one.since)  # noqa: PLW2901
        result.append(one)
    return result

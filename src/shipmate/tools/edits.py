"""Edits of a text file: bytes in, bytes out. Bytes outside an edit never change."""

from collections.abc import Sequence
from dataclasses import dataclass

from shipmate.tools.matching import Places, find_places
from shipmate.tools.nearest import nearest
from shipmate.tools.source import Source, read_source
from shipmate.tools.tool import ToolError

_NAMED = 20
"""Line numbers given in a message."""


class NotFoundInFileError(ToolError):
    """The text of an edit stands nowhere in the file."""


@dataclass(frozen=True, slots=True)
class Edit:
    old: str
    new: str
    everywhere: bool = False
    """Replace each place; otherwise there must be exactly one."""


@dataclass(frozen=True, slots=True)
class Edited:
    data: bytes
    lines: tuple[int, ...]
    """Line of each place, in the file as it was before this edit."""
    how: str = ""
    """What differed, when the match was not exact."""


def apply_edit(data: bytes, edit: Edit) -> Edited:
    """Apply one edit; ToolError that says where to look, when it does not apply."""
    old, new = edit.old.replace("\r\n", "\n"), edit.new.replace("\r\n", "\n")
    _check(edit, old, new)
    source = read_source(data)
    found = find_places(source.view, old, new, everywhere=edit.everywhere)
    if not found.places:
        raise NotFoundInFileError(_not_found(source, old))
    if len(found.places) > 1 and (found.how or not edit.everywhere):
        raise ToolError(_ambiguous(source, found))
    lines = tuple(source.lines_of(found.at))
    places = [(place.start, place.end, place.new) for place in found.places]
    return Edited(source.splice(places), lines, found.how)


def apply_edits(data: bytes, edits: Sequence[tuple[str, Edit]]) -> tuple[bytes, list[Edited]]:
    """Apply named edits in order, each on the result of the one before.

    All or none: ToolError that reports each failure by its name.
    """
    results: list[Edited] = []
    faults: list[str] = []
    now = data
    for name, edit in edits:
        try:
            done = apply_edit(now, edit)
        except NotFoundInFileError as error:
            faults.append(f"{name}: {_overlap(data, now, edit)}{error}")
        except ToolError as error:
            faults.append(f"{name}: {error}")
        else:
            results.append(done)
            now = done.data
    if faults:
        raise ToolError("\n".join(faults))
    return now, results


def _check(edit: Edit, old: str, new: str) -> None:
    if not old:
        raise ToolError(
            "oldString is empty, so it names no place. Give the text to replace; "
            "to create a file use create_file, to write it whole use write_file."
        )
    if edit.old == edit.new:
        raise ToolError("oldString and newString are the same: nothing would change.")
    if old == new:
        raise ToolError(
            "oldString and newString differ in line ends only, and an edit keeps the line ends "
            "of the file. To change those use a command (`unix2dos`, `sed`)."
        )


def _not_found(source: Source, old: str) -> str:
    text = "oldString was not found."
    if close := nearest(source.view, old):
        return f"{text} {close}"
    return f"{text} Nothing in it comes close; read the file again."


def _ambiguous(source: Source, found: Places) -> str:
    lines = list(dict.fromkeys(source.lines_of(found.at[:_NAMED])))
    more = ", …" if len(found.at) > _NAMED else ""
    named = f"line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))}{more}"
    how = f" ({found.how})" if found.how else ""
    advice = "Add the lines around it until only one place fits"
    if not found.how:
        advice += ", or set replaceAll to change each of them"
    return f"oldString has {len(found.at)} matches{how}, {named}. {advice}."


def _overlap(before: bytes, now: bytes, edit: Edit) -> str:
    """An edit that would have applied, had another one not changed the same text first."""
    if now == before:
        return ""
    try:
        lines = apply_edit(before, edit).lines
    except ToolError:
        return ""
    return (
        f"it overlaps an edit before it, which changed the text at line {lines[0]} already "
        "(each edit is applied to the result of the ones before). "
    )

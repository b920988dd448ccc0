"""A change to files of the project: computed, shown, and carried out just as it was shown.

`plan_*` compute without changing anything; a judge shows the plan. To carry it out it is
computed again while the files are held, and anything that differs from what was approved
refuses. All of it blocks; `tools.read_write` runs it off the event loop's thread.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from shipmate.protocol import BlockedDetail, DiffDetail, FileWritten
from shipmate.safety.paths import Op, PathDecision
from shipmate.safety.rules.rule import folders
from shipmate.safety.verdict import Level, Subject, Verdict
from shipmate.tools.change import Change, MakePlan, Plan, chosen
from shipmate.tools.contents import keep
from shipmate.tools.edits import Edit, apply_edits
from shipmate.tools.files import decide, file_errors, sha256, stamp_of
from shipmate.tools.replacing import (
    Target,
    check_writable,
    locked,
    make_folders,
    read_target,
    remove_target,
    write_target,
)
from shipmate.tools.source import in_the_style_of
from shipmate.tools.tool import ToolContext, ToolError, Workspace

MAX_EDITED = 20 * 1024 * 1024
"""Bytes of a file before an edit or an overwrite. Showing the diff of so large a file takes
0.6 s and 150 MB of memory (measured)."""
_NAMED = 20


class PathRefusedError(ToolError):
    """A path that nobody can approve."""


# --- plans ---------------------------------------------------------------------------------


def plan_folder(work: Workspace, path: str) -> Plan:
    place = _decided(work, path, "mkdir")
    said = f"{place.relative}/ exists already." if place.exists else f"Created {place.relative}/."
    return [Change(place, path, None, None, (said,))]


def plan_content(work: Workspace, path: str, content: str, *, new: bool) -> Plan:
    """A file written whole; `new`: only where there is none, or an empty one."""
    place = _decided(work, path, "create" if new else "write")
    before = _content(work, place)
    _check_seen(place, before, work.stamp(place.real))
    after = in_the_style_of(before, content)
    change = Change(place, path, before, after, whole=True)
    return [replace(change, said=(_written(change),))]


def plan_bytes(work: Workspace, path: str, content: bytes) -> Plan:
    """A file made of bytes that are no text of the model's."""
    place = _decided(work, path, "write")
    return [Change(place, path, _content(work, place), content, whole=True)]


def plan_edits(work: Workspace, edits: Sequence[tuple[str, Edit]], *, several: bool) -> Plan:
    """Edits of files (path and edit), in order, each on the result of the one before.

    `several`: failures are reported with the index of their edit.
    """
    files: dict[str, tuple[PathDecision, str, list[tuple[str, Edit]]]] = {}
    faults: list[str] = []
    for index, (path, edit) in enumerate(edits):
        name = f"replacements[{index}] ({path})" if several else path
        try:
            place = _decided(work, path, "write")
        except PathRefusedError:
            raise
        except ToolError as error:
            faults.append(f"{name}: {error}")
        else:
            files.setdefault(place.relative, (place, path, []))[2].append((name, edit))
    plan: list[Change] = []
    for place, path, named in files.values():
        try:
            plan.append(_edited(work, place, path, named))
        except ToolError as error:
            faults.append(str(error))
    if faults:
        untouched = "\nNothing was changed, in any file." if several else ""
        raise ToolError("\n".join(faults) + untouched)
    return plan


def _edited(
    work: Workspace, place: PathDecision, path: str, edits: Sequence[tuple[str, Edit]]
) -> Change:
    before = _content(work, place)
    if before is None:
        raise ToolError(f"{edits[0][0]}: there is no such file; create_file makes a new one.")
    after, done = apply_edits(before, edits)
    said = [_replaced(place.relative, one.lines, one.how) for one in done]
    return Change(place, path, before, after, tuple(said))


def _decided(work: Workspace, path: str, op: Op) -> PathDecision:
    decision = decide(work, path, op)
    if decision.verdict == "deny":
        raise PathRefusedError(decision.reason)
    if decision.verdict == "error":
        raise ToolError(decision.reason)
    return decision


def _content(work: Workspace, place: PathDecision) -> bytes | None:
    target = Target(work.root, place.relative)
    check_writable(target)
    return read_target(target, MAX_EDITED)


def _check_seen(place: PathDecision, before: bytes | None, seen: str) -> None:
    if before is None or not seen:
        return
    with file_errors(place.relative):
        stamp = stamp_of(place.real.stat())
    if seen not in {sha256(before), stamp}:
        raise ToolError(
            f"{place.relative!r} was changed by someone else since you read it, and writing it "
            "whole would undo that. Read it again, or change parts with replace_string_in_file."
        )


def _written(change: Change) -> str:
    path = change.place.relative
    if change.nothing:
        return f"{path} has exactly this content already; nothing was written."
    after = change.after or b""
    lines = after.count(b"\n") + (not after.endswith(b"\n") and bool(after))
    verb = "Created" if change.before is None else "Wrote"
    return f"{verb} {path}: {lines} {'line' if lines == 1 else 'lines'}, {len(after):,} bytes."


def _replaced(path: str, lines: Sequence[int], how: str) -> str:
    places = "1 place" if len(lines) == 1 else f"{len(lines)} places"
    named = ", ".join(map(str, lines[:_NAMED])) + (", …" if len(lines) > _NAMED else "")
    line = "line" if len(lines) == 1 else "lines"
    return f"Replaced {places} in {path}, {line} {named}" + (f" ({how})." if how else ".")


# --- what the user is shown ----------------------------------------------------------------


def judged(make: MakePlan) -> Verdict:
    """The verdict on a plan. What cannot be done is a ToolError and asks nobody."""
    try:
        plan = make()
    except PathRefusedError as error:
        detail = BlockedDetail(reason=str(error), rule="path")
        return Verdict(Level.REFUSE, str(error), rule="path", details=detail)
    changing = [change for change in plan if not change.nothing]
    paths = [change.place.relative for change in plan]
    touches = tuple(Subject("write", path) for path in paths)
    if not changing:
        return Verdict(Level.ALLOW, binds=binds_of(plan), touches=touches)
    reasons = [c.place.reason for c in changing if c.place.verdict == "ask_danger"]
    return Verdict(
        Level.DANGER if reasons else Level.ASK,
        "; ".join(dict.fromkeys(reasons)),
        rule="path" if reasons else "",
        title=_title(changing),
        details=DiffDetail(files=tuple(change.shown() for change in changing)),
        binds=binds_of(plan),
        bypassable=not reasons,
        touches=touches,
        covers=touches,
        suggested=folders(paths),
    )


def binds_of(plan: Plan) -> dict[str, str]:
    """What an approval of the plan is bound to."""
    return {str(change.place.real): change.bound for change in plan}


def _title(plan: Plan) -> str:
    if len(plan) > 1:
        return f"Edit {len(plan)} files: " + ", ".join(change.place.relative for change in plan)
    (change,) = plan
    verb = "Create" if change.before is None else "Edit"
    what = "folder " if change.after is None else ""
    link = f" (where {change.asked} leads)" if change.place.through_link else ""
    return f"{verb} {what}{change.place.relative}{link}"


# --- carrying out --------------------------------------------------------------------------


def carry_out(ctx: ToolContext, paths: Iterable[tuple[str, Op]], make: MakePlan) -> Plan:
    """Make the plan again with its files held, compare, write. All files or none.

    `paths` are those the plan will touch; returns what was done.
    """
    places = [_decided(ctx.work, path, op).real for path, op in paths]
    with locked(places):
        plan = make()
        _check_bound(ctx.binds, plan, places)
        if ctx.hunks is not None:
            plan = chosen(plan, ctx.hunks)
        done: list[Change] = []
        try:
            for change in plan:
                if not change.nothing:
                    _write(ctx.work, change)
                    done.append(change)
        except ToolError as error:
            raise ToolError(f"{error}{_undone(ctx.work, done)}") from error
        for change in plan:
            _remember(ctx.work, change)
        return plan


def _check_bound(binds: Mapping[str, str], plan: Plan, places: Sequence[object]) -> None:
    now = binds_of(plan)
    moved = any(change.place.real not in places for change in plan)
    if moved or (binds and dict(binds) != now):
        changed = [path for path in now if binds.get(path) != now[path]]
        raise ToolError(
            f"Nothing was written: {', '.join(changed) or 'the place'} changed since this call "
            "was approved. Read it again and make the call anew."
        )


def _write(work: Workspace, change: Change) -> None:
    if change.after is None:
        make_folders(work.root, change.place.relative)
        return
    for content in (change.before, change.after):
        if content is not None:
            keep(work.files, work.session, content)
    write_target(Target(work.root, change.place.relative), change.after, change.before)


def _undone(work: Workspace, done: Sequence[Change]) -> str:
    """Take back what was written before a later file of the same call failed."""
    kept: list[str] = []
    for change in reversed(done):
        target = Target(work.root, change.place.relative)
        try:
            if change.before is None:
                remove_target(target, change.after or b"")
            else:
                write_target(target, change.before, change.after)
        except ToolError:
            kept.append(change.place.relative)
    if kept:
        return f" These were written before, and could not be taken back: {', '.join(kept)}."
    return " What was written before was taken back." if done else ""


def _remember(work: Workspace, change: Change) -> None:
    """What the model wrote it knows; an edit of what it has not seen whole tells it nothing."""
    if change.after is None:
        return
    if not change.nothing:
        done = FileWritten(
            path=change.place.relative, before=change.bound, after=sha256(change.after)
        )
        work.written.append(done)
    real, knew = change.place.real, work.stamp(change.place.real)
    if not change.partly and (change.whole or knew == change.bound):
        work.note(real, sha256(change.after))
    elif not change.nothing:
        work.note(real)

"""What a change does to a file, line by line, as an approval shows it. Always bounded."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from msgspec import structs

from shipmate.protocol import FileChange, Hunk
from shipmate.tools.decode import Text, decode, kind_of

CONTEXT = 3
MAX_COMPARED = 3000
"""Lines on either side that are compared one by one (0.3 s at worst, 2 cores of a small server);
more are shown as taken out and put in."""
MAX_SHOWN = 2000
"""Lines of all hunks of a file."""
MAX_LINE = 2000
"""Characters of a line."""


@dataclass(frozen=True, slots=True)
class _Step:
    """`old[a:b]` becomes `new[c:d]`; the same when `kept`."""

    kept: bool
    a: int
    b: int
    c: int
    d: int


@dataclass(frozen=True, slots=True)
class _Diff:
    """Two contents as lines, and the steps from one to the other."""

    old: Text
    new: Text
    old_lines: list[str]
    new_lines: list[str]
    steps: list[_Step]
    cut: bool
    """It was too much to compare."""


def file_change(path: str, before: bytes | None, after: bytes) -> FileChange:
    """The change of one file; `before` is None when there was none. `path` is relative."""
    change = "create" if before is None else "modify"
    diff = _compared(before or b"", after)
    if diff is None:
        binary = after if decode(after) is None else before or b""
        note = f"{kind_of(binary)}, {len(after):,} bytes: not shown"
        return FileChange(path=path, change=change, note=note)
    old_lines, new_lines, steps = diff.old_lines, diff.new_lines, diff.steps
    hunks, shown_all = _hunks(diff)
    if _apart(diff, before or b"", after):
        hunks = tuple(structs.replace(hunk, id=_id(path, hunk)) for hunk in hunks)
    if not shown_all and hunks:  # the last one is not whole
        hunks = (*hunks[:-1], structs.replace(hunks[-1], id=""))
    long = any(len(line) > MAX_LINE for line in (*old_lines, *new_lines))
    notes = _notes(before, diff.old, diff.new)
    notes += ["the diff is cut"] * (diff.cut or not shown_all) + ["long lines are cut"] * long
    return FileChange(
        path=path,
        change=change,
        added=sum(step.d - step.c for step in steps if not step.kept),
        removed=sum(step.b - step.a for step in steps if not step.kept),
        hunks=hunks,
        note="; ".join(notes),
    )


def accepted(path: str, before: bytes | None, after: bytes, ids: Collection[str]) -> bytes | None:
    """The content with those hunks of `file_change` alone; None when none of them is in it.
    Bytes outside them are those of `before`."""
    shown = file_change(path, before, after).hunks
    diff = _compared(before or b"", after)
    chosen = [hunk.id in ids for hunk in shown]
    if diff is None or not any(chosen):
        return None
    taken = {
        step
        for group, yes in zip(_groups(diff.steps), chosen, strict=False)
        for step in group
        if yes and not step.kept
    }
    old, new = _raw(before or b""), _raw(after)
    return b"".join(
        line
        for step in diff.steps
        for line in (new[step.c : step.d] if step in taken else old[step.a : step.b])
    )


def _compared(before: bytes, after: bytes) -> _Diff | None:
    """None where one of them is no text."""
    old, new = decode(before), decode(after)
    if old is None or new is None:
        return None
    old_lines, new_lines = _lines(old.text), _lines(new.text)
    return _Diff(old, new, old_lines, new_lines, *_steps(old_lines, new_lines))


def _apart(diff: _Diff, before: bytes, after: bytes) -> bool:
    """Whether hunks can be taken one without the other: lines are lines of bytes, too, and what
    is shown as kept is kept to the byte."""
    old, new = _raw(before), _raw(after)
    if len(old) != len(diff.old_lines) or len(new) != len(diff.new_lines):
        return False
    kept = (step for step in diff.steps if step.kept)
    return all(old[step.a : step.b] == new[step.c : step.d] for step in kept)


def _raw(data: bytes) -> list[bytes]:
    """Lines with their ends."""
    lines = data.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _id(path: str, hunk: Hunk) -> str:
    """The same for the same hunk of the same change."""
    text = "\n".join((path, f"{hunk.old_start},{hunk.new_start}", *hunk.lines))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]


def _lines(text: str) -> list[str]:
    """Without their ends, which the notes speak of; a last line without end is a line."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if not lines[-1] else lines


def _steps(old: Sequence[str], new: Sequence[str]) -> tuple[list[_Step], bool]:
    """What is kept and what changes; and whether it was too much to compare."""
    most = min(len(old), len(new))
    head = next((i for i in range(most) if old[i] != new[i]), most)
    most -= head
    tail = next((i for i in range(most) if old[-1 - i] != new[-1 - i]), most)
    end, stop = len(old) - tail, len(new) - tail
    steps = [_Step(kept=True, a=0, b=head, c=0, d=head)]
    cut = max(end, stop) - head > MAX_COMPARED and min(end, stop) > head
    if cut:
        steps.append(_Step(kept=False, a=head, b=end, c=head, d=stop))
    else:
        matcher = SequenceMatcher(None, old[head:end], new[head:stop], autojunk=False)
        steps += [
            _Step(tag == "equal", head + a, head + b, head + c, head + d)
            for tag, a, b, c, d in matcher.get_opcodes()
        ]
    return [*steps, _Step(kept=True, a=end, b=len(old), c=stop, d=len(new))], cut


def _hunks(diff: _Diff) -> tuple[tuple[Hunk, ...], bool]:
    """Changes with the lines around them; and whether all of them are in, whole."""
    hunks: list[Hunk] = []
    left = MAX_SHOWN
    for group in _groups(diff.steps):
        lines = [line for step in group for line in _shown(diff.old_lines, diff.new_lines, step)]
        first = group[0]
        kept = tuple(lines[:left])
        if kept:
            hunks.append(Hunk(old_start=first.a + 1, new_start=first.c + 1, lines=kept))
        left -= len(lines)
        if left < 0:
            return tuple(hunks), False
    return tuple(hunks), True


def _groups(steps: Sequence[_Step]) -> list[list[_Step]]:
    """Changes that stand near each other, with up to `CONTEXT` kept lines before and after."""
    groups: list[list[_Step]] = []
    before: list[_Step] = []
    for step in steps:
        if not step.kept:
            if before or not groups:
                groups.append(before)
            groups[-1].append(step)
            before = []
            continue
        size = step.b - step.a
        if groups and size <= 2 * CONTEXT and step is not steps[-1]:
            groups[-1].append(step)
            continue
        if groups:
            groups[-1].append(_part(step, 0, min(size, CONTEXT)))
        before = [_part(step, max(0, size - CONTEXT), size)]
    return groups


def _part(step: _Step, start: int, end: int) -> _Step:
    return _Step(True, step.a + start, step.a + end, step.c + start, step.c + end)


def _shown(old: Sequence[str], new: Sequence[str], step: _Step) -> list[str]:
    if step.kept:
        return [" " + _clipped(line, 0) for line in old[step.a : step.b]]
    pairs = list(zip(old[step.a : step.b], new[step.c : step.d], strict=False))
    shared = [_shared(a, b) for a, b in pairs]
    out = [("-", line) for line in old[step.a : step.b]]
    put = [("+", line) for line in new[step.c : step.d]]
    return [
        sign + _clipped(line, shared[i] if i < len(shared) else 0)
        for lines in (out, put)
        for i, (sign, line) in enumerate(lines)
    ]


def _shared(old: str, new: str) -> int:
    """Where two long lines begin to differ."""
    if max(len(old), len(new)) <= MAX_LINE:
        return 0
    most = min(len(old), len(new))
    return next((i for i in range(most) if old[i] != new[i]), most)


def _clipped(line: str, around: int) -> str:
    """A long line, cut so that what changes in it is seen."""
    if len(line) <= MAX_LINE:
        return line
    start = max(0, min(around - MAX_LINE // 4, len(line) - MAX_LINE))
    end = start + MAX_LINE
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def _notes(before: bytes | None, old: Text, new: Text) -> list[str]:
    """What lines do not show."""
    notes: list[str] = []
    name = _encoding(new)
    if before and _encoding(old) != name:
        notes.append(f"the encoding changes from {_encoding(old)} to {name}")
    ends = _ends(new.text)
    if before and (was := _ends(old.text)) and ends and was != ends:
        notes.append(f"line ends change from {was} to {ends}")
    if before and new.text and old.text.endswith("\n") != new.text.endswith("\n"):
        gone = old.text.endswith("\n")
        notes.append(f"the line end after the last line is {'taken out' if gone else 'added'}")
    return notes


def _encoding(text: Text) -> str:
    return text.encoding + (" with BOM" if text.bom else "")


def _ends(text: str) -> str:
    total, returns = text.count("\n"), text.count("\r\n")
    if not total:
        return ""
    return "CR LF" if returns == total else "mixed" if returns else "LF"

"""What a change does to a file, line by line, as an approval shows it. Always bounded."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

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


def file_change(path: str, before: bytes | None, after: bytes) -> FileChange:
    """The change of one file; `before` is None when there was none. `path` is relative."""
    change = "create" if before is None else "modify"
    old, new = decode(before or b""), decode(after)
    if old is None or new is None:
        kind = kind_of(after if new is None else before or b"")
        return FileChange(path=path, change=change, note=f"{kind}, {len(after):,} bytes: not shown")
    old_lines, new_lines = _lines(old.text), _lines(new.text)
    steps, cut = _steps(old_lines, new_lines)
    hunks, shown_all = _hunks(old_lines, new_lines, steps)
    long = any(len(line) > MAX_LINE for line in (*old_lines, *new_lines))
    notes = _notes(before, old, new)
    notes += ["the diff is cut"] * (cut or not shown_all) + ["long lines are cut"] * long
    return FileChange(
        path=path,
        change=change,
        added=sum(step.d - step.c for step in steps if not step.kept),
        removed=sum(step.b - step.a for step in steps if not step.kept),
        hunks=hunks,
        note="; ".join(notes),
    )


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


def _hunks(
    old: Sequence[str], new: Sequence[str], steps: Sequence[_Step]
) -> tuple[tuple[Hunk, ...], bool]:
    """Changes with the lines around them; and whether all of them are in."""
    hunks: list[Hunk] = []
    left = MAX_SHOWN
    for group in _groups(steps):
        lines = [line for step in group for line in _shown(old, new, step)]
        first = group[0]
        kept = tuple(lines[:left])
        if kept:
            hunks.append(Hunk(old_start=first.a + 1, new_start=first.c + 1, lines=kept))
        left -= len(lines)
    return tuple(hunks), left >= 0


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

"""What to say when the text of an edit is not in the file: the place that comes closest."""

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher, get_close_matches

MAX_LINES = 20_000
"""Lines of the file that are looked through for likeness."""
MAX_WANTED = 200
MAX_SHOWN = 30
_REPEATED = 5
"""Places within the wanted lines at which one and the same line is counted."""
_LONG = 200


def nearest(view: str, old: str) -> str:
    """The closest lines with their numbers, against `old`; "" where nothing comes close."""
    lines = view.split("\n")[:MAX_LINES]
    wanted = old.strip("\n").split("\n")[:MAX_WANTED]
    start = _start(lines, wanted)
    if start is None:
        return ""
    first, last = max(start, 0), min(start + len(wanted), len(lines))
    shown = "\n".join(_compared(lines[first:last], wanted, first + 1)[:MAX_SHOWN])
    where = f"line {first + 1}" if last == first + 1 else f"lines {first + 1}-{last}"
    return f"The closest place is {where} (- what the file has, + your oldString):\n{shown}"


def _start(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Where most of the wanted lines stand at their place; else the line most like one."""
    offsets: dict[str, list[int]] = {}
    for offset, line in enumerate(wanted):
        if line.strip():
            offsets.setdefault(line.strip(), []).append(offset)
    votes = Counter(
        number - offset
        for number, line in enumerate(lines)
        for offset in offsets.get(line.strip(), ())[:_REPEATED]
    )
    if votes:
        most = max(votes.values())
        return min(start for start, count in votes.items() if count == most)
    return _alike(lines, offsets)


def _alike(lines: Sequence[str], offsets: dict[str, list[int]]) -> int | None:
    bare = [line.strip()[:_LONG] for line in lines]
    for text in sorted(offsets, key=len, reverse=True)[:3]:
        if found := get_close_matches(text[:_LONG], bare, 1, 0.6):
            return bare.index(found[0]) - offsets[text][0]
    return None


def _compared(theirs: Sequence[str], mine: Sequence[str], number: int) -> list[str]:
    width = len(str(number + len(theirs)))
    shown: list[str] = []
    for tag, a, b, c, d in SequenceMatcher(None, theirs, mine, autojunk=False).get_opcodes():
        sign = " " if tag == "equal" else "-"
        shown += [f"{sign} {number + i:{width}} {theirs[i][:_LONG]}" for i in range(a, b)]
        if tag != "equal":
            shown += [f"+ {'':{width}} {line[:_LONG]}" for line in mine[c:d]]
    return shown

"""Where the text of an edit stands: exactly, else as look-alikes, else apart from white space.

The one matcher of every edit tool. Nothing fuzzier than this is ever taken for a match.
"""

from dataclasses import dataclass

from shipmate.tools.folding import Folded, fold
from shipmate.tools.indents import LineMatch, match_lines, reindented

MAX_TOLERANT = 4 * 1024 * 1024
"""Characters of a file up to which more than the exact text is looked for (0.3 s)."""
_ENOUGH = 1000
"""Places looked for where one only is wanted: a message counts them."""
LOOK_ALIKE = "matched by look-alikes (typographic characters or another Unicode form)"
WHITE_SPACE = "matched apart from white space at line ends or in the indentation"


@dataclass(frozen=True, slots=True)
class Place:
    """`view[start:end]` is to become `new`; what the edit leaves as it is, is not part of it."""

    start: int
    end: int
    new: str


@dataclass(frozen=True, slots=True)
class Places:
    places: tuple[Place, ...] = ()
    how: str = ""
    """What differed, when the match is not exact."""
    at: tuple[int, ...] = ()
    """Where each match begins."""


def find_places(view: str, old: str, new: str, *, everywhere: bool) -> Places:
    """All places of `old` (LF line ends, not empty) in the first way in which it is found.

    For `everywhere` the places do not overlap; otherwise overlapping ones count as well, so
    that a single place is certain.
    """
    if exact := _all(view, old, everywhere=everywhere):
        start, end = _changed(old, new)
        rest = new[start : len(new) - (len(old) - end)]
        return Places(tuple(Place(at + start, at + end, rest) for at in exact), at=tuple(exact))
    if len(view) > MAX_TOLERANT:
        return Places()
    return _look_alikes(view, old, new) or _white_space(view, old, new) or Places()


def _all(text: str, part: str, *, everywhere: bool = False) -> list[int]:
    found: list[int] = []
    step = len(part) if everywhere else 1
    at = text.find(part)
    while at >= 0 and (everywhere or len(found) < _ENOUGH):
        found.append(at)
        at = text.find(part, at + step)
    return found


def _changed(old: str, new: str) -> tuple[int, int]:
    """What of `old` changes: between the beginning and the end it shares with `new`."""
    most = min(len(old), len(new))
    start = next((i for i in range(most) if old[i] != new[i]), most)
    most -= start
    tail = next((i for i in range(most) if old[-1 - i] != new[-1 - i]), most)
    return start, len(old) - tail


def _look_alikes(view: str, old: str, new: str) -> Places | None:
    folded, wanted = fold(view), fold(old)
    found = _all(folded.text, wanted.text)
    if not found:
        return None
    start, end = _changed(old, new)
    while (first := wanted.of(start)) is None:
        start -= 1
    while (last := wanted.of(end)) is None:
        end += 1
    rest = new[start : len(new) - (len(old) - end)]
    spans = [(folded.original(at + first), folded.original(at + last)) for at in found]
    places = tuple(Place(begin, stop, rest) for begin, stop in spans)
    return Places(places, LOOK_ALIKE, tuple(_originals(folded, found)))


def _originals(folded: Folded, places: list[int]) -> list[int]:
    return [folded.original(at) for at in places]


def _white_space(view: str, old: str, new: str) -> Places | None:
    old_lines, new_lines = old.split("\n"), new.split("\n")
    if closed := old.endswith("\n"):
        old_lines.pop()
        if new_lines.pop():
            return None  # lines would be joined: what white space is meant then, is not known
    lines = view.split("\n")
    starts = _starts(lines)
    found = match_lines(lines, old_lines)
    if closed and not new:
        places = [Place(starts[m.first], min(starts[m.last], len(view)), "") for m in found]
    else:
        places = [_rewritten(match, starts, old_lines, new_lines) for match in found]
    at = tuple(starts[match.first] for match in found)
    return Places(tuple(places), WHITE_SPACE, at) if found else None


def _rewritten(match: LineMatch, starts: list[int], old: list[str], new: list[str]) -> Place:
    """Whole lines, without the line end of the last one; unchanged lines stay untouched."""
    most = min(len(old), len(new)) - 1
    head = next((i for i in range(most) if old[i] != new[i]), most)
    tail = next((i for i in range(most - head) if old[-1 - i] != new[-1 - i]), most - head)
    lines = [reindented(line, match.reindent) for line in new[head : len(new) - tail]]
    last = match.last - tail
    return Place(starts[match.first + head], starts[last] - 1, "\n".join(lines))


def _starts(lines: list[str]) -> list[int]:
    """Where each line begins, and one past the line end after the last."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return starts

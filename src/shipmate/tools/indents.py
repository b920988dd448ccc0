"""Matching whole lines whatever their indentation and the white space at their ends."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

_BLANK = " \t"
_ENOUGH = 100
"""Places looked for: one only is wanted."""
Reindent = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class LineMatch:
    """Lines `first..last` (from 0, `last` excluded) are what was meant."""

    first: int
    last: int
    reindent: Reindent
    """Turns an indentation as the model wrote it into one as the file has it."""


def match_lines(lines: Sequence[str], old: Sequence[str]) -> list[LineMatch]:
    """Every place where `old` stands, white space at both ends of each line aside."""
    wanted = [line.strip(_BLANK) for line in old]
    if not any(wanted):
        return []
    text = "\n" + "\n".join(line.strip(_BLANK) for line in lines) + "\n"
    part = "\n" + "\n".join(wanted) + "\n"
    found: list[LineMatch] = []
    first = done = 0
    at = text.find(part)
    while at >= 0 and len(found) < _ENOUGH:
        first, done = first + text.count("\n", done, at), at
        if rule := _rule(old, lines[first : first + len(wanted)]):
            found.append(LineMatch(first, first + len(wanted), rule))
        at = text.find(part, at + 1)
    return found


def reindented(line: str, rule: Reindent) -> str:
    body = line.lstrip(_BLANK)
    return rule(line[: len(line) - len(body)]) + body if body else line


def _rule(old: Sequence[str], place: Sequence[str]) -> Reindent | None:
    """How the indentations differ, when they differ in one way only: the same for all lines,
    deeper or flatter by the same, or tabs for blanks."""
    pairs = [
        (_indent(mine), _indent(theirs))
        for mine, theirs in zip(old, place, strict=True)
        if mine.strip(_BLANK)
    ]
    mine, theirs = pairs[0]
    more = theirs.removesuffix(mine)
    less = mine.removesuffix(theirs)
    if all(theirs == more + mine for mine, theirs in pairs):
        return lambda indent: more + indent
    if all(mine == less + theirs for mine, theirs in pairs):
        return lambda indent: indent.removeprefix(less)
    return _tabs(pairs)


def _tabs(pairs: Sequence[tuple[str, str]]) -> Reindent | None:
    for width in (4, 2, 8, 3):
        blanks = " " * width
        if all(mine.replace(blanks, "\t") == theirs for mine, theirs in pairs):
            return lambda indent, blanks=blanks: indent.replace(blanks, "\t")
        if all(mine.replace("\t", blanks) == theirs for mine, theirs in pairs):
            return lambda indent, blanks=blanks: indent.replace("\t", blanks)
    return None


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(_BLANK))]

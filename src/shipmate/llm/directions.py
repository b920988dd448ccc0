"""`CALL: <agent> <task>`: how a person, or a model without tool calling, calls an agent."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from itertools import zip_longest

_CALL = re.compile(r"^CALL:[ \t]*(\S+)[ \t]*(.*)$", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Direction:
    """A task for an agent, and where in the text it stands."""

    agent: str
    task: str
    start: int


def directions(text: str, known: Collection[str]) -> list[Direction]:
    """The calls in a text: at the start of a line, outside of code fences, of an agent that is
    known. A task goes on to the next call, or to the end of the text."""
    fenced = _fenced(text)
    found = [
        match
        for match in _CALL.finditer(text)
        if match[1] in known and not any(a <= match.start() < b for a, b in fenced)
    ]
    made: list[Direction] = []
    for match, after in zip_longest(found, found[1:]):
        task = text[match.start(2) : after.start() if after else None].strip()
        if task:
            made.append(Direction(match[1], task, match.start()))
    return made


def _fenced(text: str) -> list[tuple[int, int]]:
    """Where the code fences are; one that is not closed goes on to the end."""
    found: list[tuple[int, int]] = []
    opened: re.Match[str] | None = None
    for mark in _FENCE.finditer(text):
        if opened is None:
            opened = mark
        elif mark[1].startswith(opened[1]):
            found.append((opened.start(), mark.end()))
            opened = None
    if opened is not None:
        found.append((opened.start(), len(text)))
    return found

"""The words around what was found, on one line, with the places to mark."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec

from shipmate.database.query import Term
from shipmate.database.words import DENSE, fold

BEFORE, LENGTH = 50, 220
"""Characters of an excerpt: before what was found, and in all."""
_MOST, _NEAR = 50, 64
"""Places of a text that are weighed: of each term, and beside one."""
_SPACED = rf"[^\W_{DENSE}]"
_CAMEL = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
_BEGIN, _END = rf"(?:(?<!{_SPACED})|{_CAMEL})", rf"(?:(?!{_SPACED})|{_CAMEL})"
_BETWEEN, _WITHIN = r"[\W_]{0,9}", "[_'\u2019-]?"


class Excerpt(msgspec.Struct, frozen=True):
    text: str
    """On one line; `…` where it was cut."""
    marks: list[tuple[int, int]]
    """Begin and end of what was found, in UTF-16 code units, as browsers count."""


def _letters() -> dict[str, str]:
    """For each plain letter a class of all that `fold` makes it of."""
    found: dict[str, str] = {}
    for code in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00), *range(0xFF10, 0xFF5B)):
        if len(plain := fold(chr(code))) == 1 and plain.isascii() and plain.isalnum():
            found[plain] = found.get(plain, "") + chr(code)
    return {plain: f"[{plain}{more}]" for plain, more in found.items()}


_CLASSES = _letters()


def excerpt(texts: Iterable[str], terms: Sequence[Term]) -> Excerpt:
    """Of the first text in which most of the terms stand close to each other."""
    patterns = [_pattern(term) for term in terms]
    best, at, source = -1, 0, ""
    for text in texts:
        count, place = _densest(text, patterns)
        if text and count > best:
            best, at, source = count, place, text
    line = _cut(source, at)
    return Excerpt(line, marks(line, terms))


def marks(line: str, terms: Sequence[Term]) -> list[tuple[int, int]]:
    """Where the terms stand in a line, in order, none within another."""
    spans = sorted(m.span() for term in terms for m in _pattern(term).finditer(line))
    found: list[tuple[int, int]] = []
    for start, end in spans:
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        elif end > start:
            found.append((start, end))
    if line.isascii():
        return found
    return [(_units(line[:start]), _units(line[:end])) for start, end in found]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@lru_cache(1024)
def _pattern(term: Term) -> re.Pattern[str]:
    parts = _BETWEEN.join("".join(map(_letter, part)) for part in term.shown)
    begin = _BEGIN if re.match(_SPACED, term.shown[0]) else ""
    end = _END if not term.prefix and re.match(_SPACED, term.shown[-1][-1]) else ""
    found = rf"{begin}(?i:{parts}){end}"
    if term.whole:
        whole = _WITHIN.join(map(_letter, term.whole))
        found += rf"|{_BEGIN}(?i:{whole}){'' if term.prefix else _END}"
    return re.compile(found)


def _letter(char: str) -> str:
    accent = "[\u0300-\u036f]*" if char.isalpha() and not re.match(f"[{DENSE}]", char) else ""
    return _CLASSES.get(char, re.escape(char)) + accent


def _densest(text: str, patterns: Sequence[re.Pattern[str]]) -> tuple[int, int]:
    """How many of them stand within one excerpt, and where that begins."""
    places: list[tuple[int, int]] = []
    for number, pattern in enumerate(patterns):
        for count, match in enumerate(pattern.finditer(text)):
            if count == _MOST:
                break
            places.append((match.start(), number))
    places.sort()
    best, at = 0, 0
    for index, (start, _) in enumerate(places):
        near = {n for place, n in places[index : index + _NEAR] if place - start < LENGTH - BEFORE}
        if len(near) > best:
            best, at = len(near), start
        if best == len(patterns):
            break
    return best, at


def _cut(text: str, at: int) -> str:
    start, end = max(0, at - BEFORE), max(0, at - BEFORE) + LENGTH
    if start > 0 and (blank := text.find(" ", start, at)) >= 0:
        start = blank + 1
    while start < len(text) and unicodedata.combining(text[start]):
        start += 1
    line = re.sub(r"\s+", " ", text[start:end]).strip()
    return f"{'…' if start else ''}{line}{'…' if end < len(text) else ''}"

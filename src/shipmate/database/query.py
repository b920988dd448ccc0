"""What people type into a search field, as terms. Every text is a query; none is an error.

    login loop        both, in any order; each finds words that begin with it, too
    "login loop"      exactly these words, side by side
    conf*             words that begin with it, however short it is
    foo:bar  src/a.py what is written without blanks stands side by side

Words of one or two letters find only themselves, so that `C` or `a_b` does not find all there is.
There are no operators: `AND`, `NEAR`, `-x` and brackets are words, or nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from shipmate.database.words import fold, runs

MOST_CHARACTERS = 1000
MOST_TERMS = 32
"""What follows them is not looked for."""
_PREFIXED = 3
"""Letters from which on a word finds those that begin with it."""
_PIECES = re.compile(
    r'["\u201c\u201d\u201e]([^"\u201c\u201d\u201e]*)["\u201c\u201d]|([^\s"\u201c\u201d\u201e]+)'
)


@dataclass(frozen=True, slots=True)
class Term:
    parts: tuple[str, ...]
    """Words that stand side by side."""
    prefix: bool = False
    """The last one may go on."""
    whole: str = ""
    """What finds it, too: an identifier without its signs."""
    shown: tuple[str, ...] = ()
    """What of it is marked in a text: as `parts`, characters of dense scripts in one."""


def parse(text: str) -> tuple[Term, ...]:
    """The terms of a query, each of which is to be found. None: there is nothing to look for."""
    return tuple(islice(dict.fromkeys(_terms(text)), MOST_TERMS))


def _terms(text: str) -> Iterator[Term]:
    for piece in _PIECES.finditer(text):
        quoted, plain = piece[1], piece[2]
        term = _term(quoted, quoted=True) if quoted is not None else _term(plain, quoted=False)
        if term is not None:
            yield term


def _term(text: str, *, quoted: bool) -> Term | None:
    read = [(run[0], words) for run, words in runs(text) if words.parts]
    if not read:
        return None
    found = [words for _, words in read]
    shown = tuple(
        part for run, words in read for part in ((fold(run),) if words.dense else words.parts)
    )
    parts = [part for words in found for part in words.parts]
    last = found[-1]
    if last.dense:
        if len(last.parts) > 1:
            parts.pop()  # within a text, another pair stands in its place
        return Term(tuple(parts), prefix=len(last.parts) == 1, shown=shown)
    end = parts[-1]
    prefix = not quoted and (
        text.rstrip().endswith("*") or (len(end) >= _PREFIXED and end.isalnum())
    )
    alone = not quoted and len(found) == 1
    return Term(tuple(parts), prefix, last.wholes[0] if alone and last.wholes else "", shown)

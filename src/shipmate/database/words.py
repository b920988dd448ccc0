"""Text as the words it is found by: one form for what is kept and for what is looked for.

Letters lose their case and accents. Parts of identifiers are words (`getUserName`, `user_name`,
`foo-bar`), and so is the whole of one without its signs (`username`). Scripts that put no blanks
between words become overlapping pairs of characters, the last one alone: so one character finds
as two do. Pictures (emoji) are words; other signs part words and are nothing themselves.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3100-\u318f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff"
)
"""Characters of scripts without blanks between words, for a class of a pattern."""
_ACCENT = "\u0300-\u036f"
_PICTURE = "\u2190-\u21ff\u2300-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
_SPACED = rf"(?:[^\W_{DENSE}]|[{_ACCENT}])"
RUN = re.compile(
    rf"(?P<dense>[{DENSE}]+)|(?P<picture>[{_PICTURE}])"
    rf"|(?P<word>{_SPACED}+(?:(?:['\u2019-]|_+){_SPACED}+)*)(?P<signs>\+\+|(?<=\b[A-Za-z])#)?"
)
"""What words come of: characters of a dense script, a picture, a word or an identifier."""
_PARTS = re.compile(rf"{_SPACED}+")
_CAMEL = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BEGINS = 6
"""Parts of an identifier from which on it is found as a whole."""
LONGEST = 64
"""Characters of a word; the rest of a longer one is not found by (it is data, no language)."""


class Words(NamedTuple):
    """The words of one run."""

    parts: tuple[str, ...]
    """In their order; pairs of characters overlap."""
    wholes: tuple[str, ...] = ()
    """An identifier of several parts without its signs, from each part on: `getusername`,
    `username`."""
    dense: bool = False


def fold(text: str) -> str:
    """Without case, accents and widths."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    return unicodedata.normalize("NFC", re.sub(f"[{_ACCENT}]", "", plain))


def runs(text: str) -> Iterator[tuple[re.Match[str], Words]]:
    """Each run of the text, with its words."""
    for run in RUN.finditer(text):
        yield run, _words(run)


def _words(run: re.Match[str]) -> Words:
    if found := run["dense"]:
        chars = fold(found)
        pairs = (chars[at : at + 2] for at in range(len(chars)))
        return Words(tuple(pairs), dense=True)
    if found := run["picture"]:
        return Words((found,))
    word, signs = run["word"], run["signs"] or ""
    if word.isascii() and word.isalnum() and (word.islower() or word.isdigit() or word.istitle()):
        return Words((word.lower()[:LONGEST] + signs,))
    parts = [
        folded[:LONGEST]
        for piece in _PARTS.findall(word)
        for part in _CAMEL.split(piece)
        if (folded := fold(part))
    ]
    if not parts:
        return Words(())
    begins = range(min(len(parts) - 1, _BEGINS))
    wholes = tuple("".join(parts[at:])[:LONGEST] for at in begins)
    parts[-1] += signs
    return Words(tuple(parts), wholes)


def indexed(text: str) -> tuple[str, str]:
    """The parts of a text with blanks between, in order; and the wholes, each once."""
    parts: list[str] = []
    wholes: dict[str, None] = {}
    for _, words in runs(text):
        parts += words.parts
        wholes |= dict.fromkeys(words.wholes)
    return " ".join(parts), " ".join(wholes)

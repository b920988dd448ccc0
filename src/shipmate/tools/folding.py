"""Text in which look-alikes are one: typographic quotes, dashes, blanks, Unicode forms."""

import re
import unicodedata
from bisect import bisect_left
from dataclasses import dataclass

_LOOK_ALIKES = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys(
        "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f"
        "\u3000",
        " ",
    )
    | {"\u212a": "K", "\u212b": "\u00c5", "\u2126": "\u03a9"}
)
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u093c\u09bc"
    "\u1161-\u1175\u11a8-\u11c2\u1dc0-\u1dff\u20d0-\u20f0\u3099\u309a\ufe20-\ufe2f"
)
_DECOMPOSED = re.compile(f"[^{_MARKS}\n][{_MARKS}]+")


@dataclass(frozen=True, slots=True)
class Folded:
    text: str
    starts: tuple[int, ...] | None
    """Position in the original of each character and of the end; None: they are the same."""

    def original(self, position: int) -> int:
        return position if self.starts is None else self.starts[position]

    def of(self, original: int) -> int | None:
        """Where a position of the original is here; None within a composed character."""
        if self.starts is None:
            return original
        place = bisect_left(self.starts, original)
        return place if self.starts[place] == original else None


def fold(text: str) -> Folded:
    """One character for one, but for a letter with its marks, which becomes one letter."""
    if text.isascii():
        return Folded(text, None)
    text = text.translate(_LOOK_ALIKES)
    parts: list[str] = []
    starts: list[int] = []
    done = 0
    for cluster in _DECOMPOSED.finditer(text):
        letter = unicodedata.normalize("NFC", cluster[0])
        if len(letter) == 1:
            parts += text[done : cluster.start()], letter
            starts += range(done, cluster.start() + 1)
            done = cluster.end()
    if not parts:
        return Folded(text, None)
    starts += range(done, len(text) + 1)
    return Folded("".join([*parts, text[done:]]), tuple(starts))

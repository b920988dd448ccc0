"""The commands of a text that the parser gave up on: split at separators, quotes removed."""

import re
from collections.abc import Iterator

from shipmate.safety.shell.words import ansi_c, braces

TOKEN = re.compile(
    r"""(?P<ansi>\$'(?:\\.|[^'\\])*'?) | (?P<raw>'[^']*'?) | (?P<double>"(?:\\.|[^"\\])*"?)
    | (?P<escape>\\.) | (?P<end>[;|&\n()`]|\$\() | (?P<blank>[ \t]+|\$\{IFS\}|\$IFS)
    | (?P<redirect>\d*[<>]+&?) | (?P<plain>[^\s;|&()`'"\\<>$]+|\$|.)""",
    re.X | re.S,
)
KEYWORDS = frozenset("if then elif else fi do done while until for case esac in { } ! time".split())


def crude_commands(text: str) -> Iterator[list[str]]:
    """Each likely command as its words; words may be wrong, but none is lost."""
    words: list[str] = []
    word: str | None = None
    for match in TOKEN.finditer(text):
        kind, piece = str(match.lastgroup), match[0]
        if kind in {"end", "blank", "redirect"}:
            words += [] if word is None else braces(word)
            word = None
            if kind == "end":
                yield from _command(words)
                words = []
        else:
            word = (word or "") + _plain(kind, piece)
    words += [] if word is None else braces(word)
    yield from _command(words)


def _command(words: list[str]) -> Iterator[list[str]]:
    while words and words[0] in KEYWORDS:
        words = words[1:]
    if words and words[0]:
        yield words


def _plain(kind: str, piece: str) -> str:
    match kind:
        case "ansi":
            return ansi_c(piece[2:].removesuffix("'"))
        case "raw":
            return piece[1:].removesuffix("'")
        case "double":
            return re.sub(r"\\([\\\"$`])", r"\1", piece[1:].removesuffix('"'))
        case "escape":
            return piece[1:]
        case _:
            return piece

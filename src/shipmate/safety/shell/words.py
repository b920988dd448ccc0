"""What the shell makes of the text of a word: escapes, braces, fields."""

import re
from itertools import product

from shipmate.safety.shell.risk import SPLIT

MAX_WORDS = 200
"""More words than this are not made by braces; the word stays as it is."""
SIMPLE = dict(zip("ntrabeEfv\\'\"?", "\n\t\r\a\b\x1b\x1b\f\v\\'\"?", strict=True))
ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|0?([0-7]{1,3})|c(.)|(.))",
    re.S,
)


def ansi_c(text: str) -> str:
    """The inside of `$'…'`, or of an argument of `echo -e` and `printf`."""
    return ESCAPE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    small, four, eight, octal, control, simple = match.groups()
    if digits := small or four or eight:
        code = int(digits, 16)
        return chr(code) if code < 0x110000 else match[0]
    if octal:
        return chr(int(octal, 8) & 0xFF)
    if control:
        return chr(ord(control.upper()) & 0x1F)
    return SIMPLE.get(simple, match[0])


def unescape(text: str) -> str:
    """Unquoted text: a backslash makes the next character an ordinary one."""
    return re.sub(r"\\(.)", r"\1", text, flags=re.S)


def unescape_quoted(text: str) -> str:
    """Text within double quotes: a backslash works before four characters only."""
    return re.sub(r"\\([\\\"$`])", r"\1", text)


def fields(text: str) -> list[str]:
    """The words that unquoted expansions in `text` are split into."""
    return [field for field in text.split(SPLIT) if field] if SPLIT in text else [text]


def braces(text: str) -> list[str]:
    """Brace expansion: `a{b,c}` is `ab` and `ac`, `{1..3}` is `1`, `2`, `3`."""
    for start in (at for at, letter in enumerate(text) if letter == "{"):
        end = _closing(text, start)
        options = _options(text[start + 1 : end]) if end else []
        if end and options:
            tails = braces(text[end + 1 :])
            heads = [inner for option in options for inner in braces(option)]
            if len(heads) * len(tails) > MAX_WORDS:
                return [text]
            return [text[:start] + head + tail for head, tail in product(heads, tails)]
    return [text]


def _closing(text: str, start: int) -> int:
    level = 0
    for at in range(start, len(text)):
        level += (text[at] == "{") - (text[at] == "}")
        if level == 0:
            return at
    return 0


def _options(inside: str) -> list[str]:
    if match := re.fullmatch(r"(-?\d+)\.\.(-?\d+)", inside):
        first, last = int(match[1]), int(match[2])
        if abs(last - first) < MAX_WORDS:
            step = 1 if last >= first else -1
            return [str(number) for number in range(first, last + step, step)]
    if match := re.fullmatch(r"([a-zA-Z])\.\.([a-zA-Z])", inside):
        first, last = sorted((ord(match[1]), ord(match[2])))
        return [chr(code) for code in range(first, last + 1)]
    parts = _split(inside)
    return parts if len(parts) > 1 else []


def _split(inside: str) -> list[str]:
    parts, level, begin = list[str](), 0, 0
    for at, letter in enumerate(inside):
        level += (letter == "{") - (letter == "}")
        if letter == "," and level == 0:
            parts.append(inside[begin:at])
            begin = at + 1
    return [*parts, inside[begin:]]

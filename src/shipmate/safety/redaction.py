"""Takes secrets out of text that leaves: logs, exports, the audit log, results of tools, errors.

Every value that was resolved or stored since the start is known, as it is and as JSON and URLs
spell it; keys of well-known services are recognised by their shape.
"""

import logging
import re
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar
from urllib.parse import quote

import msgspec

GONE = "[secret]"
SHORTEST = 8
"""Shorter values would be found in ordinary words."""
WORD = re.compile(r"[a-z_-]{0,19}|[A-Z_-]{0,19}")
"""What is given to a server that wants no key (`not-needed`), or stands for yes and no."""
MOST = 1_000
"""Secrets that are known at a time; those that were seen longest ago are forgotten first."""
LINE = 65_536
"""Characters of a line that waits for its end."""
HELD = 4_096
"""Characters at the end of a longer line that wait for what follows."""
LONGEST_PEM = 20_000
"""Characters of a private key that wait for its end: 16,384 bits of RSA take 13,000."""

Wanted = TypeVar("Wanted", bound=msgspec.Struct)


class Shape(NamedTuple):
    hint: tuple[str, ...]
    """One of these is in every text that has the shape; looking for them is cheap."""
    pattern: re.Pattern[str]


_START = r"(?:(?<!\w)|(?<=\\[nrt]))"
"""Not within a word; a line end as JSON spells it is none."""
_DIGIT = r"(?=[\w.~+/-]{0,200}\d)"
"""Words of prose and names of styles have the letters of a key, and no digit."""
SHAPES = tuple(
    Shape(hint, re.compile(pattern))
    for hint, pattern in (
        (("sk-",), rf"{_START}sk-{_DIGIT}[\w-]{{16,}}"),
        (("k_live_", "k_test_"), rf"{_START}[rs]k_(?:live|test)_\w{{16,}}"),
        (("sm_",), rf"{_START}sm_[\w-]{{20,}}"),
        (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), rf"{_START}gh[pousr]_\w{{20,}}"),
        (("github_pat_",), rf"{_START}github_pat_\w{{20,}}"),
        (("glpat-",), rf"{_START}glpat-[\w-]{{16,}}"),
        (("xox",), rf"{_START}xox[abeoprs]-[\w-]{{10,}}"),
        (("AKIA", "ASIA"), rf"{_START}A(?:KI|SI)A[0-9A-Z]{{16}}\b"),
        (("AIza",), rf"{_START}AIza[\w-]{{30,}}"),
        (("hf_",), rf"{_START}hf_\w{{20,}}"),
        (("npm_",), rf"{_START}npm_\w{{30,}}"),
        (
            ("eyJ",),
            r"(?:(?<![\w-])|(?<=\\[nrt]))eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}",
        ),
        (("#token=",), r"#token=[\w-]{20,}"),
        (("earer ",), rf"(?<=[Bb]earer ){_DIGIT}[\w.~+/-]{{16,}}=*"),
        (("://",), r"(?<=://)[^\s/?#@:\"'\\<>]*:[^\s/?#@\"'\\<>]+(?=@)"),
        (
            ("PRIVATE KEY-----",),
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?",
        ),
    )
)
_OPEN_PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*-{0,5}[A-Z ]*-{0,5}\Z")
_BORDER = " \t\"',;<>{}"
"""No key that is known by its shape has one of these."""


@dataclass(slots=True)
class _Known:
    """The spellings of each secret, and all of them with the longest first."""

    spellings: OrderedDict[str, tuple[str, ...]] = field(
        default_factory=OrderedDict[str, tuple[str, ...]]
    )
    sorted: tuple[str, ...] = ()

    def add(self, value: str) -> None:
        if value in self.spellings:
            self.spellings.move_to_end(value)
            return
        self.spellings[value] = tuple(
            {value, msgspec.json.encode(value)[1:-1].decode(), quote(value, safe="")}
        )
        if len(self.spellings) > MOST:
            self.spellings.popitem(last=False)
        found = {one for spelled in self.spellings.values() for one in spelled}
        self.sorted = tuple(sorted(found, key=len, reverse=True))


_KNOWN = _Known()


def known(value: str) -> None:
    """Remember a secret, so that it is recognised."""
    if len(value) >= SHORTEST and not WORD.fullmatch(value):
        _KNOWN.add(value)


def counted(text: str, *, shapes: bool = True) -> tuple[str, int]:
    """The text without secrets, and how many were taken out. JSON stays JSON."""
    text, gone = _without_known(text)
    for hint, pattern in SHAPES if shapes else ():
        if any(one in text for one in hint):
            text, found = pattern.subn(GONE, text)
            gone += found
    return text, gone


def _without_known(text: str) -> tuple[str, int]:
    gone = 0
    for value in _KNOWN.sorted:
        if value in text:
            gone += text.count(value)
            text = text.replace(value, GONE)
    return text, gone


def redacted(text: str, *, shapes: bool = True) -> str:
    """The text without secrets."""
    return counted(text, shapes=shapes)[0]


def redacted_struct(value: Wanted, *, shapes: bool = True) -> Wanted:
    """The same with all texts in it without secrets; the very same where it holds none."""
    text = msgspec.json.encode(value).decode()
    cleared, gone = counted(text, shapes=shapes)
    return msgspec.json.decode(cleared, type=type(value)) if gone else value


class Redactor:
    """Takes secrets out of text that comes in pieces, wherever they are cut: what could be the
    beginning of a secret waits for the next piece."""

    def __init__(self, *, shapes: bool = True) -> None:
        self._shapes = shapes
        self._waits = ""

    def feed(self, text: str) -> str:
        text, _ = _without_known(self._waits + text)
        end = self._safe_end(text)
        self._waits = text[end:]
        return redacted(text[:end], shapes=self._shapes)

    def end(self) -> str:
        """What has waited, when nothing follows."""
        text, self._waits = self._waits, ""
        return redacted(text, shapes=self._shapes)

    def _safe_end(self, text: str) -> int:
        """A place that is in no secret. Only private keys have several lines; a line that grows
        too long is given up to a border between words, well before its end."""
        begun = _OPEN_PEM.search(text) if self._shapes and "-----BEGIN " in text else None
        if begun is not None and len(text) - begun.start() < LONGEST_PEM:
            return begun.start()
        end = text.rfind("\n") + 1
        if len(text) - end <= LINE:
            return end
        inside = len(text) - HELD
        border = max(text.rfind(one, inside - HELD, inside) for one in _BORDER) + 1
        return border or inside


class Redacting(logging.Formatter):
    """Log lines without secrets, their tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))

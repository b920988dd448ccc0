"""The parts of a plain command line, which the user's rules may allow.

A line is plain when it is nothing but simple commands, their words spelled out, joined by `&&`,
`||`, `;`, `|` or a new line. Assignments, substitutions, expansions, redirections other than to
`/dev/null`, comments, groups, loops, jobs: a line that has one of them is not plain, and no rule
allows it. This reader is written apart from the parser that gives the verdict (`safety.shell`)
and knows much less; where both do not find the same commands, no rule allows the line either.
"""

import posixpath
import re
from dataclasses import dataclass

from shipmate.safety.rules.limits import STATE, uncoverable
from shipmate.safety.shell import wrappers
from shipmate.safety.shell.appearance import appearance
from shipmate.safety.shell.crude import KEYWORDS
from shipmate.safety.shell.risk import ShellVerdict
from shipmate.safety.verdict import Subject

MAX_LINE = 10_000
"""Characters. A longer line is not read for rules."""
_WORD = r"""(?:[\w./:=@%+,^~*?\[\]-]|'[^']*'|"[^"$`\\!]*")+"""
_TOKEN = re.compile(
    rf"(?P<blank>[ \t]+)|(?P<word>{_WORD})|(?P<end>&&|\|\|?(?!&)|;(?!;)|\n)", re.UNICODE
)
_SILENT = re.compile(r"(?:[12&]?>>?|<) ?/dev/null(?=[ \t;|\n]|$)|(?:1?>&2|2>&1)(?=[ \t;|\n]|$)")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"|([^'\"]+)")
_RESERVED = KEYWORDS | {"[[", "select", "function", "coproc", "in", "time"}
TRANSPARENT = frozenset({"timeout", "nice", "ionice", "nohup", "stdbuf"})
"""Wrappers that change nothing of what their command does: only the command is covered."""


@dataclass(frozen=True, slots=True)
class Part:
    """One simple command of a plain line."""

    words: tuple[str, ...]
    ends: str
    """What joins it to the next one; empty for the last."""


def covers(command: str, found: ShellVerdict, root: str = "") -> tuple[Subject, ...]:
    """The parts of a command that need asking, each of which a rule may name; empty when no
    rule may allow the command. `root`: the project's folder, for `cd` to it by its whole path.
    """
    if (
        found.verdict not in ("ask", "dangerous")
        or found.rule == "syntax"
        or any(appearance(command))
    ):
        return ()
    parts = plain_parts(command)
    if parts is None:
        return ()
    folder, parts = _folder(parts, root)
    cored = [_core(part.words) for part in parts]
    if folder is None or not _same_commands(parts, cored, found):
        return ()
    needed = [
        words for part, words in zip(parts, cored, strict=True) if part.words not in found.safe
    ]
    if any(uncoverable(words) for words in needed):
        return ()
    if found.verdict == "dangerous" and (len(parts) > 1 or cored[0] != parts[0].words):
        return ()
    return tuple(Subject("shell", words=words, folder=folder) for words in dict.fromkeys(needed))


def plain_parts(command: str) -> list[Part] | None:
    """The simple commands of a plain line; None for any other."""
    tokens = _tokens(command) if len(command) <= MAX_LINE else None
    if tokens is None:
        return None
    parts: list[Part] = []
    words: list[str] = []
    for kind, text in [*tokens, ("end", "")]:
        if kind == "word":
            words.append(text)
        elif words:
            parts.append(Part(tuple(words), text))
            words = []
        elif text.strip() or not parts:
            return None  # an operator with nothing before it
    if not parts or parts[-1].ends not in ("", ";", "\n"):
        return None
    read = [Part(tuple(map(_unquoted, part.words)), part.ends) for part in parts]
    odd = any(_reserved(raw.words[0], part) for raw, part in zip(parts, read, strict=True))
    return None if odd else read


def _tokens(command: str) -> list[tuple[str, str]] | None:
    """Words and operators, blanks and silent redirections left out; None where there is more."""
    found: list[tuple[str, str]] = []
    at, apart = 0, True
    while at < len(command):
        if apart and found and (silent := _SILENT.match(command, at)):
            at, apart = silent.end(), False
            continue
        token = _TOKEN.match(command, at)
        if token is None or (token.lastgroup == "word" and not apart):
            return None
        kind = str(token.lastgroup)
        at, apart = token.end(), kind != "word"
        if kind != "blank":
            found.append((kind, token[0]))
    return found


def _reserved(raw: str, part: Part) -> bool:
    """A first word that is none of a program, or one of the shell itself."""
    name = part.words[0]
    odd = not name or "=" in raw or re.search(r"[~*?\[\]%^]", name) or re.search(r"\s", name)
    return bool(odd) or name in _RESERVED or (name in STATE and name not in {"cd", "printf"})


def _unquoted(word: str) -> str:
    return "".join(a or b or c for a, b, c in _QUOTED.findall(word))


def _folder(parts: list[Part], root: str) -> tuple[str | None, list[Part]]:
    """Where the parts run, and the parts without the `cd` that leads there; None where that is
    not known or not in the project."""
    folder = "."
    if parts[0].words[0] == "cd" and len(parts) > 1:
        words = parts[0].words
        if parts[0].ends != "&&" or len(words) != 2 or re.search(r"[*?\[\]~]|^-", words[1]):
            return None, parts
        target = words[1]
        if root and (target == root or target.startswith(f"{root}/")):
            target = posixpath.relpath(target, root)
        folder, parts = posixpath.normpath(target), parts[1:]
        if folder.startswith(("/", "..")):
            return None, parts
    if any(part.words[0] == "cd" for part in parts):
        return None, parts
    return folder, parts


def _core(words: tuple[str, ...]) -> tuple[str, ...]:
    """What a wrapper that changes nothing runs; other commands as they are."""
    while words[0] in TRANSPARENT:
        inner = wrappers.inner(words[1:], wrappers.WRAPPERS[words[0]])
        if not inner:
            break
        words = inner
    return words


def _same_commands(parts: list[Part], cored: list[tuple[str, ...]], found: ShellVerdict) -> bool:
    """Whether the judge found these commands and no others (that it looked into wrappers too)."""
    judged = {words for words in found.commands if words[0] != "cd"}
    whole = {part.words for part in parts}
    return whole <= judged <= whole | set(cored) | _between(parts)


def _between(parts: list[Part]) -> set[tuple[str, ...]]:
    """`nice npm test` of `timeout 5 nice npm test`."""
    found: set[tuple[str, ...]] = set()
    for part in parts:
        words = part.words
        while words and words[0] in TRANSPARENT:
            words = wrappers.inner(words[1:], wrappers.WRAPPERS[words[0]])
            found.add(words)
    return found

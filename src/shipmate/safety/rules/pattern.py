"""The text of a rule, and what it names: `shell:npm test`, `write:src/**`, `web:example.org`.

| kind | names |
|---|---|
| `shell` | one simple command by its words; `*` as the last word: any words may follow. With
`cd web && …` in front: in that folder of the project, else in the project's own |
| `write`, `read` | a path in the project; `*` any characters within a name, `**` any folders |
| `web` | a host, exactly; `*.example.org` in rules that deny or ask |
| `mcp` | `server/tool`, or `server/*` |
| `tool` | a tool by its name |
"""

import posixpath
import re
import shlex
import unicodedata
from dataclasses import dataclass

from shipmate.errors import ShipmateError
from shipmate.safety.shell.call import after_options, program
from shipmate.safety.verdict import Subject

KINDS = ("shell", "write", "read", "web", "mcp", "tool")
PATHS = frozenset({"write", "read"})
MAX_LENGTH = 2_000
_BARE = re.compile(r"[\w./:=@%+,^~?\[\]-][\w./:=@%+,^~*?\[\]-]*")
_WITHIN = re.compile(r"cd (\S+) && (.+)", re.S)
_HOST = re.compile(r"(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*(:\d{1,5})?|\[[0-9a-f:.]+\](:\d{1,5})?")


class RuleError(ShipmateError):
    """A text that is no rule, or one that would allow what no rule may allow."""

    code = "bad_rule"
    status = 422


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a rule names."""

    kind: str
    name: str = ""
    words: tuple[str, ...] = ()
    open: bool = False
    """Of `shell`: any words may follow."""
    folder: str = ""
    """Of `shell`: the folder in front; empty where there is none."""

    @property
    def exact(self) -> bool:
        """It names one thing only."""
        wild = self.open or self.kind not in ("shell", *PATHS)
        return not wild and not (self.kind in PATHS and re.search(r"[*?]", self.name))

    def names(self, subject: Subject) -> bool:
        """Whether the pattern names just this, as an allowing rule must."""
        if subject.kind != self.kind:
            return False
        if self.kind == "shell":
            return subject.folder == (self.folder or ".") and self._fits(subject.words)
        if self.kind in PATHS:
            return bool(_glob(self.name).fullmatch(subject.name))
        return subject.name == self.name or (
            self.name.endswith("/*") and subject.name.startswith(self.name[:-1])
        )

    def concerns(self, subject: Subject) -> bool:
        """Whether a rule that denies or asks holds: read generously, so that another spelling
        of the same does not get around it."""
        if subject.kind != self.kind:
            return False
        if self.kind == "shell":
            return any(self._fits(words) for words in _spellings(subject.words))
        if self.kind in PATHS:
            return bool(_glob(_folded(self.name)).fullmatch(_folded(subject.name)))
        if self.kind == "web" and self.name.startswith("*."):
            host = subject.name.rstrip(".")
            return host == self.name[2:] or host.endswith(self.name[1:])
        return self.names(subject)

    def _fits(self, words: tuple[str, ...]) -> bool:
        size = len(self.words)
        return words[:size] == self.words and (self.open or len(words) == size)


def parse(text: str) -> Pattern:
    """The pattern of a rule's text. `RuleError` says what is wrong with it."""
    kind, colon, rest = text.partition(":")
    if not colon or kind not in KINDS:
        raise RuleError(
            f"The rule {text!r} begins with none of {', '.join(f'{k}:' for k in KINDS)}. "
            "Examples: shell:npm test, write:src/**, web:example.org."
        )
    if not rest.strip() or rest != rest.strip() or len(text) > MAX_LENGTH:
        raise RuleError(f"The rule {text[:100]!r} is empty, padded with blanks or too long.")
    if kind == "shell":
        return _shell(rest)
    if kind in PATHS:
        return Pattern(kind, _path(rest))
    if kind == "web" and not _HOST.fullmatch(rest):
        raise RuleError(f"{rest!r} is no host in lower case, such as example.org.")
    if kind == "mcp" and not re.fullmatch(r"[^/\s*]+/([^/\s*]+|\*)", rest):
        raise RuleError(f"{rest!r} is not server/tool.")
    if kind == "tool" and not re.fullmatch(r"[\w.-]+", rest):
        raise RuleError(f"{rest!r} is no name of a tool.")
    return Pattern(kind, rest)


def spelled(subject: Subject) -> str:
    """The rule that names just this subject; empty where its text could not be read exactly."""
    if subject.kind != "shell":
        text = f"{subject.kind}:{subject.name}"
        return text if _same(text, subject) else ""
    words = [word if _BARE.fullmatch(word) else shlex.quote(word) for word in subject.words]
    within = "" if subject.folder == "." else f"cd {shlex.quote(subject.folder)} && "
    text = f"shell:{within}{' '.join(words)}"
    return text if _same(text, subject) else ""


def _same(text: str, subject: Subject) -> bool:
    if any(unicodedata.category(letter).startswith("C") for letter in text):
        return False
    try:
        pattern = parse(text)
    except RuleError:
        return False
    exact = pattern.exact or pattern.kind not in ("shell", *PATHS)
    return exact and pattern.names(subject)


def _shell(text: str) -> Pattern:
    folder, command = "", text
    if within := _WITHIN.fullmatch(text):
        (folder,) = _split(within[1]) or [""]
        folder, command = posixpath.normpath(folder or "."), within[2]
    is_open = command.endswith(" *")
    words = _split(command.removesuffix(" *") if is_open else command)
    if not words or (words == ["*"] and not is_open):
        raise RuleError(f"The rule shell:{text} names no command.")
    if folder.startswith(("/", "..", "~")):
        raise RuleError(f"The folder {folder!r} of a rule lies in the project: cd web && npm test.")
    return Pattern("shell", words=tuple(words), open=is_open, folder=folder)


def _split(text: str) -> list[str]:
    if unquoted := re.search(r"[;&|<>`$\n()]", re.sub(r"'[^']*'|\"[^\"$`]*\"", "", text)):
        raise RuleError(
            f"A rule names one simple command by its words; {unquoted[0]!r} joins, redirects or "
            "substitutes. Make one rule for each command."
        )
    try:
        return shlex.split(text)
    except ValueError as error:
        raise RuleError(f"The rule shell:{text} has a quote that is not closed.") from error


def _path(text: str) -> str:
    if text.startswith(("/", "~", "\\")) or ".." in text.split("/") or "\0" in text:
        raise RuleError(f"{text!r} is no path within the project, such as src/** or README.md.")
    return text.removeprefix("./")


def _glob(pattern: str) -> re.Pattern[str]:
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    known = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(known.get(p, re.escape(p)) for p in pieces), re.S)


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _spellings(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The same command with the plain name of its program, and without options of `git` that
    stand before its subcommand."""
    plain = (program(words[0]), *words[1:])
    spelled = [words, plain]
    if plain[0] == "git":
        at = 1 + after_options(plain[1:], "Cc", ("git-dir", "work-tree", "namespace"))
        spelled.append(("git", *plain[at:]))
    return spelled

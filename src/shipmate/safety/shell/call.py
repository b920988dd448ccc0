"""One simple command as the judges see it, and how its options are read."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from shipmate.safety.shell.risk import Finding


@dataclass(slots=True)
class Scope:
    """What is known of the shell at a place in the script."""

    cwd: str = "."
    """Folder, relative to the project; absolute where the script left it."""
    variables: dict[str, str] = field(default_factory=dict[str, str])
    positional: tuple[str, ...] | None = None
    """`$1` and so on; None where they are not known."""
    functions: dict[str, str] = field(default_factory=dict[str, str])
    """The text of the functions' bodies."""
    calling: tuple[str, ...] = ()
    """The functions that are being followed."""
    files: dict[str, str] = field(default_factory=dict[str, str])
    """What this script wrote to files: the text, or `HIDDEN` for what came from outside."""
    shell: str = "bash"
    """Whose rules of names hold: `bash`, `cmd` or `powershell`."""
    depth: int = 0
    """How many scripts are nested around this one."""

    def copy(self) -> "Scope":
        """For a subshell: its changes do not come back (files do)."""
        return replace(
            self, variables=dict(self.variables), functions=dict(self.functions), files=self.files
        )


class Nested(Protocol):
    def __call__(self, text: str, shell: str, given: Sequence[str] | None = None) -> Finding:
        """`given`: the script's `$0`, `$1` and so on, where they are known."""
        ...


@dataclass(slots=True)
class Call:
    """A simple command, quotes removed and expansions made as far as they are known."""

    words: tuple[str, ...]
    scope: Scope
    run: Callable[[Iterable[str]], Finding]
    """Judge other words as a command in the same place."""
    script: Nested
    """Judge a text as a script that this command runs."""
    feed: str | None = None
    """Standard input: the text, `HIDDEN` where it comes from a command, None where nothing does."""

    @property
    def args(self) -> tuple[str, ...]:
        return self.words[1:]

    @property
    def name(self) -> str:
        return program(self.words[0])

    def has(self, short: str = "", long: Iterable[str] = ()) -> bool:
        """Is one of these options given? Clusters (`-rf`) and shortened long names count."""
        return any(_is_option(word, short, long) for word in self.options())

    def options(self) -> Iterator[str]:
        for word in self.args:
            if word == "--":
                return
            if word.startswith("-") and word != "-":
                yield word

    def operands(self, valued: str = "", long: Iterable[str] = ()) -> list[str]:
        """The words that are no options; options in `valued` and `long` take the next word."""
        found: list[str] = []
        words = iter(self.args)
        for word in words:
            if word == "--":
                found.extend(words)
            elif not word.startswith("-") or word == "-":
                found.append(word)
            elif _takes_next(word, valued, long):
                next(words, None)
        return found

    def values(self, short: str = "", long: Iterable[str] = ()) -> list[str]:
        """The values given to an option: `-o x`, `-ox`, `--out x`, `--out=x`."""
        found: list[str] = []
        for at, word in enumerate(self.args):
            following = self.args[at + 1 : at + 2]
            if word.startswith("--"):
                name, equals, value = word[2:].partition("=")
                if _long(name, long):
                    found.extend([value] if equals else following)
            elif word.startswith("-") and short:
                found.extend(_short_value(word, short, following))
        return found


class Inquiry(Protocol):
    """One check of one text, however deeply scripts are nested in it."""

    def command(self, words: Sequence[str], scope: Scope, feed: str | None) -> Finding: ...

    def script(self, text: str, shell: str, scope: Scope, feed: str | None) -> Finding: ...


Judge: TypeAlias = Callable[[Call], Iterable[Finding]]


def program(word: str) -> str:
    """The name a program is known by: no folder, no `.exe`, lower case."""
    base = re.split(r"[/\\]", word)[-1].lower()
    return re.sub(r"\.(exe|com)$", "", base)


def after_options(words: tuple[str, ...], valued: str = "", long: Iterable[str] = ()) -> int:
    """Index of the first word that is neither an option nor an option's value."""
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            return at + 1
        if not word.startswith("-") or word == "-":
            return at
        at += 2 if _takes_next(word, valued, long) else 1
    return at


def _is_option(word: str, short: str, long: Iterable[str]) -> bool:
    if word.startswith("--"):
        return _long(word[2:].partition("=")[0], long)
    if len(word) > 2 and word[1:].partition("=")[0] in long:
        return True
    return any(letter in short for letter in word[1:])


def _long(name: str, long: Iterable[str]) -> bool:
    return any(option == name or (len(name) > 1 and option.startswith(name)) for option in long)


def _takes_next(word: str, valued: str, long: Iterable[str]) -> bool:
    if word.startswith("--"):
        return "=" not in word and _long(word[2:], long)
    if word[1:] in long:
        return True
    letters = word[1:]
    first = next((at for at, letter in enumerate(letters) if letter in valued), None)
    return first is not None and first == len(letters) - 1


def _short_value(word: str, short: str, following: tuple[str, ...]) -> Iterable[str]:
    for at, letter in enumerate(word[1:], start=1):
        if letter in short:
            return [word[at + 1 :].removeprefix("=")] if word[at + 1 :] else following
    return ()

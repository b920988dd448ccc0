"""A script before it is parsed: lines joined as bash joins them, here-documents taken out.

The parser splits a word at `\\` + newline where bash joins it, and is easily confused by
here-documents within quotes; so both are settled here. An empty substitution becomes `''`. Each
here-document and here-string becomes a redirection `<` from a marked word, as the parser takes
here-strings only in some places; `<>` becomes `>`, and `;&` becomes `;;`: it knows neither.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from shipmate.safety.shell.risk import HERE, STRING

PLAIN = re.compile(r"[^\\$'\"`(){}#<;\n]+")
EMPTY = re.compile(r"`[ \t\n]*`|\$\([ \t\n]*\)")
DELIMITER = re.compile(r"<<(-?)[ \t]*((?:\\.|'[^'\n]*'|\"[^\"\n]*\"|[^\s;|&<>()'\"\\])+)")


@dataclass(frozen=True, slots=True)
class HereDocument:
    body: str
    literal: bool
    """Its delimiter was quoted: nothing in it is expanded."""


@dataclass(slots=True)
class Prepared:
    text: str = ""
    documents: list[HereDocument] = field(default_factory=list[HereDocument])


def prepare(script: str) -> Prepared:
    """`script` ready for the parser. A here-document without an end is left as it stands."""
    return _Preparation(script).make()


@dataclass(slots=True)
class _Preparation:
    script: str
    at: int = 0
    out: list[str] = field(default_factory=list[str])
    modes: list[str] = field(default_factory=lambda: ["("])
    """What is open: `(` commands, `"`, a backtick, `a` arithmetic, `{` a parameter expansion."""
    pending: list[tuple[str, bool, bool]] = field(default_factory=list[tuple[str, bool, bool]])
    documents: list[HereDocument] = field(default_factory=list[HereDocument])

    def make(self) -> Prepared:
        while self.at < len(self.script):
            self._step()
        return Prepared("".join(self.out), self.documents)

    def _step(self) -> None:
        if plain := PLAIN.match(self.script, self.at):
            return self._copy(len(plain[0]))
        return self._special()

    def _special(self) -> None:
        mode = self.modes[-1]
        two = self.script[self.at : self.at + 2]
        empty = EMPTY.match(self.script, self.at) if mode != "`" else None
        if empty:
            self.out.append("''")
            self.at += len(empty[0])
        elif two == "\\\n":
            self.at += 2
        elif two[0] == "\\":
            self._copy(2)
        elif two == "$(":
            arithmetic = self.script.startswith("$((", self.at)
            self._copy(3 if arithmetic else 2, "a" if arithmetic else "(")
        elif two == "${":
            self._copy(2, "{")
        elif two[0] in STEPS and mode in STEPS[two[0]][0]:
            STEPS[two[0]][1](self)
        else:
            self._copy(1)

    def _copy(self, count: int, opens: str = "") -> None:
        self.out.append(self.script[self.at : self.at + count])
        self.at += count
        if opens:
            self.modes.append(opens)

    def quote(self) -> None:
        """A single-quoted string, or `$'…'`."""
        ansi = self.out and self.out[-1].endswith("$")
        pattern = r"'(?:\\.|[^'\\])*'?" if ansi else r"'[^']*'?"
        match = re.compile(pattern, re.S).match(self.script, self.at)
        self._copy(len(match[0]) if match else 1)

    def toggle(self) -> None:
        """A double quote or a backtick: closes what it opened, or opens."""
        letter = self.script[self.at]
        if self.modes[-1] == letter:
            self.modes.pop()
            self._copy(1)
        else:
            self._copy(1, letter)

    def close(self) -> None:
        """`)` or `}`; arithmetic ends with two."""
        mode, letter = self.modes[-1], self.script[self.at]
        wanted = {"(": ")", "{": "}", "a": ")"}[mode]
        if letter == wanted and len(self.modes) > 1:
            self.modes.pop()
            self._copy(2 if mode == "a" else 1)
        else:
            self._copy(1)

    def open(self) -> None:
        self._copy(1, "(")

    def comment(self) -> None:
        """`#` begins a comment at the start of a word only; else the parser is told so."""
        before = self.out[-1] if self.out else "\n"
        escaped = len(before) == 2 and before[0] == "\\"
        if not escaped and before[-1] in " \t\n;&|()":
            end = self.script.find("\n", self.at)
            self._copy((end if end >= 0 else len(self.script)) - self.at)
        else:
            self.out.append("#" if before[-1] == "$" else "\\#")
            self.at += 1

    def redirect(self) -> None:
        """`<<` with an end somewhere below becomes a marked word, as do the others."""
        if found := re.compile(r"<<<[ \t]*|<>").match(self.script, self.at):
            self.out.append(">" if found[0] == "<>" else f"< {STRING}")
            self.at = found.end()
            return None
        match = DELIMITER.match(self.script, self.at)
        word = re.sub(r"\\(.)|['\"]", r"\1", match[2]) if match else ""
        line = (r"\n\t*" if match and match[1] else r"\n") + re.escape(word) + r"(?=\n|\Z)"
        if not match:
            return self._copy(2)
        if not re.compile(line).search(self.script, self.at):
            # bash would take all that follows as text; here it is judged as commands as well.
            self.out.append(f"< {HERE} ")
            self.at = match.end()
            return None
        number = len(self.documents) + len(self.pending)
        self.pending.append((line, bool(match[1]), word != match[2]))
        self.out.append(f"< {HERE}{number} ")
        self.at = match.end()
        return None

    def falls_through(self) -> None:
        found = re.compile(r";;?&|;").match(self.script, self.at)
        self.at += len(found[0]) if found else 1
        self.out.append(";;" if found and found[0] != ";" else ";")

    def newline(self) -> None:
        """The bodies of the here-documents of this line follow it."""
        for line, tabs, literal in self.pending:
            end = re.compile(line).search(self.script, self.at)
            stop = end.start() + 1 if end else len(self.script)
            body = self.script[self.at + 1 : stop]
            body = re.sub(r"^\t+", "", body, flags=re.M) if tabs else body
            self.documents.append(HereDocument(body, literal))
            self.at = end.end() if end else stop
        self.pending.clear()
        if self.at < len(self.script):
            self._copy(1)


COMMANDS = "(`"
STEPS: dict[str, tuple[str, Callable[[_Preparation], None]]] = {
    "'": ("(`{", _Preparation.quote),
    '"': ('(`"{a', _Preparation.toggle),
    "`": ('(`"{a', _Preparation.toggle),
    ")": ("(a", _Preparation.close),
    "}": ("{", _Preparation.close),
    "(": ("(`a", _Preparation.open),
    "#": (COMMANDS, _Preparation.comment),
    "<": (COMMANDS, _Preparation.redirect),
    ";": (COMMANDS, _Preparation.falls_through),
    "\n": (COMMANDS, _Preparation.newline),
}
"""Character: the modes in which it means something, and what is done there."""

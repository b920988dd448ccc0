"""Which judge a command is given to, and how judges reach what is nested in it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from shipmate.safety.shell import (
    cmdlets,
    disks,
    files,
    git,
    interpreters,
    network,
    places,
    readers,
    services,
    streams,
    windows,
    wrappers,
)
from shipmate.safety.shell.bash import judge_bash
from shipmate.safety.shell.call import Call, Judge, Scope, program
from shipmate.safety.shell.cmd import judge_cmd_script
from shipmate.safety.shell.flow import arithmetic
from shipmate.safety.shell.powershell import judge_powershell_script
from shipmate.safety.shell.risk import HIDDEN, SAFE, Finding, Risk, ask, danger, worst

MAX_DEPTH = 10
"""Scripts nested deeper than this are taken as hidden."""
MAX_COMMANDS = 2_000
"""Commands judged in one check; a text that makes more is taken as hidden."""
OPEN: dict[str, Judge] = readers.JUDGES | git.JUDGES | streams.JUDGES
"""These may be safe, and so may the wrappers that change nothing."""
ASKING: dict[str, Judge] = (
    services.JUDGES
    | windows.JUDGES
    | interpreters.JUDGES
    | files.JUDGES
    | disks.JUDGES
    | network.JUDGES
)
"""These ask at least, as does every program that is not known."""
TABLES: Mapping[str, Sequence[tuple[Mapping[str, Judge], frozenset[str]]]] = {
    "bash": (
        (wrappers.JUDGES, frozenset({"time", "command", "builtin"})),
        (ASKING, frozenset()),
        (OPEN, frozenset(OPEN)),
    ),
    "cmd": (
        (windows.CMD, windows.CMD_READERS),
        (ASKING, frozenset()),
        (wrappers.JUDGES, frozenset()),
        (OPEN, frozenset({"git"})),
    ),
    "powershell": (
        (cmdlets.JUDGES, cmdlets.READERS),
        (ASKING, frozenset()),
        (wrappers.JUDGES, frozenset()),
        (OPEN, frozenset({"git"})),
    ),
}
"""For each shell: judges in order, and the names which may be safe."""
INDEXED = frozenset(
    "test [ printf let declare typeset local unset read export readonly wait".split()
)
DECLARING = frozenset("export declare typeset local readonly".split())
WINDOWS_SCRIPT = re.compile(r"^(?![a-z]:|[\\/]).*\.(bat|cmd|exe|com|ps1|vbs|js|msi)$", re.I)
KEEPERS = frozenset("ssh-add ssh-keygen ssh-copy-id ssh-agent age sops ansible-playbook".split())
"""Programs that are given keys to work with."""
ABOUT = frozenset({"--help", "--version", "-V", "/?", "-version", "-help"})


class Inquiry:
    """One check of one text."""

    def __init__(self) -> None:
        self.commands: dict[tuple[str, ...], Risk] = {}
        self.judged = 0

    def command(self, words: Sequence[str], scope: Scope, feed: str | None) -> Finding:
        """Judge one simple command."""
        self.judged += 1
        if self.judged > MAX_COMMANDS:
            return danger("too-much", "The command is too long or nested to be followed.")
        if not words or not words[0] or _hidden_name(words[0]):
            unseen = danger("hidden-command", "The name of the command is not visible.")
            return worst([self._if_empty(words, scope, feed)], unseen)
        key = tuple(words)
        self.commands.setdefault(key, Risk.SAFE)
        found = self._judged(words, scope, feed)
        self.commands[key] = max(found.risk, self.commands[key])
        return found

    def _judged(self, words: Sequence[str], scope: Scope, feed: str | None) -> Finding:
        if _about(words):
            return ask("about", "Shows a program's help or version.")
        call = Call(
            tuple(words),
            scope,
            run=lambda inner: self.command(tuple(inner), scope, feed),
            script=lambda text, shell, given=None: self.script(
                text, shell, _given(scope.copy(), given), None
            ),
            feed=feed,
        )
        return worst([*self.findings(call), self._if_empty(words, scope, feed)])

    def _if_empty(self, words: Sequence[str], scope: Scope, feed: str | None) -> Finding:
        """The same command where variables that are not known are empty: `${x}-rf` is `-rf`."""
        bare = [word.replace(HIDDEN, "") for word in words]
        less = [b if at == 0 or b.startswith("-") else words[at] for at, b in enumerate(bare)]
        if less == list(words) or not less[0]:
            return SAFE
        return self.command(less, scope, feed)

    def findings(self, call: Call) -> Iterable[Finding]:
        judge, may_be_safe = _judge_for(call)
        if not may_be_safe or _elsewhere(call.words[0]):
            yield ask("program", f"Runs {call.words[0]}.")
        if call.name in INDEXED:
            yield from arithmetic(" ".join(call.args))
        if path := _own_file(call):
            yield from interpreters.run_file(call, path, call.scope.shell)
        yield from judge(call) if judge is not None else _unknown(call)
        yield from readers.runs_programs(call)

    def script(self, text: str, shell: str, scope: Scope, feed: str | None) -> Finding:
        """Judge a text that a shell runs."""
        scope.depth += 1
        if scope.depth > MAX_DEPTH:
            return danger("too-much", "The command is too deeply nested to be followed.")
        return SCRIPTS.get(shell, judge_bash)(self, text, scope, feed)


SCRIPTS: dict[str, Any] = {"cmd": judge_cmd_script, "powershell": judge_powershell_script}


def _judge_for(call: Call) -> tuple[Judge | None, bool]:
    """The judge, and whether the command may be safe: not under a name that is only like the
    known one (`python3` is judged as `python`)."""
    name = call.name
    for table, safe in TABLES[call.scope.shell]:
        for known in (name, interpreters.language(name)):
            if known in table:
                return table[known], name in safe
    if judge := disks.named(name) or wrappers.named(name) or cmdlets.named(name):
        return judge, False
    return None, name in DECLARING


def _unknown(call: Call) -> Iterable[Finding]:
    """A program that nothing is known of: a shell with its text among its words, as wrappers have
    it, and keys that it is given."""
    for at, (word, option) in enumerate(pairwise(call.args)):
        if program(word) in interpreters.SHELLS and re.fullmatch(r"-[a-z]*c", option):
            yield call.run(call.args[at:])
    if call.name not in KEEPERS:
        yield from (f for f in places.reads(call.args, call.scope) if f.rule == "secret")


def _given(scope: Scope, words: Sequence[str] | None) -> Scope:
    """For `sh -c text name 1 2`: `$0` and what follows."""
    if words is not None:
        scope.positional = tuple(words[1:])
        scope.variables |= {"0": words[0]} if words else {}
    return scope


def _about(words: Sequence[str]) -> bool:
    """`rm --help`, and `git reset --help` with a plain subcommand."""
    if len(words) == 3 and re.fullmatch(r"[a-z][\w-]*", words[1]):
        return words[2] == "--help" and program(words[0]) not in wrappers.JUDGES
    return len(words) == 2 and words[1] in ABOUT


def _hidden_name(word: str) -> bool:
    """A name that is made at run time, or found by a pattern."""
    base = re.split(r"[/\\]", word)[-1]
    return HIDDEN in base or (word not in {"[", "[["} and re.search(r"[*?\[]", word) is not None)


def _own_file(call: Call) -> str:
    """The path of a program that is named by a path within the project; on Windows also by the
    name of a script, as the current folder is searched there."""
    name = call.words[0]
    if call.scope.shell == "bash":
        return name if "/" in name and not name.startswith("/") else ""
    return name.replace("\\", "/") if WINDOWS_SCRIPT.search(name) else ""


def _elsewhere(word: str) -> bool:
    """Not the system's own program of this name, as it seems."""
    plain = word == program(word) or readers.STANDARD.fullmatch(word) is not None
    return not plain

"""What a shell command would do, judged from its text alone.

`check_shell` parses the text into the simple commands that would run (through wrappers,
substitutions, pipes into shells, `sh -c`, here-documents) and gives each to a judge that knows
the program. Four answers: `safe` reads only and stays inside the project; `ask` is everything
that is neither; `dangerous` destroys, escapes, hides or sends secrets; `blocked` can only
destroy, and nobody can approve it (readings 16). What cannot be parsed or is hidden is never
safe, and hiding is itself a reason for `dangerous`. Nothing is read from disk and nothing runs.

To teach it a program, add a row: `readers` for one that only reads, `wrappers` for one that runs
another, `services.RULES` for one that is red with some arguments; a function elsewhere where a
row is not enough.
"""

from shipmate.safety.shell.appearance import appearance
from shipmate.safety.shell.call import Scope
from shipmate.safety.shell.flow import carried
from shipmate.safety.shell.inquiry import Inquiry
from shipmate.safety.shell.risk import Finding, Risk, ShellVerdict, ask, danger, worst
from shipmate.safety.verdict import Level

__all__ = ["LEVELS", "ShellVerdict", "check_shell"]
NAMES = {
    Risk.SAFE: "safe",
    Risk.ASK: "ask",
    Risk.DANGEROUS: "dangerous",
    Risk.BLOCKED: "blocked",
}
LEVELS = {
    "safe": Level.ASK,
    "ask": Level.ASK,
    "dangerous": Level.DANGER,
    "blocked": Level.REFUSE,
}
"""What a verdict means for a call. `safe` runs unasked only where the user switched that on."""
SHELLS = ("bash", "cmd", "powershell")


def check_shell(command: str, shell: str = "bash") -> ShellVerdict:
    """Judge `command` as text for `shell`: `bash`, `cmd`, `powershell`, or `any` of them.

    With `any` the highest risk of the three holds. Pure: the same text, the same answer.
    """
    inquiry = Inquiry()
    found = list(appearance(command))
    if command.strip():
        shells = SHELLS if shell == "any" else (shell,)
        found += [_judged(inquiry, command, each) for each in shells]
    else:
        found.append(ask("empty", "There is no command."))
    found += carried(list(inquiry.commands))
    result = worst(found)
    safe = frozenset(words for words, risk in inquiry.commands.items() if risk is Risk.SAFE)
    commands = tuple(inquiry.commands)
    return ShellVerdict(NAMES[result.risk], result.reason, result.rule, commands, safe)


def _judged(inquiry: Inquiry, command: str, shell: str) -> Finding:
    try:
        return inquiry.script(command, shell, Scope(shell=shell), None)
    except RecursionError:
        return danger("too-much", "The command is too deeply nested to be followed.")

"""What the judges of shell commands answer: a risk with its rule and a reason to read."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

HIDDEN = "\ue000"
"""Stands in a word for what only the running shell knows."""
SPLIT = "\ue001"
"""Stands in a word where the shell splits an unquoted expansion."""
HERE = "\ue002"
"""Followed by a number: the here-document with that number."""
STRING = "\ue003"
"""Before the word of a here-string."""


def told(word: str) -> str:
    """A word for people: what only the running shell knows is an ellipsis."""
    return word.replace(HIDDEN, "\u2026").replace(SPLIT, " ")


class Risk(IntEnum):
    """Ordered: of two risks the higher one wins."""

    SAFE = 0
    ASK = 1
    DANGEROUS = 2
    BLOCKED = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was noticed in a command."""

    risk: Risk
    rule: str
    """Short name of the rule, stable."""
    reason: str
    """A sentence for the dialog."""


SAFE = Finding(Risk.SAFE, "read-only", "Reads only, inside the project.")


def ask(rule: str, reason: str) -> Finding:
    return Finding(Risk.ASK, rule, reason)


def danger(rule: str, reason: str) -> Finding:
    return Finding(Risk.DANGEROUS, rule, reason)


def block(rule: str, reason: str) -> Finding:
    return Finding(Risk.BLOCKED, rule, reason)


def worst(findings: Iterable[Finding], floor: Finding = SAFE) -> Finding:
    """The finding of the highest risk; of several the first. `floor` where none is higher."""
    result = floor
    for finding in findings:
        if finding.risk > result.risk:
            result = finding
    return result


def capped(finding: Finding, risk: Risk) -> Finding:
    """The same finding, no higher than `risk` (what happens in a container or another host)."""
    return Finding(min(finding.risk, risk), finding.rule, finding.reason)


@dataclass(frozen=True, slots=True)
class ShellVerdict:
    """The answer of `check_shell`."""

    verdict: str
    """`safe`, `ask`, `dangerous` or `blocked`."""
    reason: str
    rule: str
    commands: tuple[tuple[str, ...], ...] = ()
    """The simple commands that would run, wrappers opened, each as its words."""
    safe: frozenset[tuple[str, ...]] = frozenset()
    """Those of them that are safe by themselves, wherever they stand in the text."""

"""What a call would get, tried without making it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from shipmate.errors import ShipmateError
from shipmate.safety.paths import decide_path
from shipmate.safety.rules.plain import covers
from shipmate.safety.rules.rule import Rule, Ruling, folders, ruled, suggested
from shipmate.safety.shell import LEVELS, check_shell
from shipmate.safety.shell.risk import told
from shipmate.safety.verdict import Level, Subject, Verdict

PATH_LEVELS = {"allow": Level.ALLOW, "ask": Level.ASK, "ask_danger": Level.DANGER}


class Trial(Struct, frozen=True, kw_only=True):
    """The answer."""

    verdict: Literal["allow", "ask", "danger", "refuse"]
    """With the rules."""
    without: Literal["allow", "ask", "danger", "refuse"]
    """As it would be without any rule."""
    reason: str
    rules: list[Rule]
    """Those that decided; none where it is as it would be without."""
    commands: list[list[str]]
    """Of a command line: the commands found in it, each as its words."""
    suggested: list[str]
    """The rules that a decision on it could be saved as."""


def tried(kind: str, value: str, rules: Sequence[Rule], root: Path) -> Trial:
    """Try a command, a path, a host, a tool. `root`: the project's folder; of paths it is
    needed."""
    commands: Sequence[Sequence[str]] = ()
    if kind == "shell":
        found = check_shell(value)
        commands = found.commands
        touches = tuple(Subject("shell", words=words) for words in commands)
        parts = covers(value, found, str(root))
        verdict = Verdict(LEVELS[found.verdict], found.reason, touches=touches, covers=parts)
    elif kind in ("write", "read"):
        verdict = _path(kind, value, root)
    else:
        name = _host(value) if kind == "web" else value
        parts = (Subject(kind, name),) if kind != "tool" else ()
        verdict = Verdict(Level.ASK, touches=parts, covers=parts)
    tool = value if kind == "tool" else ""
    ruling = ruled(rules, tool, verdict)
    return Trial(
        verdict=_answer(verdict, ruling),
        without=_answer(verdict, Ruling()),
        reason=_reason(verdict, ruling),
        rules=list(ruling.rules),
        commands=[list(map(told, words)) for words in commands],
        suggested=list(suggested(tool, verdict)),
    )


def _path(kind: str, value: str, root: Path) -> Verdict:
    if root == Path():
        raise ShipmateError("A path is tried in a project: name one.")
    decision = decide_path("read" if kind == "read" else "write", value, root)
    level = PATH_LEVELS.get(decision.verdict, Level.REFUSE)
    subjects = (Subject(kind, decision.relative),) if level is not Level.REFUSE else ()
    texts = folders([decision.relative]) if subjects and kind == "write" else ()
    asks = level in (Level.ASK, Level.DANGER)
    return Verdict(
        level,
        decision.reason,
        touches=subjects,
        covers=subjects if asks else (),
        suggested=texts if asks else (),
    )


def _host(value: str) -> str:
    return (urlsplit(value).netloc.rpartition("@")[2] if "://" in value else value).lower()


def _answer(verdict: Verdict, ruling: Ruling) -> Literal["allow", "ask", "danger", "refuse"]:
    if verdict.level is Level.REFUSE or ruling.effect == "deny":
        return "refuse"
    if ruling.effect == "allow":
        return "allow"
    if verdict.level is Level.DANGER:
        return "danger"
    return "ask" if verdict.level is Level.ASK or ruling.effect == "ask" else "allow"


def _reason(verdict: Verdict, ruling: Ruling) -> str:
    if ruling.effect:
        return f"Your rule decides: {ruling.effect} {ruling.text}."
    return verdict.reason

"""`shipmate check`: what would happen, one JSON verdict a line, and nothing does."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import typer

from shipmate.cli.choices import Shell
from shipmate.config import document
from shipmate.config.check import checked
from shipmate.config.directory import data_directory
from shipmate.config.settings import Settings
from shipmate.errors import ConfigError
from shipmate.llm.invariants import check_request as broken_rules
from shipmate.safety.paths import HOST, WRITES, Op, decide_path
from shipmate.safety.paths_spelling import Platform
from shipmate.safety.shell.risk import told
from shipmate.safety.urls import check_url as judge_url
from shipmate.session.projects import find_project, project_folder


class ShellLine(msgspec.Struct, forbid_unknown_fields=True):
    command: str
    shell: Shell | None = None


class PathLine(msgspec.Struct, forbid_unknown_fields=True):
    path: str
    op: Op = "read"
    root: str = ""
    platform: Platform | None = None
    """By whose rules it is spelled; else those of this machine."""


class UrlLine(msgspec.Struct):
    url: str
    resolver: list[str] | None = None
    """Addresses that its name is taken to stand for; no name is looked up here."""
    redirect_to: str | None = None
    """Where its server is taken to point to."""


def check_config(file: str, data: Path | None) -> int:
    """Exit status 2 when something is wrong."""
    place = Path(file) if file and file != "-" else data_directory(data) / "config.toml"
    text = sys.stdin.read() if file == "-" else document.read(place)
    name = "standard input" if file == "-" else str(place)
    problems: list[str] = []
    try:
        checked(document.parse(text, Path(name)), Settings, name)
    except ConfigError as error:
        problems = str(error).split("\n")
    _say({"file": name, "ok": not problems, "problems": problems})
    return 2 if problems else 0


def check_shell(shell: Shell, project: str, data: Path | None) -> int:
    from shipmate.safety.shell import check_shell as judge  # the parsers are slow to import

    ruled = _with_rules(project, data) if project else None

    def judged(line: str) -> dict[str, Any]:
        asked = _line(line, ShellLine, "command")
        kind = asked.shell or shell
        verdict = judge(asked.command, kind.value)
        return {
            "command": asked.command,
            "shell": kind.value,
            "verdict": verdict.verdict,
            "reason": verdict.reason,
            "rule": verdict.rule,
            "commands": [list(map(told, words)) for words in verdict.commands],
            **(ruled(asked.command) if ruled and kind is Shell.BASH else {}),
        }

    return _each(judged)


def _with_rules(project: str, data: Path | None) -> Callable[[str], dict[str, Any]]:
    """What the rules in force in a project make of a command, which bash runs there."""
    from shipmate.cli.rules import known, projects
    from shipmate.safety.rules.trial import tried

    there = projects(data)
    key, root = find_project(there, project), project_folder(there, project)
    rules = [rule for rule in known(data) if rule.holds("", key)]

    def ruled(command: str) -> dict[str, Any]:
        trial = tried("shell", command, rules, root)
        texts = [f"{rule.effect} {rule.text}" for rule in trial.rules]
        return {"with_rules": trial.verdict, "rules": texts, "suggested": trial.suggested}

    return ruled


def check_path(root: Path) -> int:
    def judged(line: str) -> dict[str, Any]:
        asked = _line(line, PathLine, "path")
        place = Path(asked.root) if asked.root else root
        decision = decide_path(asked.op, asked.path, place, platform=asked.platform or HOST)
        bypassed = decision.verdict == "ask" and asked.op in WRITES
        return {
            "op": asked.op,
            "path": asked.path,
            "verdict": decision.verdict,
            "with_bypass": "allow" if bypassed else decision.verdict,
            "reason": decision.reason,
            "relative": decision.relative,
        }

    return _each(judged)


def check_url() -> int:
    def judged(line: str) -> dict[str, Any]:
        asked = _line(line, UrlLine, "url")
        found = judge_url(asked.url, asked.resolver or (), asked.redirect_to or "")
        return {
            "url": asked.url,
            "verdict": found.verdict,
            "reason": found.reason,
            "rule": found.rule,
            "requested": found.url,
        }

    return _each(judged)


def check_request() -> int:
    def judged(line: str) -> dict[str, Any]:
        body: Any = msgspec.json.decode(line)
        if not isinstance(body, dict):
            return {"ok": False, "broken": ["the body is no JSON object"]}
        broken = broken_rules(cast("dict[str, Any]", body))
        return {"ok": not broken, "broken": broken}

    return _each(judged)


def _each(judge: Callable[[str], dict[str, Any]]) -> int:
    """Judge each line; one that is no question is answered with an error of its own."""
    for line in _lines():
        try:
            _say(judge(line))
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            _say({"error": f"This line is not understood: {error}"})
    return 0


def _lines() -> Iterator[str]:
    """Lines of standard input, ended at LF only; empty ones are left out."""
    for raw in sys.stdin.buffer:
        line = raw.decode("utf-8", "surrogateescape").removesuffix("\n").removesuffix("\r")
        if line.strip():
            yield line


def _line(line: str, kind: Any, plain: str) -> Any:
    """A JSON object, or plain text that means its one field."""
    if line.lstrip().startswith("{"):
        try:
            return msgspec.json.decode(line, type=kind)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            pass  # a command may begin with a brace
    return kind(**{plain: line})


def _say(value: dict[str, Any]) -> None:
    typer.echo(msgspec.json.encode(value))
    sys.stdout.flush()

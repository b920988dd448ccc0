"""`shipmate rule` and `shipmate pending`: through the running server, or in the database itself."""

import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import typer

from shipmate.cli.either import either
from shipmate.cli.server_file import Running, call
from shipmate.config import Config
from shipmate.config.directory import data_directory
from shipmate.database.sql_store import SqlStore
from shipmate.protocol import ApprovalRequest, Pending, SessionRow
from shipmate.safety.rules.rule import Rule
from shipmate.safety.rules.trial import Trial
from shipmate.safety.unseen import visible
from shipmate.session.projects import ProjectSettings
from shipmate.session.rulebook import RuleBook

T = TypeVar("T")
PATH = "/api/agent/rules"


class _Rules(msgspec.Struct):
    rules: list[Rule]


class _Waiting(msgspec.Struct):
    session: SessionRow
    items: list[Pending]


class _WaitingList(msgspec.Struct):
    waiting: list[_Waiting]


def list_rules(data: Path | None, json: bool) -> int:
    rules = known(data)
    for rule in rules:
        typer.echo(msgspec.json.encode(rule) if json else _line(rule))
    if not rules and not json:
        typer.echo("There are no rules.", err=True)
    return 0


def known(data: Path | None) -> Sequence[Rule]:
    """All rules there are."""

    def there(server: Running) -> Sequence[Rule]:
        return msgspec.convert(call(server, "GET", PATH), _Rules).rules

    return _either(data, there, lambda book: book.rules())


def add(data: Path | None, effect: str, text: str, project: str, session: str, json: bool) -> int:
    scope = "session" if session else "project" if project else "everywhere"
    fields = {"effect": effect, "text": text, "scope": scope}
    fields |= {"project": project, "session": session}

    def there(server: Running) -> Rule:
        return msgspec.convert(call(server, "POST", PATH, fields), Rule)

    rule = _either(data, there, lambda book: book.write(**fields))
    typer.echo(msgspec.json.encode(rule) if json else _line(rule))
    return 0


def remove(data: Path | None, rule: str) -> int:
    _either(
        data,
        lambda server: call(server, "DELETE", f"{PATH}/{rule}"),
        lambda book: book.remove(rule),
    )
    typer.echo(f"Rule {rule} is removed.", err=True)
    return 0


def test(data: Path | None, kind: str, value: str, project: str, session: str) -> int:
    fields = {"kind": kind, "value": value, "project": project, "session": session}

    def there(server: Running) -> Trial:
        return msgspec.convert(call(server, "POST", f"{PATH}/test", fields), Trial)

    typer.echo(msgspec.json.encode(_either(data, there, lambda book: book.test(**fields))))
    return 0


def pending(data: Path | None, json: bool) -> int:
    def there(server: Running) -> list[_Waiting]:
        return msgspec.convert(call(server, "GET", "/api/agent/pending"), _WaitingList).waiting

    async def here(store: SqlStore) -> list[_Waiting]:
        return [_Waiting(row, items) for row, items in await store.pending()]

    waiting = either(data, there, here)
    for one in waiting:
        for item in one.items:
            typer.echo(msgspec.json.encode(item) if json else _waits(one.session, item))
    if not waiting and not json:
        typer.echo("Nothing waits.", err=True)
    return 0


def projects(data: Path | None) -> dict[str, ProjectSettings]:
    return dict(Config.load(data_directory(data)).settings.projects)


def _either(
    data: Path | None, there: Callable[[Running], T], here: Callable[[RuleBook], Awaitable[T]]
) -> T:
    async def opened(store: SqlStore) -> T:
        return await here(RuleBook(store, projects(data)))

    return either(data, there, opened)


def _line(rule: Rule) -> str:
    where: dict[str, Any] = {
        "session": f"session {rule.session}",
        "project": f"project {rule.project}",
        "everywhere": "everywhere",
    }
    off = "" if rule.enabled else "  (off)"
    return f"{rule.id}  {rule.effect:5}  {visible(rule.text)}  {where[rule.scope]}{off}"


def _waits(row: SessionRow, item: Pending) -> str:
    what = item.title if isinstance(item, ApprovalRequest) else item.question
    kind = "question" if not isinstance(item, ApprovalRequest) else item.level
    minutes = max(0, time.time_ns() // 1_000_000 - item.at) // 60_000
    who = f" (asked by {item.agent})" if item.agent else ""
    return visible(f"{row.id}  {row.project}  {kind}  {minutes} min  {what}{who}")

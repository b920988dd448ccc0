"""The user's rules: listed, written, tried out, switched off, removed."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, structs

from shipmate.handlers.errors import HttpError
from shipmate.handlers.house import House
from shipmate.handlers.route import Answer, Call, Input, Nothing, endpoint
from shipmate.safety.rules.rule import Effect, KeptScope, Rule
from shipmate.safety.rules.trial import Trial
from shipmate.session.rulebook import RuleBook

Text = Annotated[str, Meta(min_length=1, max_length=2000)]


class RuleList(msgspec.Struct, frozen=True):
    rules: list[Rule]
    """The oldest first."""


class WriteRule(Input, frozen=True, kw_only=True):
    effect: Effect
    text: Text
    """What it names: `shell:npm test`, `write:src/**`, `web:example.org`, `mcp:server/tool`."""
    scope: KeptScope
    project: str = ""
    """Id or name, for the scope `project`."""
    session: str = ""
    """For the scope `session`."""


class EditRule(Input, frozen=True, kw_only=True):
    effect: Effect | UnsetType = UNSET
    text: Text | UnsetType = UNSET
    scope: KeptScope | UnsetType = UNSET
    project: str | UnsetType = UNSET
    session: str | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET


class TryRule(Input, frozen=True, kw_only=True):
    kind: Literal["shell", "write", "read", "web", "mcp", "tool"]
    value: Text
    """The command, the path within the project, the host or address, `server/tool`, the tool."""
    project: str = ""
    """Whose rules hold as well; without it those for everywhere."""
    session: str = ""
    """Whose rules, and those of its project, hold as well."""


def _book(house: House) -> RuleBook:
    return RuleBook(house.executor.store, house.config.settings.projects)


@endpoint("GET", "/api/agent/rules", scope="read", answer=RuleList)
async def rules(call: Call[Nothing]) -> Answer:
    """All rules, those too that are switched off."""
    return RuleList(list(await _book(call.house).rules()))


@endpoint("POST", "/api/agent/rules", scope="approve", body=WriteRule, answer=Rule, status=201)
async def write_rule(call: Call[WriteRule]) -> Answer:
    """Write a rule. One that is there already is answered as it is, in force again. 422: the
    text is no rule, or a rule may not allow that. A rule for `everywhere` needs `admin`."""
    if call.given.scope == "everywhere":
        call.caller.must("admin")
    return await _book(call.house).write(**structs.asdict(call.given))


@endpoint("PATCH", "/api/agent/rules/{rule}", scope="approve", body=EditRule, answer=Rule)
async def edit_rule(call: Call[EditRule]) -> Answer:
    """Change a rule, or switch it off and on. One that becomes the same as another takes its
    place."""
    fields = {k: v for k, v in structs.asdict(call.given).items() if v is not UNSET}
    if not fields:
        raise HttpError(422, "invalid", "The body does not fit: it changes nothing.")
    book, rule = _book(call.house), call.path["rule"]
    if "everywhere" in (fields.get("scope"), (await book.rule(rule)).scope):
        call.caller.must("admin")
    return await book.edit(rule, **fields)


@endpoint("DELETE", "/api/agent/rules/{rule}", scope="approve")
async def remove_rule(call: Call[Nothing]) -> None:
    """Remove a rule. What it decided stays decided."""
    book, rule = _book(call.house), call.path["rule"]
    if (await book.rule(rule)).scope == "everywhere":
        call.caller.must("admin")
    await book.remove(rule)


@endpoint("POST", "/api/agent/rules/test", scope="read", body=TryRule, answer=Trial)
async def try_rule(call: Call[TryRule]) -> Answer:
    """What a command, a path, a host or a tool would get now: the verdict, and the rules that
    decide. Nothing is run, opened or fetched."""
    given = call.given
    return await _book(call.house).test(given.kind, given.value, given.project, given.session)

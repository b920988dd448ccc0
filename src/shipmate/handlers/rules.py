"""The user's rules: listed, written, tried out, switched off, removed."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, structs

from shipmate.database.rules import unknown
from shipmate.handlers.body import given_fields
from shipmate.handlers.errors import HttpError
from shipmate.handlers.reach import check_rules_of, project_named, session_seen, usable
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


def _book(call: Call[Any]) -> RuleBook:
    return RuleBook(call.house.executor.store, usable(call))


async def _concerns(call: Call[Any], rule: Rule) -> bool:
    """Those for everywhere, of the projects that one may use, of the sessions that one sees."""
    if call.caller.everything or rule.scope == "everywhere":
        return True
    if rule.scope == "project":
        return rule.project in usable(call)
    return call.caller.sees(await call.house.executor.store.session(rule.session))


async def _one(call: Call[Any]) -> Rule:
    """The rule that the path names, if the caller may change it."""
    rule = await _book(call).rule(call.path["rule"])
    if not await _concerns(call, rule):
        raise unknown(rule.id)
    await _must_set(call, rule.scope, rule.project, rule.session)
    return rule


async def _must_set(call: Call[Any], scope: str, project: str, session: str) -> None:
    """A rule for everywhere is an admin's, one for a project or a session its owner's."""
    if scope == "everywhere":
        call.caller.must("admin")
    elif scope == "project":
        check_rules_of(call, project_named(call, project))
    elif not call.caller.owns(await session_seen(call, session)):
        raise HttpError(403, "read_only", "This session is shared with you to be read only.")


@endpoint("GET", "/api/agent/rules", scope="read", answer=RuleList)
async def rules(call: Call[Nothing]) -> Answer:
    """All rules that concern the caller, those too that are switched off."""
    return RuleList([one for one in await _book(call).rules() if await _concerns(call, one)])


@endpoint(
    "POST",
    "/api/agent/rules",
    scope="approve",
    body=WriteRule,
    answer=Rule,
    status=201,
    audit=("effect", "text", "scope", "project", "session"),
)
async def write_rule(call: Call[WriteRule]) -> Answer:
    """Write a rule. One that is there already is answered as it is, in force again. 422: the
    text is no rule, or a rule may not allow that. A rule for `everywhere` needs `admin`."""
    given = call.given
    await _must_set(call, given.scope, given.project, given.session)
    return await _book(call).write(**structs.asdict(given))


@endpoint(
    "PATCH",
    "/api/agent/rules/{rule}",
    scope="approve",
    body=EditRule,
    answer=Rule,
    audit=("effect", "text", "scope", "enabled"),
)
async def edit_rule(call: Call[EditRule]) -> Answer:
    """Change a rule, or switch it off and on. One that becomes the same as another takes its
    place."""
    fields = given_fields(call.given)
    after = structs.replace(await _one(call), **fields)
    await _must_set(call, after.scope, after.project, after.session)
    return await _book(call).edit(after.id, **fields)


@endpoint("DELETE", "/api/agent/rules/{rule}", scope="approve", audit=())
async def remove_rule(call: Call[Nothing]) -> None:
    """Remove a rule. What it decided stays decided."""
    await _book(call).remove((await _one(call)).id)


@endpoint("POST", "/api/agent/rules/test", scope="read", body=TryRule, answer=Trial)
async def try_rule(call: Call[TryRule]) -> Answer:
    """What a command, a path, a host or a tool would get now: the verdict, and the rules that
    decide. Nothing is run, opened or fetched."""
    given = call.given
    if given.session:
        await session_seen(call, given.session)
    return await _book(call).test(given.kind, given.value, given.project, given.session)

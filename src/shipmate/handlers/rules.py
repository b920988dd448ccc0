"""The user's rules: listed, written, tried out, switched off, removed."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, structs

from shipmate.handlers.errors import HttpError
from shipmate.handlers.house import House
from shipmate.handlers.route import Answer, Call, Input, Nothing, endpoint
from shipmate.protocol import new_id
from shipmate.safety.rules.rule import Effect, KeptScope, Rule, checked
from shipmate.safety.rules.trial import Trial, tried
from shipmate.session.projects import find_project, project_folder

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
    """Whose rules hold as well."""


@endpoint("GET", "/api/agent/rules", scope="read", answer=RuleList)
async def rules(call: Call[Nothing]) -> Answer:
    """All rules, those too that are switched off."""
    return RuleList(list(await call.house.executor.store.rules()))


@endpoint("POST", "/api/agent/rules", scope="approve", body=WriteRule, answer=Rule, status=201)
async def write_rule(call: Call[WriteRule]) -> Answer:
    """Write a rule. One that is there already is answered as it is, in force again. 422: the
    text is no rule, or a rule may not allow that. A rule for `everywhere` needs `admin`."""
    given = call.given
    rule = Rule(id=new_id(), **structs.asdict(given))
    return await call.house.executor.store.add_rule(await _fit(call, rule))


@endpoint("PATCH", "/api/agent/rules/{rule}", scope="approve", body=EditRule, answer=Rule)
async def edit_rule(call: Call[EditRule]) -> Answer:
    """Change a rule, or switch it off and on. One that becomes the same as another takes its
    place."""
    fields = {k: v for k, v in structs.asdict(call.given).items() if v is not UNSET}
    if not fields:
        raise HttpError(422, "invalid", "The body does not fit: it changes nothing.")
    store = call.house.executor.store
    before = await _one(call)
    after = await _fit(call, structs.replace(before, **fields))
    return await store.change_rule(before.id, lambda _: after)


@endpoint("DELETE", "/api/agent/rules/{rule}", scope="approve")
async def remove_rule(call: Call[Nothing]) -> None:
    """Remove a rule. What it decided stays decided."""
    rule = await _one(call)
    await call.house.executor.store.remove_rule(rule.id)


@endpoint("POST", "/api/agent/rules/test", scope="read", body=TryRule, answer=Trial)
async def try_rule(call: Call[TryRule]) -> Answer:
    """What a command, a path, a host or a tool would get now: the verdict, and the rules that
    decide. Nothing is run, opened or fetched."""
    given, house = call.given, call.house
    project = _project(house, given.project) if given.project else ""
    root = project_folder(house.config.settings.projects, project) if project else Path()
    if given.session:
        await house.executor.store.session(given.session)
    known = await house.executor.store.rules()
    held = [rule for rule in known if rule.holds(given.session, project)]
    return tried(given.kind, given.value, held, root)


def _project(house: House, wanted: str) -> str:
    return find_project(house.config.settings.projects, wanted)


async def _one(call: Call[EditRule] | Call[Nothing]) -> Rule:
    """The rule that the path names; those for everywhere are for who may set things."""
    wanted = call.path["rule"]
    known = await call.house.executor.store.rules()
    found = next((rule for rule in known if rule.id == wanted), None)
    if found is None:
        raise HttpError(404, "not_found", f"There is no rule {wanted!r}; it may have been removed.")
    if found.scope == "everywhere":
        call.caller.must("admin")
    return found


async def _fit(call: Call[WriteRule] | Call[EditRule], rule: Rule) -> Rule:
    """The rule with what its scope needs and nothing else."""
    if rule.scope == "everywhere":
        call.caller.must("admin")
    if rule.scope == "session":
        await call.house.executor.store.session(rule.session)
    project = _project(call.house, rule.project) if rule.scope == "project" else ""
    session = rule.session if rule.scope == "session" else ""
    return checked(structs.replace(rule, project=project, session=session))

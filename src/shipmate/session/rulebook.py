"""The user's rules, as they are listed, written, tried out, changed and removed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import structs

from shipmate.database.store import Store
from shipmate.errors import NotFoundError
from shipmate.protocol import new_id
from shipmate.safety.rules.rule import Rule, checked
from shipmate.safety.rules.trial import Trial, tried
from shipmate.session.projects import ProjectSettings, find_project, project_folder


@dataclass(frozen=True, slots=True)
class RuleBook:
    store: Store
    projects: Mapping[str, ProjectSettings]

    async def rules(self) -> Sequence[Rule]:
        """All of them, the oldest first; those too that are switched off."""
        return await self.store.rules()

    async def rule(self, wanted: str) -> Rule:
        for rule in await self.store.rules():
            if rule.id == wanted:
                return rule
        raise NotFoundError(f"There is no rule {wanted!r}; it may have been removed.")

    async def write(self, **fields: Any) -> Rule:
        """Write a rule; where there is the same, that one is in force again."""
        return await self.store.add_rule(await self._fit(Rule(id=new_id(), **fields)))

    async def edit(self, rule: str, **fields: Any) -> Rule:
        """Change a rule. One that becomes the same as another takes its place."""
        await self._fit(structs.replace(await self.rule(rule), **fields))

        def revise(kept: Rule) -> Rule:
            return self._placed(structs.replace(kept, **fields))

        return await self.store.change_rule(rule, revise)

    async def remove(self, rule: str) -> None:
        await self.store.remove_rule(rule)

    async def test(self, kind: str, value: str, project: str = "", session: str = "") -> Trial:
        """What a command, a path, a host, a tool would get by the rules in force there."""
        if session:
            project = (await self.store.session(session)).project
        project = find_project(self.projects, project) if project else ""
        root = project_folder(self.projects, project) if project else Path()
        held = [rule for rule in await self.store.rules() if rule.holds(session, project)]
        return tried(kind, value, held, root)

    async def _fit(self, rule: Rule) -> Rule:
        """The rule with what its scope needs, and nothing else."""
        if rule.scope == "session":
            await self.store.session(rule.session)
        return checked(self._placed(rule))

    def _placed(self, rule: Rule) -> Rule:
        project = find_project(self.projects, rule.project) if rule.scope == "project" else ""
        session = rule.session if rule.scope == "session" else ""
        return structs.replace(rule, project=project, session=session)

"""Puts an agent together for one session: profile, model, tools, folder."""

import asyncio
import contextlib
import shutil
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from shipmate.agent.budgets import Budgets
from shipmate.agent.instructions import instructions
from shipmate.agent.profile import COMPACT_AT, Agent, Profile, Team
from shipmate.errors import NotFoundError
from shipmate.llm.chain import Chain, Outages
from shipmate.llm.model import Model
from shipmate.mcp.shelf import NO_OFFER, Offer, Wanted
from shipmate.protocol import SessionRow
from shipmate.safety.sandbox.room import SandboxSettings
from shipmate.session.projects import ProjectSettings, find_project, project_folder
from shipmate.tools.agents import call_agent, introducing
from shipmate.tools.contents import OF_SESSION
from shipmate.tools.shell import end_background
from shipmate.tools.tool import Limits, Tool, ToolOutput, Web, Workspace


@dataclass(slots=True)
class Assembly:
    """What sessions are assembled from. The callables give what is set at that moment."""

    profiles: Callable[[], Mapping[str, Profile]]
    projects: Callable[[], Mapping[str, ProjectSettings]]
    models: Callable[[str], Model]
    """The model named `provider/model`; `NotFoundError` says what there is."""
    tools: Mapping[str, tuple[Tool, ...]]
    limits: Callable[[], Limits]
    data: Path
    """The data directory: no tool may look into it, except at the stored files."""
    web: Callable[[], Web | None] = lambda: None
    """The way to the network for tools; None: there is none."""
    compact_at: Callable[[], float] = lambda: COMPACT_AT
    budgets: Callable[[], Budgets] = Budgets
    mcp: Callable[[Wanted], Offer] = lambda _: NO_OFFER
    """The tools of MCP servers for one agent."""
    sandbox: Callable[[], SandboxSettings] = SandboxSettings
    history: Callable[[SessionRow, str, str, int], Awaitable[ToolOutput]] | None = None
    """Searches the conversations of a session's project."""
    outages: Outages = field(default_factory=Outages)

    async def assemble(self, row: SessionRow) -> Agent:
        """The session's agent."""
        return await self._agent(row, self._profile(row.agent))

    async def join(self, row: SessionRow, name: str, tools: Mapping[str, Tool] | None) -> Agent:
        """Another agent for a sub-task; see `agent.profile.Join`."""
        agent = await self._agent(row, self._profile(name))
        if tools is None:
            return agent
        return replace(
            agent,
            tools={n: t for n, t in agent.tools.items() if n in tools},
            shelf={n: t for n, t in agent.shelf.items() if n in tools},
        )

    async def _agent(self, row: SessionRow, profile: Profile) -> Agent:
        projects = self.projects()
        key = find_project(projects, row.project)
        root = project_folder(projects, key)
        models = (profile.model or row.provider, *profile.fallback)
        model = Chain(models, self.models, self.outages)
        work = Workspace(
            root=root,
            session=row.id,
            protected=(self.data,),
            files=self.data / "files",
            limits=self.limits(),
            vision=model.info.vision,
            web=self.web(),
            safe_commands=projects[key].run_safe_commands,
            sandbox=self.sandbox(),
            repository=projects[key].github,
            history=partial(self.history, row) if self.history else None,
        )
        team = Team(
            {name: one.description for name, one in self.profiles().items()},
            partial(self.join, row),
        )
        kept = await asyncio.to_thread(_without_repository, root, projects[key])
        names = (name for name in profile.providers if name not in kept)
        tools = {t.name: t for name in names for t in self.tools.get(name, ())}
        allowed = projects[key].mcp
        offer = self.mcp(Wanted(profile.providers, allowed, model.info.context_length))
        tools |= offer.tools
        if (calling := tools.get(call_agent.name)) is not None:
            tools[calling.name] = introducing(calling, team.agents)
        prompt = profile.prompt + await instructions(work)
        scripted = row.provider.startswith("scripted/")
        return Agent(
            profile,
            model,
            prompt,
            tools,
            work,
            titles=not scripted,
            team=team,
            compact_at=self.compact_at(),
            budgets=self.budgets(),
            shelf=offer.shelf,
        )

    async def discard(self, session: str, files: Collection[str] = ()) -> None:
        """A session was deleted: its background commands end, its stored outputs and contents go,
        and the stored files that no other one shows."""
        await end_background(session)
        for kept in OF_SESSION:
            folder = self.data / "files" / kept / session
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        for file in files:
            with contextlib.suppress(OSError):  # gone, or no file of ours
                (self.data / "files" / file).unlink()

    def _profile(self, name: str) -> Profile:
        profiles = self.profiles()
        if name not in profiles:
            known = ", ".join(sorted(profiles))
            raise NotFoundError(f"There is no agent {name!r}. Known agents: {known}.")
        return profiles[name]


def _without_repository(root: Path, project: ProjectSettings) -> frozenset[str]:
    """Providers that have nothing to work on: where no repository can be, none is spoken of."""
    known = project.github or (root / ".git").exists()
    return frozenset() if known else frozenset({"github"})

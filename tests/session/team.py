"""A server with several agents, each with a scripted model of its own."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from shipmate.agent.budgets import NO_BUDGETS, Budgets
from shipmate.agent.profile import Profile
from shipmate.llm.invariants import check_request
from shipmate.llm.model import ChatMessage, Reply
from shipmate.llm.scripted import DEMO, ScriptedModel, Step, call
from shipmate.protocol import ToolCall, ToolResult
from shipmate.session.assembly import Assembly
from shipmate.session.projects import ProjectSettings
from shipmate.tools import agents, read_only
from shipmate.tools.tool import Limits
from tests.play import Stage, stage
from tests.session.trade import TOOLS

BY_PROVIDER = {
    name: tuple(tool for tool in TOOLS if tool.provider == name)
    for name in ("read_only", "read_write", "shell", "web", "ask", "todo")
} | {"agents": agents.TOOLS}
REAL = BY_PROVIDER | {"read_only": read_only.TOOLS}
ALL = tuple(BY_PROVIDER)


@dataclass
class TeamStage(Stage):
    models: Mapping[str, ScriptedModel] = field(default_factory=dict[str, ScriptedModel])
    """By the name of the agent; that of `assistant` is `model`."""

    def sent(self, agent: str, number: int = -1) -> tuple[ChatMessage, ...]:
        """The messages of one request to the model of an agent."""
        return self.models[agent].requests[number].messages

    def broken(self) -> list[str]:
        """The rules that any request to any of the models broke."""
        requests = [r.messages for model in self.models.values() for r in model.requests]
        return [rule for sent in requests for rule in check_request({"messages": wire(sent)})]


@asynccontextmanager
async def team(
    folder: Path,
    *,
    pause: float = 0,
    steps: int = 50,
    providers: Mapping[str, tuple[str, ...]] | None = None,
    budgets: Budgets = NO_BUDGETS,
    window: int = 128_000,
    real: bool = False,
    **scripts: Iterable[Step],
) -> AsyncGenerator[TeamStage]:
    """A server on `folder`. Each agent has all tools, unless `providers` names others, and may
    take so many `steps`; `window`: tokens of every model;
    `real`: they read with the real tools."""
    root = (folder / "project").resolve()
    root.mkdir(exist_ok=True)
    info = replace(DEMO, context_length=window)
    models = {
        name: ScriptedModel(script, pause=pause, info=info) for name, script in scripts.items()
    }
    profiles = {
        name: Profile(
            name,
            f"The {name}.",
            f"You are the {name}.",
            (providers or {}).get(name, ALL),
            f"scripted/{name}",
            steps if name != "assistant" else 50,
        )
        for name in models
    }
    assembly = Assembly(
        profiles=lambda: profiles,
        projects=lambda: {"demo": ProjectSettings(path=str(root))},
        models=lambda name: models[name.partition("/")[2]],
        tools=REAL if real else BY_PROVIDER,
        limits=Limits,
        data=folder / "data",
        budgets=lambda: budgets,
    )
    async with stage(folder, (), tools=(), assemble=assembly.assemble) as play:
        yield TeamStage(play.executor, models["assistant"], play.store, models)


def ask(agent: str, task: str) -> Reply:
    return call("call_agent", agent=agent, task=task)


def wire(sent: tuple[ChatMessage, ...]) -> list[dict[str, object]]:
    """Messages as a provider is sent them."""
    made: list[dict[str, object]] = []
    for message in sent:
        one: dict[str, object] = {"role": message.role, "content": message.text}
        if message.calls:
            one["tool_calls"] = [
                {"id": c.id, "function": {"name": c.name, "arguments": c.arguments}}
                for c in message.calls
            ]
        if message.role == "tool":
            one["tool_call_id"] = message.call
        made.append(one)
    return made


async def result_of(play: TeamStage, session: str, tool: str = "call_agent") -> list[ToolResult]:
    """The results of the calls of a tool in the main thread, in the order of the calls."""
    calls = [c.id for c in await play.blocks(session, ToolCall) if c.name == tool and not c.parent]
    results = {r.call: r for r in await play.blocks(session, ToolResult)}
    return [results[one] for one in calls if one in results]


async def waits(play: TeamStage, session: str) -> bool:
    row = await play.row(session)
    return row.status == "running" and row.pending_approval != ""


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    while not await holds():
        await asyncio.sleep(0.005)

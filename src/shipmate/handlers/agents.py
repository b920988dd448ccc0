"""Agents: their prompts, tools and limits; adding, changing and removing one."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shipmate.agent.profile import BUILT_IN
from shipmate.errors import ConflictError, did_you_mean
from shipmate.github.tools import PROVIDER as GITHUB
from shipmate.github.tools import GitHubTools
from shipmate.handlers.body import given_fields
from shipmate.handlers.errors import HttpError
from shipmate.handlers.fresh import check_agent
from shipmate.handlers.house import House
from shipmate.handlers.route import Answer, Call, Input, Nothing, endpoint
from shipmate.mcp.tools import PROVIDER
from shipmate.tools.catalog import BUILTIN

AGENTS = "/api/agents"
ONE = AGENTS + "/{agent}"


class AgentProfile(msgspec.Struct, frozen=True):
    id: str
    description: str
    prompt: str
    providers: tuple[str, ...]
    """Tool providers it may use."""
    model: str
    """`provider/model`; empty: the session's."""
    max_steps: int
    """Replies of the model in one round."""
    fallback: tuple[str, ...]
    """Models that stand in while its own fails, the first choice first."""
    source: Literal["built-in", "config", "file"]
    """Where it stands: in the program, in `config.toml`, in a Markdown file."""
    built_in: bool
    """Removing it brings the built-in one back."""


class ToolGroup(msgspec.Struct, frozen=True):
    id: str
    tools: tuple[str, ...]
    """Their names; none of an MCP server, whose page has them."""


class AgentPage(msgspec.Struct, frozen=True):
    agents: list[AgentProfile]
    tools: list[ToolGroup]
    """What can be given to an agent."""


class ChangeAgent(Input, frozen=True, kw_only=True):
    description: Annotated[str, Meta(max_length=500)] | UnsetType = UNSET
    prompt: Annotated[str, Meta(max_length=200_000)] | UnsetType = UNSET
    providers: tuple[str, ...] | UnsetType = UNSET
    model: str | UnsetType = UNSET
    max_steps: Annotated[int, Meta(ge=1, le=10_000)] | UnsetType = UNSET
    fallback: Annotated[tuple[str, ...], Meta(max_length=10)] | UnsetType = UNSET


class NewAgent(Input, frozen=True, kw_only=True):
    id: Annotated[str, Meta(min_length=1, max_length=40)]
    text: Annotated[str, Meta(max_length=300_000)]
    """A Markdown file: settings between lines of `---`, the prompt below."""


@endpoint("GET", AGENTS, scope="read", answer=AgentPage)
async def agents(call: Call[Nothing]) -> Answer:
    """The agents with their prompts, and the tools that can be given to them."""
    return _page(call.house)


@endpoint("POST", AGENTS, scope="admin", body=NewAgent, answer=AgentPage, status=201, audit=("id",))
async def add_agent(call: Call[NewAgent]) -> Answer:
    """Add an agent as a Markdown file of the data directory. What does not fit is named with its
    line."""
    house, given = call.house, call.given
    if given.id in house.profiles():
        raise ConflictError(f"There is an agent {given.id!r} already; choose another name.")
    await asyncio.to_thread(house.config.add_agent_file, given.id, given.text)
    return _page(house)


@endpoint("PATCH", ONE, scope="admin", body=ChangeAgent, answer=AgentPage, audit=())
async def change_agent(call: Call[ChangeAgent]) -> Answer:
    """Change an agent where it stands; of a built-in one the changes go to `config.toml`. It holds
    from the next round on."""
    house = call.house
    name = check_agent(house.profiles(), call.path["agent"])
    fields = given_fields(call.given)
    if call.given.providers is not UNSET:
        _check_tools(house, call.given.providers)
    if call.given.model:
        _check_model(house, str(call.given.model))
    if call.given.fallback:
        for model in call.given.fallback:
            _check_model(house, model)
    await asyncio.to_thread(house.config.set_agent, name, msgspec.to_builtins(fields))
    return _page(house)


@endpoint("DELETE", ONE, scope="admin", answer=AgentPage, audit=())
async def remove_agent(call: Call[Nothing]) -> Answer:
    """Remove an agent, with its file; of a built-in one only what was changed."""
    name = check_agent(call.house.profiles(), call.path["agent"])
    if name not in call.house.config.agents:
        raise ConflictError(f"{name} is built in and unchanged; it cannot be removed.")
    await asyncio.to_thread(call.house.config.remove_agent, name)
    return _page(call.house)


def _page(house: House) -> AgentPage:
    config = house.config

    def source(name: str) -> Literal["built-in", "config", "file"]:
        if name in config.agent_files:
            return "file"
        return "config" if name in config.agents else "built-in"

    details = [
        AgentProfile(
            name,
            one.description,
            one.prompt,
            one.providers,
            one.model,
            one.max_steps,
            one.fallback,
            source(name),
            name in BUILT_IN,
        )
        for name, one in house.profiles().items()
    ]
    return AgentPage(details, _groups(house))


def _groups(house: House) -> list[ToolGroup]:
    known = {**BUILTIN, GITHUB: GitHubTools(house.github).all()}
    ours = [ToolGroup(name, tuple(tool.name for tool in group)) for name, group in known.items()]
    servers = ("*", *house.config.settings.mcp.servers)
    return [*ours, *(ToolGroup(PROVIDER + name, ()) for name in servers)]


def _check_tools(house: House, wanted: Sequence[str]) -> None:
    known = [group.id for group in _groups(house)]
    for name in wanted:
        if name not in known:
            raise HttpError(
                422, "invalid", f"There are no tools {name!r}{did_you_mean(name, known)}"
            )


def _check_model(house: House, model: str) -> None:
    known = [row.id for row in house.providers.models()]
    if model not in known:
        raise HttpError(422, "invalid", f"There is no model {model!r}{did_you_mean(model, known)}")

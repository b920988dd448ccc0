"""What the server offers: agents, models by provider, projects."""

import asyncio
import contextlib
from itertools import groupby

import msgspec

from shipmate import __version__
from shipmate.handlers.house import House
from shipmate.handlers.mcp_view import ServerView, server_views
from shipmate.handlers.projects import Project, projects_of
from shipmate.handlers.route import Answer, Call, Nothing, endpoint
from shipmate.llm.listing import ModelListing
from shipmate.mcp.server import State

SETTLE_S = 1.5
"""How long the first page waits for the model servers that are looked for after the start."""


class AgentView(msgspec.Struct, frozen=True):
    id: str
    description: str


class ModelView(msgspec.Struct, frozen=True):
    id: str
    """Within its provider; a session's `provider` is `<provider>/<model>`."""
    name: str
    context_length: int
    context_source: str
    """config, table, server, or default: nobody knows it, 128,000 is assumed."""
    vision: bool
    thinking: bool
    price: dict[str, float]
    """Per million tokens: input, cached, output. Empty: not known."""
    available: bool
    reason: str
    """Why it cannot be used now, and what to do."""
    download_size: int
    """Bytes to fetch before it can be used."""


class ProviderModels(msgspec.Struct, frozen=True):
    id: str
    name: str
    available: bool
    """At least one model is."""
    models: list[ModelView]


class McpServerBrief(msgspec.Struct, frozen=True):
    name: str
    state: State
    tools: int
    """Those that are on."""


class Info(msgspec.Struct, frozen=True):
    version: str
    agents: list[AgentView]
    providers: list[ProviderModels]
    default_model: str
    """For a new session when none was chosen."""
    projects: list[Project]
    mcp_servers: list[McpServerBrief]


@endpoint("GET", "/api/agent/info", scope="read", answer=Info)
async def info(call: Call[Nothing]) -> Answer:
    """Agents, providers and their models, projects, MCP servers, the version."""
    house = call.house
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(house.settled.wait(), SETTLE_S)
    return Info(
        __version__,
        [AgentView(name, one.description) for name, one in house.profiles().items()],
        by_provider(house),
        house.providers.default(),
        projects_of(call),
        [_brief(one) for one in server_views(house)],
    )


def _brief(server: ServerView) -> McpServerBrief:
    on = sum(tool.state == "on" for tool in server.tools)
    return McpServerBrief(server.name, server.state, on)


def by_provider(house: House) -> list[ProviderModels]:
    """The model selector's groups, in the order of the configuration."""
    groups: list[ProviderModels] = []
    for provider, rows in groupby(house.providers.models(), key=lambda row: row.provider):
        listed = list(rows)
        usable = any(row.available for row in listed)
        views = [_view(row) for row in listed]
        groups.append(ProviderModels(provider, listed[0].provider_title, usable, views))
    return groups


def _view(row: ModelListing) -> ModelView:
    return ModelView(
        id=row.id.partition("/")[2],
        name=row.title,
        context_length=row.context_length,
        context_source=row.context_source,
        vision=row.vision,
        thinking=row.thinking,
        price=dict(row.price),
        available=row.available,
        reason=row.reason,
        download_size=row.download_size,
    )

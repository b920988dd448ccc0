"""MCP servers: their state and tools, adding and removing one, accepting what has changed."""

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType, structs

from shipmate.errors import ConflictError, NotFoundError, ShipmateError
from shipmate.handlers.errors import HttpError
from shipmate.handlers.house import House
from shipmate.handlers.mcp_view import (
    McpPage,
    PresetView,
    ProposalView,
    ServerList,
    ServerView,
    preset_views,
    proposal_view,
    server_views,
)
from shipmate.handlers.reach import usable
from shipmate.handlers.route import Answer, Call, Input, Nothing, endpoint
from shipmate.mcp.foreign import as_object
from shipmate.mcp.proposals import chosen, proposals
from shipmate.mcp.settings import CLIENT_SECRET, McpOAuth, McpServerSettings, Value
from shipmate.session.projects import project_folder

SERVERS = "/api/agent/mcp"
ONE = SERVERS + "/{name}"
REFRESH_S = 16.0
"""How long the answer to a refresh waits for servers; they go on after it."""


class McpSetup(Input, frozen=True, kw_only=True):
    """A server as it is to be. What is left out of a change stays as it is."""

    transport: str | UnsetType = UNSET
    """stdio, http or sse."""
    command: tuple[str, ...] | UnsetType = UNSET
    cwd: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    env: dict[str, Value] | UnsetType = UNSET
    headers: dict[str, Value] | UnsetType = UNSET
    oauth: McpOAuth | UnsetType | None = UNSET
    """As whom to sign in, where that was registered by hand; null: no more. The secret comes in
    `keys`, as `client_secret`."""
    enabled: bool | UnsetType = UNSET
    call_timeout: float | UnsetType = UNSET
    always_ask: bool | UnsetType = UNSET
    off: tuple[str, ...] | UnsetType = UNSET
    """Tools that are not offered."""
    keys: dict[str, str] = {}
    """Values of variables (over HTTP: of headers) that are kept among the secrets."""


class McpAdded(McpSetup, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=64)]


class McpProposed(Input, frozen=True, kw_only=True):
    """A proposal of a project, exactly as it was shown."""

    project: str
    name: str
    hash: str


class McpInstall(Input, frozen=True, kw_only=True):
    commands: tuple[tuple[str, ...], ...]
    """As they were shown; if others would run, none does."""


class McpRefresh(Input, frozen=True, kw_only=True):
    server: str = ""
    """Empty: all of them."""


class McpAccept(Input, frozen=True, kw_only=True):
    server: str
    tools: dict[str, str]
    """Names of tools, each with the `hash` it was shown with."""


@endpoint("GET", SERVERS, scope="read", answer=McpPage)
async def mcp_servers(call: Call[Nothing]) -> Answer:
    """The servers with their state and tools; those that can be installed; those that projects
    propose."""
    house = call.house
    servers = server_views(house, setup=call.caller.may("admin"))
    return McpPage(servers, preset_views(house), await _proposals(call))


@endpoint("POST", SERVERS, scope="admin", body=McpAdded, answer=ServerView, status=201)
async def add_mcp_server(call: Call[McpAdded]) -> Answer:
    """Add a server. It is connected in the background; its state tells what comes of it."""
    asked, house = call.given, call.house
    if asked.name in house.config.settings.mcp.servers:
        raise ConflictError(f"There is an MCP server {asked.name!r} already; change that one.")
    house.config.add_mcp_server(asked.name, _settings({}, asked), asked.keys)
    await house.pool.sync()
    return _one(house, asked.name)


@endpoint("PATCH", ONE, scope="admin", body=McpSetup, answer=ServerView)
async def change_mcp_server(call: Call[McpSetup]) -> Answer:
    """Change a server: switch it on or off, switch tools of it, how it is started."""
    name, house = call.path["name"], call.house
    known = house.config.settings.mcp.servers.get(name)
    if known is None:
        raise NotFoundError(f"There is no MCP server {name!r}.")
    house.config.add_mcp_server(name, _settings(structs.asdict(known), call.given), call.given.keys)
    await house.pool.sync()
    return _one(house, name)


@endpoint("DELETE", ONE, scope="admin")
async def remove_mcp_server(call: Call[Nothing]) -> None:
    """Remove a server: its processes end, what was accepted of it and its keys are forgotten."""
    name, house = call.path["name"], call.house
    house.config.remove_mcp_server(name)
    await house.pool.forget(name)


@endpoint("POST", SERVERS + "/refresh", scope="run", body=McpRefresh, answer=ServerList)
async def refresh_mcp(call: Call[McpRefresh]) -> Answer:
    """List the tools again, and try servers again that have failed. The answer comes when they
    are ready, or after a while."""
    await call.house.pool.refresh(call.given.server, REFRESH_S)
    views = server_views(call.house, setup=call.caller.may("admin"))
    return ServerList([one for one in views if call.given.server in ("", one.name)])


@endpoint("POST", SERVERS + "/accept", scope="admin", body=McpAccept, answer=ServerView)
async def accept_mcp_tools(call: Call[McpAccept]) -> Answer:
    """Accept new and changed tools of a server as they are now. Until then they are off."""
    house, asked = call.house, call.given
    server = house.pool.server(asked.server)
    for name, shown in asked.tools.items():
        tool = server.tool(name)
        if tool is None:
            raise NotFoundError(f"{asked.server} lists no tool {name!r}.")
        if tool.hash != shown:
            raise ConflictError(f"{name} has changed again since it was shown; look at it anew.")
    await server.accept(list(asked.tools))
    return _one(house, asked.server)


@endpoint("POST", SERVERS + "/proposals", scope="admin", body=McpProposed, answer=ServerView)
async def add_proposed_mcp_server(call: Call[McpProposed]) -> Answer:
    """Add a server that a project proposes. It is copied into the configuration, so that what
    the project says later changes nothing."""
    house, asked = call.house, call.given
    root = project_folder(usable(call), asked.project)
    settings = await asyncio.to_thread(chosen, root, asked.name, asked.hash)
    if asked.name in house.config.settings.mcp.servers:
        raise ConflictError(f"There is an MCP server {asked.name!r} already; remove that one.")
    house.config.add_mcp_server(asked.name, settings)
    await house.pool.sync()
    return _one(house, asked.name)


@endpoint(
    "POST", SERVERS + "/presets/{preset}", scope="admin", body=McpInstall, answer=PresetView,
    status=202,
)  # fmt: skip
async def install_mcp_preset(call: Call[McpInstall]) -> Answer:
    """Install a preset by the commands that were shown, in the background; then it is added."""
    preset = call.path["preset"]
    call.house.installer.install(preset, call.given.commands)
    return next(one for one in preset_views(call.house) if one.id == preset)


def _settings(known: dict[str, object], asked: McpSetup) -> McpServerSettings:
    names = [f.name for f in structs.fields(McpSetup) if f.name != "keys"]
    given = {name: getattr(asked, name) for name in names}
    fields = {**known, **{name: value for name, value in given.items() if value is not UNSET}}
    secret = asked.oauth.client_secret if isinstance(asked.oauth, McpOAuth) else ""
    if isinstance(secret, str) and secret:
        raise HttpError(422, "invalid", "Give the client_secret in `keys`, not in `oauth`.")
    place = "headers" if fields.get("transport") in ("http", "sse") else "env"
    own = {CLIENT_SECRET} if fields.get("oauth") else set[str]()
    # references come in the place of the empty texts when the keys are kept
    fields[place] = {**as_object(fields.get(place)), **dict.fromkeys(asked.keys.keys() - own, "")}
    try:
        return msgspec.convert(fields, McpServerSettings)
    except (msgspec.ValidationError, ValueError) as error:
        raise HttpError(422, "invalid", f"The body does not fit: {error}") from error


def _one(house: House, name: str) -> ServerView:
    return next(one for one in server_views(house, setup=True) if one.name == name)


async def _proposals(call: Call[Nothing]) -> list[ProposalView]:
    made: list[ProposalView] = []
    for project, settings in usable(call).items():
        root = Path(settings.path).expanduser()
        try:
            found = await asyncio.to_thread(proposals, root)
        except (OSError, ShipmateError):
            continue  # the folder is not there; the project's own page says so
        made += [proposal_view(project, one) for one in found]
    return made

"""What is shown of MCP servers: their state and tools, never a value of their environment."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from shipmate.handlers.house import House
from shipmate.mcp.definitions import Definition, Listed, differences
from shipmate.mcp.presets import PRESETS
from shipmate.mcp.proposals import Proposal
from shipmate.mcp.server import Server, State
from shipmate.mcp.settings import Value
from shipmate.safety.secrets import SecretRef


class ToolChange(msgspec.Struct, frozen=True):
    """A part of a tool that is not what was accepted."""

    part: str
    """title, description or schema."""
    before: str
    after: str


class ToolView(msgspec.Struct, frozen=True):
    name: str
    """As the server calls it."""
    title: str
    description: str
    alias: str
    """As models call it."""
    state: str
    """`on`; `off`: switched off; `new`: it was not there when the others were accepted;
    `changed`: it is not what was accepted."""
    changes: list[ToolChange]
    hash: str
    """Of all that is shown; accepting it names this."""


class ValueView(msgspec.Struct, frozen=True):
    name: str
    origin: str
    """`env:NAME`, `secret:NAME`, `keyring:NAME`; `text` for what is written in the file."""


class ServerView(msgspec.Struct, frozen=True):
    name: str
    transport: str
    command: Sequence[str]
    """This, and what else tells how it is set up, is empty for who is no admin: also `cwd`, `url`,
    `env`, `headers`, `client_id`, `error`, `tail` and `sign_in_url`."""
    cwd: str
    url: str
    env: Sequence[ValueView]
    headers: Sequence[ValueView]
    client_id: str
    """As whom it is signed in to, where that was registered by hand."""
    enabled: bool
    always_ask: bool
    call_timeout: float
    state: State
    error: str
    """Why it is not ready."""
    tail: str
    """Its last words on standard error."""
    sign_in_url: str
    """With the state `sign_in`: where a person signs in."""
    revision: str
    """Of the protocol, as agreed on."""
    noise: int
    """Lines of its output that were no messages."""
    problems: list[str]
    """What was wrong with its list of tools."""
    tools: list[ToolView]


_UNSHOWN: Mapping[str, Any] = {
    **dict.fromkeys(("command", "env", "headers"), ()),
    **dict.fromkeys(("cwd", "url", "client_id", "error", "tail", "sign_in_url"), ""),
}


class PresetView(msgspec.Struct, frozen=True):
    id: str
    title: str
    description: str
    package: str
    commands: list[list[str]]
    """What installing runs, word for word."""
    installed: bool
    configured: bool
    missing: str
    """What has to be installed first."""
    state: str
    """Empty, `running` or `failed`."""
    error: str


class ProposalView(msgspec.Struct, frozen=True):
    """A server that is named in a project's folder; it does not run by that."""

    project: str
    name: str
    file: str
    transport: str
    command: list[str]
    url: str
    env: list[str]
    """Names of the variables it would get."""
    problem: str
    hash: str
    """Adding it names this, so that exactly what was shown is added."""


class ServerList(msgspec.Struct, frozen=True):
    servers: list[ServerView]


class McpPage(msgspec.Struct, frozen=True):
    servers: list[ServerView]
    presets: list[PresetView]
    proposals: list[ProposalView]


def server_views(house: House, *, setup: bool = False) -> list[ServerView]:
    """Those that are configured, in their order; `setup`: with how they are started, what they
    wrote to standard error, and where one signs in for them, which is for admins."""
    made: list[ServerView] = []
    for name, settings in house.config.settings.mcp.servers.items():
        server = house.pool.servers.get(name)
        shown = view(server or Server(name, settings, house.pool.around))
        made.append(shown if setup else structs.replace(shown, **_UNSHOWN))
    return made


def view(server: Server) -> ServerView:
    settings = server.settings
    return ServerView(
        name=server.name,
        transport=settings.transport,
        command=list(settings.command),
        cwd=settings.cwd,
        url=settings.url.split("?")[0],
        env=_values(settings.env),
        headers=_values(settings.headers),
        client_id=settings.oauth.client_id if settings.oauth else "",
        enabled=settings.enabled,
        always_ask=settings.always_ask,
        call_timeout=settings.call_timeout,
        state=server.state,
        error=server.error,
        tail=server.last_words,
        sign_in_url=server.sign_in_url,
        revision=server.version,
        noise=server.noise,
        problems=list(server.problems),
        tools=[_tool(server, tool) for tool in server.tools],
    )


def _values(given: Mapping[str, Value]) -> list[ValueView]:
    return [
        ValueView(name, str(value) if isinstance(value, SecretRef) else "text")
        for name, value in given.items()
    ]


def _tool(server: Server, tool: Listed) -> ToolView:
    known = server.accepted.get(tool.name)
    return ToolView(
        name=tool.name,
        title=tool.definition.title,
        description=tool.definition.description,
        alias=tool.wire,
        state=_state(server, tool, known),
        changes=[
            ToolChange(part, before, after)
            for part, (before, after) in (
                differences(known, tool.definition).items() if known else ()
            )
        ],
        hash=tool.hash,
    )


def _state(server: Server, tool: Listed, known: Definition | None) -> str:
    if known is None:
        return "new"
    if known.hash != tool.hash:
        return "changed"
    return "off" if tool.name in server.settings.off else "on"


def preset_views(house: House) -> list[PresetView]:
    installer, known = house.installer, house.config.settings.mcp.servers
    made: list[PresetView] = []
    for name, preset in PRESETS.items():
        running = installer.states.get(name)
        made.append(
            PresetView(
                id=name,
                title=preset.title,
                description=preset.description,
                package=preset.package,
                commands=[list(command) for command in installer.commands(name)],
                installed=installer.installed(name),
                configured=name in known,
                missing=installer.missing(name),
                state=running.state if running else "",
                error=running.error if running else "",
            )
        )
    return made


def proposal_view(project: str, one: Proposal) -> ProposalView:
    settings = one.settings
    return ProposalView(
        project=project,
        name=one.name,
        file=one.file,
        transport=settings.transport if settings else "",
        command=list(settings.command) if settings else [],
        url=settings.url if settings else "",
        env=sorted(settings.env) if settings else [],
        problem=one.problem,
        hash=one.hash,
    )

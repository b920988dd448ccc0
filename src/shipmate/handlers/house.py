"""What handlers reach down to. Made once, by the composition root."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from shipmate.agent.profile import Profile
from shipmate.database.keys import Keys
from shipmate.database.users import Users
from shipmate.github.remote import Repositories
from shipmate.github.settings import GitHubSettings
from shipmate.handlers.fetches import Fetches
from shipmate.handlers.files import Pages
from shipmate.handlers.limits import Limits
from shipmate.handlers.place import Place
from shipmate.handlers.presence import Presence
from shipmate.handlers.tickets import Tickets
from shipmate.llm.providers import Providers
from shipmate.llm.settings import ProviderSettings
from shipmate.mcp.pool import Pool
from shipmate.mcp.presets import Installer
from shipmate.mcp.settings import McpServerSettings, McpSettings
from shipmate.safety.audit import Audit
from shipmate.safety.sandbox.room import SandboxSettings
from shipmate.safety.secrets import Secrets
from shipmate.session.executor import Executor
from shipmate.session.projects import ProjectSettings


class CompletionRules(Protocol):
    """How Chat Completions are answered."""

    @property
    def approvals(self) -> Literal["link", "deny"]: ...
    @property
    def model(self) -> str: ...


class Settings(Protocol):
    """What of the settings is shown here."""

    @property
    def interface(self) -> msgspec.Struct: ...
    @property
    def limits(self) -> msgspec.Struct: ...
    @property
    def budgets(self) -> msgspec.Struct: ...
    @property
    def web(self) -> msgspec.Struct: ...
    @property
    def server(self) -> msgspec.Struct: ...
    @property
    def projects(self) -> Mapping[str, ProjectSettings]: ...
    @property
    def providers(self) -> Mapping[str, ProviderSettings]: ...
    @property
    def mcp(self) -> McpSettings: ...
    @property
    def completions(self) -> CompletionRules: ...
    @property
    def sandbox(self) -> SandboxSettings: ...
    @property
    def github(self) -> GitHubSettings: ...


class Configuration(Protocol):
    """The configuration, and the only way to change it. What does not fit is a `ConfigError`."""

    @property
    def settings(self) -> Settings: ...
    @property
    def data(self) -> Path: ...
    @property
    def secrets(self) -> Secrets: ...
    def set(self, path: str | Sequence[str], value: Any) -> object: ...
    def add_project(self, path: str | Path, name: str = "") -> str: ...
    def set_project(self, project: str, **fields: Any) -> None: ...
    def remove_project(self, project: str) -> None: ...
    def add_provider(
        self, provider: str, settings: ProviderSettings, key: str | None = None
    ) -> None: ...
    def remove_provider(self, provider: str) -> None: ...
    @property
    def agents(self) -> Mapping[str, msgspec.Struct]: ...
    @property
    def agent_files(self) -> Mapping[str, msgspec.Struct]: ...
    def add_agent_file(self, agent: str, text: str) -> None: ...
    def set_agent(self, agent: str, fields: Mapping[str, Any]) -> None: ...
    def remove_agent(self, agent: str) -> None: ...
    def add_mcp_server(
        self, server: str, settings: McpServerSettings, keys: Mapping[str, str] = ...
    ) -> None: ...
    def remove_mcp_server(self, server: str) -> None: ...


@dataclass(slots=True)
class House:
    keys: Keys
    users: Users
    audit: Audit
    place: Place
    executor: Executor
    config: Configuration
    epoch: str
    """Of the store's numbering."""
    profiles: Callable[[], Mapping[str, Profile]]
    providers: Providers
    fetches: Fetches
    files: Path
    """Where pictures are stored."""
    pool: Pool
    """MCP servers."""
    installer: Installer
    """Of presets of MCP servers."""
    github: Repositories
    """The repositories of the projects at GitHub."""
    pages: Pages = field(default_factory=Pages)
    limits: Limits = field(default_factory=Limits)
    presence: Presence = field(default_factory=Presence)
    tickets: Tickets = field(default_factory=Tickets)
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the servers of models have been looked for after the start."""
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server is told to end: new requests get 503, rounds may end."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when no round runs any more: streams end."""

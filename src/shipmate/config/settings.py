"""The sections of `config.toml`. Each is declared by its reader where there is one."""

from ipaddress import ip_network
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from shipmate.agent.budgets import Budgets
from shipmate.github.settings import GitHubSettings
from shipmate.llm.settings import ProviderSettings
from shipmate.mcp.settings import McpSettings
from shipmate.network.client import Client
from shipmate.network.request import SECONDS
from shipmate.safety.sandbox.room import SandboxSettings
from shipmate.safety.urls import RefusedUrl, is_exempt, read_url
from shipmate.session.projects import ProjectSettings
from shipmate.tools.tool import Limits, Web

Positive = Annotated[int, Meta(ge=1)]


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`[server]`: where it listens and who it expects in front of it."""

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8765
    """0 takes a free one."""
    public_url: str = ""
    """Behind a proxy: the exact address in the browser, such as `https://ship.example.org`."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of the proxies in front, whose `X-Forwarded-For` is believed."""
    database: str = ""
    """`postgresql://USER@HOST/NAME`; empty: `sessions.db` in the data directory."""
    resume_once: bool = False
    """A round that was cut off goes on by itself at the start, once."""

    def __post_init__(self) -> None:
        if self.public_url and not self.public_url.startswith(("https://", "http://")):
            raise ValueError(f"public_url must begin with https:// or http://: {self.public_url!r}")
        url = urlsplit(self.public_url)
        if self.public_url and (not url.hostname or "@" in url.netloc or url.path.strip("/")):
            raise ValueError(f"public_url is a scheme and a host, no path: {self.public_url!r}")
        check_database(self.database)
        for proxy in self.trusted_proxies:
            try:
                ip_network(proxy)
            except ValueError as error:
                raise ValueError(f"trusted_proxies has {proxy!r}, which is no address") from error


def check_database(url: str) -> None:
    if not url:
        return
    if not url.startswith(("postgresql://", "postgres://")):
        raise ValueError(f"database must begin with postgresql:// or be empty: {url!r}")
    if urlsplit(url).password is not None or "password=" in urlsplit(url).query:
        raise ValueError(
            "database must hold no password; PostgreSQL's own ways give it: PGPASSWORD, or a file "
            "~/.pgpass"
        )


class AgentSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`[agents.NAME]`: an agent of one's own, or changes to a built-in one."""

    description: str = ""
    prompt: str = ""
    prompt_file: str = ""
    """A file with the prompt, relative to the data directory."""
    providers: tuple[str, ...] = ()
    """The tool providers it may use; empty: the built-in agent's, or all."""
    model: str = ""
    """`provider/model`; empty: the session's."""
    max_steps: Positive = 50
    fallback: tuple[str, ...] = ()
    """`provider/model` of those that stand in while its model fails, the first choice first."""

    def __post_init__(self) -> None:
        if self.prompt and self.prompt_file:
            raise ValueError("give either prompt or prompt_file, not both")
        for name in self.fallback:
            if not all(name.partition("/")):
                raise ValueError(f"fallback: a model is named provider/model, not {name!r}")


class InterfaceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`[interface]`: how the page behaves."""

    send_key: Literal["shift+enter", "enter", "ctrl+enter"] = "shift+enter"
    smooth: bool = True
    """Text is let out evenly as it streams, where the reader does not ask for reduced motion."""
    language: Literal["auto", "en", "zh-CN"] = "auto"


class LimitSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`[limits]`: how much of a result a model sees, and when a session is compacted."""

    tool_result_chars: Annotated[int, Meta(ge=500)] = 20_000
    read_files_bytes: Annotated[int, Meta(ge=500)] = 10_240
    reads_per_round: Positive = 3
    """How often one file may be read in a round before the model is advised otherwise."""
    compact_at: Annotated[float, Meta(ge=0.1, le=0.95)] = 0.75
    """The share of the model's context at which older messages are summed up."""

    hide_keys: bool = False
    """Take out of results what looks like a key; secrets that shipmate knows always are."""

    def for_tools(self) -> Limits:
        return Limits(
            tool_result_chars=self.tool_result_chars,
            read_files_bytes=self.read_files_bytes,
            reads_per_round=self.reads_per_round,
            hide_keys=self.hide_keys,
        )


class WebSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`[web]`: what agents may reach of the network, and how."""

    hosts: tuple[str, ...] = ()
    """Hosts of a private network that agents may ask for: `wiki.lan`, `127.0.0.1:8080`."""
    proxy: str = ""
    """The proxy for requests of agents, `http://proxy:3128`; no proxy of the environment is."""
    seconds: Annotated[float, Meta(ge=1, le=600)] = SECONDS
    """For one page or file."""

    def __post_init__(self) -> None:
        for host in self.hosts:
            if not _is_place(host):
                raise ValueError(f"{host!r} is no host; write a name or an address, and a port")
        if self.proxy and not (
            self.proxy.startswith("http://") and _is_place(self.proxy[7:].removesuffix("/"))
        ):
            raise ValueError(f"proxy must look like http://host:port: {self.proxy!r}")

    def for_tools(self, client: Client) -> Web:
        return Web(client, frozenset(self.hosts), self.seconds)


def _is_place(text: str) -> bool:
    """Whether it is a host as `read_url` gives it, maybe with a port."""
    bracketed = f"[{text}]" if text.count(":") > 1 and "[" not in text else text
    try:
        url = read_url(f"http://{bracketed}/", {text})
    except RefusedUrl:
        return False
    return is_exempt(url, {text})


class CompletionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`[completions]`: agents behind the OpenAI-compatible endpoint."""

    approvals: Literal["link", "deny"] = "link"
    """What needs a person: `link` shows where it is decided, `deny` tells the model no."""
    model: str = ""
    """`provider/model` of new sessions; empty: the agent's, or the first that can be used."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All of `config.toml`."""

    server: ServerSettings = ServerSettings()
    providers: dict[str, ProviderSettings] = {}
    projects: dict[str, ProjectSettings] = {}
    agents: dict[str, AgentSettings] = {}
    interface: InterfaceSettings = InterfaceSettings()
    limits: LimitSettings = LimitSettings()
    web: WebSettings = WebSettings()
    budgets: Budgets = Budgets()
    mcp: McpSettings = McpSettings()
    completions: CompletionSettings = CompletionSettings()
    sandbox: SandboxSettings = SandboxSettings()
    github: GitHubSettings = GitHubSettings()

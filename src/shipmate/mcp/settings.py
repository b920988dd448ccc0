"""The section `[mcp]` of the configuration."""

import re
from typing import Annotated, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from shipmate.safety.secrets import SecretRef

SERVER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
Value: TypeAlias = str | SecretRef
"""Text, in which `${NAME}`, `${env:NAME}` and `${NAME:-default}` stand for variables of the
server's environment; or where a secret is found."""


CLIENT_SECRET = "client_secret"  # noqa: S105 - a name
"""Among the keys of a server with `oauth`: no variable or header, but its secret."""


class McpOAuth(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`[mcp.servers.NAME.oauth]`: as whom shipmate signs in, where that was registered by hand."""

    client_id: Annotated[str, Meta(min_length=1)]
    client_secret: Value = ""
    """Empty: it was given none."""


class McpServerSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`[mcp.servers.NAME]`: one MCP server."""

    transport: Literal["stdio", "http", "sse"] = "stdio"
    command: tuple[str, ...] = ()
    """With `stdio`: the program and its arguments."""
    cwd: str = ""
    """The folder the program runs in; empty: the user's home."""
    env: dict[str, Value] = {}
    """Variables of the program, beside the few every program gets."""
    url: str = ""
    """With `http` and `sse`: the address."""
    headers: dict[str, Value] = {}
    """Sent along with each request."""
    oauth: McpOAuth | None = None
    """Without it shipmate registers itself, or names its `client_document`."""
    enabled: bool = True
    call_timeout: Annotated[float, Meta(gt=0)] = 60.0
    """Seconds that a call may take; the time in which a person is asked does not count."""
    always_ask: bool = False
    """Each call asks, whatever rules there are."""
    off: tuple[str, ...] = ()
    """Tools of it that are not offered."""

    def __post_init__(self) -> None:
        if self.transport == "stdio":
            if self.oauth is not None:
                raise ValueError("a stdio server has its keys in env, not in oauth")
            if not self.command or not self.command[0].strip():
                raise ValueError('command is missing: the program, such as ["npx", "-y", "..."]')
            if self.url:
                raise ValueError("a stdio server has a command, not a url")
            return
        url = urlsplit(self.url)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError(f"url must be like https://host/mcp, not {self.url.split('?')[0]!r}")
        if url.username or url.password:
            raise ValueError("url must hold no password; put it into headers")
        if self.command:
            raise ValueError(f"a server over {self.transport} has a url, not a command")


class McpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`[mcp]`: the servers, and how much room their tools may take."""

    servers: dict[str, McpServerSettings] = {}
    tools_share: Annotated[float, Meta(ge=0, le=1)] = 0.1
    """Share of the model's context that the tools of MCP servers may take; above it they are
    listed by name and fetched with `tool_search`."""
    client_document: str = ""
    """The address under which the public web finds shipmate's client id metadata document,
    `https://NAME/mcp/client.json`; servers that know such documents take it as the client id."""

    def __post_init__(self) -> None:
        document = urlsplit(self.client_document)
        if self.client_document and (document.scheme != "https" or document.path in ("", "/")):
            raise ValueError("client_document must be like https://host/mcp/client.json")
        for name in self.servers:
            if not SERVER_NAME.fullmatch(name):
                raise ValueError(f"a server's name has letters, digits, - and _ only: {name!r}")

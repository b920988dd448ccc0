"""Servers that are named in a project's folder. They are proposals: shown, and added by the user
alone, as exactly what was shown; nothing found in a project starts by itself."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from shipmate.errors import ConflictError
from shipmate.mcp.foreign import as_list, as_object
from shipmate.mcp.settings import SERVER_NAME, McpServerSettings
from shipmate.protocol import encode

FILES = (".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json", ".gemini/settings.json")
"""Where other programs look for them."""
MOST_BYTES = 262_144
MOST = 50


class Proposal(msgspec.Struct, frozen=True):
    """A server as a file of a project describes it."""

    name: str
    file: str
    """Relative to the project's folder."""
    settings: McpServerSettings | None
    problem: str
    """Why it cannot be added."""
    hash: str
    """Of what is shown; adding names it."""


def proposals(root: Path) -> list[Proposal]:
    """What the files of a project propose. Not for the event loop's thread."""
    found: list[Proposal] = []
    for name in FILES:
        found += _of_file(root, name)
    return found[:MOST]


def chosen(root: Path, name: str, digest: str) -> McpServerSettings:
    """A proposal as it was shown; `ConflictError` when it is another one now, or cannot be."""
    for one in proposals(root):
        if one.name == name and one.hash == digest:
            if one.settings is None:
                raise ConflictError(f"{name} cannot be added: {one.problem}")
            return one.settings
    raise ConflictError(f"What the project proposes as {name!r} has changed; look at it again.")


def _of_file(root: Path, name: str) -> Iterator[Proposal]:
    file = root / name
    try:
        # a link may lead out of the project; then it is none of its files
        if file.resolve() != (root.resolve() / name) or not file.is_file():
            return
        with file.open("rb") as opened:
            tables: Any = msgspec.json.decode(opened.read(MOST_BYTES))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    fields = as_object(tables)
    servers = as_object(fields.get("mcpServers") or fields.get("servers"))
    for server, given in servers.items():
        yield _proposal(server, name, given)


def _proposal(server: str, file: str, given: Any) -> Proposal:
    digest = hashlib.sha256(encode([server, file, given])).hexdigest()
    try:
        settings = _settings(as_object(given))
    except (msgspec.ValidationError, ValueError, TypeError) as error:
        return Proposal(server, file, None, str(error), digest)
    if not SERVER_NAME.fullmatch(server):
        plain = "".join(c if c.isalnum() and c.isascii() else "-" for c in server).strip("-")[:64]
        server = plain or "server"
    return Proposal(server, file, settings, "", digest)


def _settings(given: Mapping[str, Any]) -> McpServerSettings:
    """Read as those files are written: `command` and `args`, or `url`."""
    kind = given.get("type") or given.get("transport") or ("http" if given.get("url") else "stdio")
    transport = {"streamable-http": "http", "streamableHttp": "http"}.get(str(kind), str(kind))
    made: dict[str, Any] = {"transport": transport}
    if transport == "stdio":
        command = given.get("command") or ""
        made["command"] = [*(as_list(command) or [command]), *as_list(given.get("args"))]
        made["env"] = given.get("env") or {}
    else:
        made["url"] = given.get("url") or ""
        made["headers"] = given.get("headers") or {}
    return msgspec.convert(made, McpServerSettings)

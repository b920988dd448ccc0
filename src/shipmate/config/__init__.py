"""The configuration: `config.toml` and the keys of a data directory."""

import os
import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shipmate.config import document
from shipmate.config.agent_files import (
    FOLDER,
    agent_text,
    check_name,
    parse_agent,
    read_agents,
)
from shipmate.config.check import checked
from shipmate.config.settings import AgentSettings, Settings
from shipmate.errors import ConfigError, NotFoundError, did_you_mean
from shipmate.llm.settings import PROVIDER_ID, ProviderSettings
from shipmate.mcp.settings import CLIENT_SECRET, McpServerSettings
from shipmate.safety.secrets import SecretRef, Secrets, write_private
from shipmate.session.projects import ProjectSettings


class Config:
    """What is set, and the only way to change it. `settings` is replaced as a whole, so who
    holds one sees no half of a change."""

    def __init__(self, data: Path, environ: Mapping[str, str] | None = None) -> None:
        self.data = data
        self.file = data / "config.toml"
        self.secrets = Secrets(data / "secrets.json", environ)
        self.settings = Settings()
        self.agent_files: dict[str, AgentSettings] = {}
        """Agents that are Markdown files; they are read with the rest, at the start."""
        self._lock = threading.Lock()

    @classmethod
    def load(cls, data: Path, environ: Mapping[str, str] | None = None) -> "Config":
        """Read the directory's configuration; `ConfigError` has a line for each mistake."""
        config = cls(data, environ)
        config.reload()
        return config

    def reload(self) -> None:
        tables = document.parse(document.read(self.file), self.file)
        settings = checked(tables, Settings, str(self.file))
        self.agent_files = read_agents(self.data, settings.agents)
        self.settings = settings

    @property
    def agents(self) -> dict[str, AgentSettings]:
        """Agents of one's own, and changes to built-in ones."""
        return {**self.agent_files, **self.settings.agents}

    def set(self, path: str | Sequence[str], value: Any) -> Settings:
        """Change one setting or a whole table (None removes it) in the file and here. `path` is
        `interface.send_key`, or a sequence where a name holds a dot. A value that does not fit
        is a `ConfigError`, and nothing has changed then."""
        names = tuple(path.split(".")) if isinstance(path, str) else tuple(path)
        if not names or not all(names):
            raise ConfigError("A setting has a name such as interface.send_key.")
        from shipmate.config import editing  # tomlkit takes 40 ms: not before it is needed

        with self._lock:
            value = document.plain(value)
            text = document.read(self.file)
            wanted = document.with_value(document.parse(text, self.file), names, value)
            settings = checked(wanted, Settings, self.file.name)
            changed = editing.edited(text, names, value, wanted, self.file)
            if changed != text:
                write_private(self.file, changed.encode())
            self.settings = settings
        return settings

    def add_project(self, path: str | Path, name: str = "") -> str:
        """Add a folder and give the project's id; the id it has when it is there already."""
        root = self._project_folder(path)
        for project, known in self.settings.projects.items():
            if Path(known.path).expanduser().resolve() == root:
                return project
        name = name.strip() or root.name
        project = free_id(name, self.settings.projects)
        self.set(("projects", project), {"name": name, "path": str(root)})
        return project

    def set_project(self, project: str, **fields: Any) -> None:
        """Change `name`, `owner`, `people`, `mcp`; what is as ever is left out of the file. No MCP
        server is not as ever: all may be used then."""
        self._known("project", project, self.settings.projects)
        kept = {**document.plain(self.settings.projects[project]), **fields}
        usual = document.plain(ProjectSettings(path=""))
        changed = {key: value for key, value in kept.items() if value != usual.get(key)}
        self.set(("projects", project), changed)

    def remove_project(self, project: str) -> None:
        """Forget the project; its folder is not touched."""
        self._known("project", project, self.settings.projects)
        self.set(("projects", project), None)

    def add_provider(
        self, provider: str, settings: ProviderSettings, key: str | None = None
    ) -> None:
        """Add or replace a provider. A pasted `key` goes to the secrets, and only a reference to
        it into the file."""
        if not PROVIDER_ID.fullmatch(provider):
            raise ConfigError(
                f"A provider's name has letters, digits, dots, - and _ only: {provider!r}"
            )
        tables = document.plain(settings)
        if key is not None:
            tables["api_key"] = {"secret": provider}
        checked({"providers": {provider: tables}}, Settings, self.file.name)
        if key is not None:
            self.secrets.store(provider, key)
        self.set(("providers", provider), tables)

    def remove_provider(self, provider: str) -> None:
        self._known("provider", provider, self.settings.providers)
        ref = self.settings.providers[provider].api_key
        self.set(("providers", provider), None)
        if ref is not None and ref.secret == provider:
            self.secrets.forget(provider)

    def add_agent_file(self, agent: str, text: str) -> None:
        """Add an agent as a Markdown file of the data directory."""
        place = f"{FOLDER}/{agent}.md"
        check_name(agent, place, self.settings.agents)
        if agent in self.agent_files:
            raise ConfigError(f"There is an agent {agent!r} already; choose another name.")
        self._write_agent(agent, text, parse_agent(text, place))

    def set_agent(self, agent: str, fields: Mapping[str, Any]) -> None:
        """Change an agent where it stands: its file, or its table in `config.toml`."""
        place = f"{FOLDER}/{agent}.md"
        if agent in self.agent_files:
            kept = {**document.plain(self.agent_files[agent]), **fields}
            settings = checked(kept, AgentSettings, place)
            self._write_agent(agent, agent_text(settings, place), settings)
            return
        kept = document.plain(self.settings.agents.get(agent, AgentSettings()))
        if "prompt" in fields:
            kept.pop("prompt_file", None)
        lean = {name: value for name, value in {**kept, **fields}.items() if value}
        self.set(("agents", agent), lean)

    def remove_agent(self, agent: str) -> None:
        """Remove an agent of one's own, or the changes to a built-in one."""
        self._known("agent of yours", agent, self.agents)
        if agent in self.agent_files:
            (self.data / FOLDER / f"{agent}.md").unlink(missing_ok=True)
            self.agent_files = {k: v for k, v in self.agent_files.items() if k != agent}
        else:
            self.set(("agents", agent), None)

    def _write_agent(self, agent: str, text: str, settings: AgentSettings) -> None:
        folder = self.data / FOLDER
        folder.mkdir(mode=0o700, exist_ok=True)
        write_private(folder / f"{agent}.md", text.encode())
        self.agent_files = {**self.agent_files, agent: settings}

    def add_mcp_server(
        self, server: str, settings: McpServerSettings, keys: Mapping[str, str] = {}
    ) -> None:
        """Add or replace an MCP server. `keys`: pasted values by the variable or header they are
        for; they go to the secrets, and only references to them into the file."""
        tables = document.plain(settings)
        place = "env" if settings.transport == "stdio" else "headers"
        for name in keys:
            own = settings.oauth is not None and name == CLIENT_SECRET
            table = tables.setdefault("oauth" if own else place, {})
            table[name] = {"secret": f"mcp-{server}-{name}"}
        checked({"mcp": {"servers": {server: tables}}}, Settings, self.file.name)
        for name, value in keys.items():
            self.secrets.store(f"mcp-{server}-{name}", value)
        self.set(("mcp", "servers", server), tables)

    def remove_mcp_server(self, server: str) -> None:
        """Remove a server, with the keys that were pasted for it."""
        self._known("MCP server", server, self.settings.mcp.servers)
        settings = self.settings.mcp.servers[server]
        self.set(("mcp", "servers", server), None)
        own = [settings.oauth.client_secret] if settings.oauth else []
        for ref in (*settings.env.values(), *settings.headers.values(), *own):
            if isinstance(ref, SecretRef) and ref.secret.startswith(f"mcp-{server}-"):
                self.secrets.forget(ref.secret)

    def _project_folder(self, path: str | Path) -> Path:
        root = Path(path).expanduser()
        if not root.is_absolute():
            raise ConfigError(f"A project's folder needs its whole path, not {str(path)!r}.")
        root = root.resolve()
        if not root.is_dir():
            what = "is a file, not a folder" if root.exists() else "is not there"
            raise ConfigError(f"{root} {what}; choose the folder of a project.")
        if not os.access(root, os.R_OK | os.X_OK):
            raise ConfigError(f"{root} may not be read by this user.")
        if root == Path(root.anchor) or root == self.data or self.data in root.parents:
            raise ConfigError(f"{root} cannot be a project; choose the folder of one.")
        return root

    @staticmethod
    def _known(what: str, name: str, known: Mapping[str, Any]) -> None:
        if name not in known:
            raise NotFoundError(f"There is no {what} {name!r}{did_you_mean(name, known)}")


def free_id(name: str, taken: Mapping[str, Any]) -> str:
    """A short id in ASCII made of a name, and not one of those taken."""
    base = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "project"
    number, result = 1, base
    while result in taken:
        number += 1
        result = f"{base}-{number}"
    return result

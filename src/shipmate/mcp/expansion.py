"""Variables in the configuration of a server: `${NAME}`, `${env:NAME}`, `${NAME:-default}`.

`~` at the beginning of a program or a folder is the home. A dollar sign that begins none of these
stands for itself. A variable that is not set is an error that names it, before anything starts.
"""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from shipmate.errors import ConfigError
from shipmate.mcp.settings import McpServerSettings, Value
from shipmate.safety.secrets import SecretRef, Secrets

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a server is started with; it holds secrets and is shown to nobody."""

    command: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    url: str
    headers: Mapping[str, str]
    client_id: str = ""
    client_secret: str = ""


def resolved(settings: McpServerSettings, environ: Mapping[str, str], secrets: Secrets) -> Resolved:
    """The settings with every variable and secret in its place; `ConfigError` names what is not
    there."""

    def value(place: str, given: Value) -> str:
        if isinstance(given, SecretRef):
            return secrets.resolve(given)
        return expanded(given, environ, place)

    command = tuple(expanded(word, environ, "command") for word in settings.command)
    if command:
        command = (
            str(Path(command[0]).expanduser()) if command[0][:1] == "~" else command[0],
            *command[1:],
        )
    cwd = Path(expanded(settings.cwd, environ, "cwd") or "~").expanduser()
    if settings.transport == "stdio" and not cwd.is_dir():
        raise ConfigError(f"The folder {cwd} (cwd) is not there.")
    oauth = settings.oauth
    return Resolved(
        command,
        cwd,
        {name: value(f"env {name}", given) for name, given in settings.env.items()},
        expanded(settings.url, environ, "url"),
        {name: value(f"headers {name}", given) for name, given in settings.headers.items()},
        expanded(oauth.client_id, environ, "oauth client_id") if oauth else "",
        value("oauth client_secret", oauth.client_secret) if oauth else "",
    )


def startable(settings: McpServerSettings, environ: Mapping[str, str], secrets: Secrets) -> str:
    """Why a server could not be started; empty when nothing is known against it."""
    try:
        given = resolved(settings, environ, secrets)
    except ConfigError as error:
        return str(error)
    if given.command and shutil.which(given.command[0]) is None:
        return f"the program {given.command[0]!r} was not found"
    return ""


def expanded(text: str, environ: Mapping[str, str], place: str) -> str:
    def put(found: re.Match[str]) -> str:
        known = environ.get(found[1])
        if known is None and found[2] is None:
            raise ConfigError(
                f"The variable {found[1]} ({place}) is not set. Set it before starting shipmate, "
                f"or write ${{{found[1]}:-default}}."
            )
        return (found[2] or "") if known is None else known

    return _VARIABLE.sub(put, text)

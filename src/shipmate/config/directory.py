"""The data directory: where it is, and that one server at a time has it."""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import platformdirs

from shipmate.errors import ConfigError
from shipmate.safety.lock import held_file

DATABASE, FILES, MODELS, MCP = "sessions.db", "files", "models", "mcp"
"""Names in the data directory: the database; stored pictures and whole outputs; offline models;
MCP servers that were installed."""


def data_directory(
    chosen: str | Path | None = None, environ: Mapping[str, str] | None = None
) -> Path:
    """The directory given, else `$SHIPMATE_DATA`, else the platform's place for a user's data;
    made if need be, with mode 0700. The working folder is never looked at: a cloned project must
    not configure us."""
    source = os.environ if environ is None else environ
    place = chosen or source.get("SHIPMATE_DATA") or platformdirs.user_data_path("shipmate")
    path = Path(place).expanduser().absolute()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.stat().st_mode & 0o077:
            path.chmod(0o700)
    except OSError as error:
        raise ConfigError(
            f"The data directory {path} cannot be used: {error.strerror or error}. "
            "Choose another with --data or SHIPMATE_DATA."
        ) from error
    return path.resolve()


def held(data: Path) -> AbstractContextManager[None]:
    """Keep the directory for this process; a `ConflictError` names the process that has it."""
    return held_file(
        data / "lock",
        f"Another shipmate (process {{owner}}) has the data directory {data}; "
        "stop it, or give this one another with --data. If it is a server, this prints a new link "
        f"to sign in there: shipmate token link --data {data}",
    )

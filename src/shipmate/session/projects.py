"""The folders agents work in."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from shipmate.errors import NotFoundError, ShipmateError


class ProjectSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Section `[projects.<id>]` of the configuration."""

    path: str
    name: str = ""
    github: str = ""
    owner: str = ""
    """Name of the user whose it is; admins see all."""
    people: tuple[str, ...] = ()
    """Names of the users who may use it, too."""
    mcp: tuple[str, ...] = ("*",)
    """MCP servers that agents may use here; `*`: all of them."""
    run_safe_commands: bool = False
    """Commands judged safe run unasked where a sandbox is active."""


def find_project(projects: Mapping[str, ProjectSettings], wanted: str) -> str:
    """The id of a project, named by its id or its name."""
    if wanted in projects:
        return wanted
    for key, project in projects.items():
        if project.name == wanted:
            return key
    known = ", ".join(sorted(projects)) or "none yet"
    raise NotFoundError(f"There is no project {wanted!r}. Known projects: {known}.")


def project_folder(projects: Mapping[str, ProjectSettings], project: str) -> Path:
    """The project's folder, resolved; a clear error when it has vanished."""
    settings = projects[find_project(projects, project)]
    folder = Path(settings.path).expanduser()
    if not folder.is_dir():
        raise ShipmateError(
            f"The folder of project {project!r} is not there: {folder}. "
            "Mount or restore it, or change the project's folder."
        )
    return folder.resolve()

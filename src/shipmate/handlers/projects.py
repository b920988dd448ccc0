"""The folders agents work in."""

import asyncio
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shipmate.errors import did_you_mean
from shipmate.github.remote import read_name
from shipmate.handlers.body import given_fields
from shipmate.handlers.errors import HttpError
from shipmate.handlers.reach import usable
from shipmate.handlers.route import Answer, Call, Input, Nothing, endpoint
from shipmate.safety.sandbox.found import found
from shipmate.session.git_state import GitState, git_state
from shipmate.session.projects import ProjectSettings, project_folder
from shipmate.tools.git import GitError


class AddProject(Input, frozen=True, kw_only=True):
    path: Annotated[str, Meta(min_length=1)]
    """The folder's whole path; `~` is the home of the server's user."""
    name: Annotated[str, Meta(max_length=100)] = ""
    """Empty: the folder's name."""
    owner: Annotated[str, Meta(max_length=100)] = ""
    """Name of the user whose it is to be; empty: the caller."""


class ChangeProject(Input, frozen=True, kw_only=True):
    name: Annotated[str, Meta(max_length=100)] | UnsetType = UNSET
    owner: Annotated[str, Meta(max_length=100)] | UnsetType = UNSET
    """Name of a user, or empty: only admins use it."""
    people: tuple[str, ...] | UnsetType = UNSET
    """Names of users who may use it, too."""
    github: Annotated[str, Meta(max_length=300)] | UnsetType = UNSET
    """Its repository, `owner/name`; empty: that of the git remote."""
    mcp: tuple[str, ...] | UnsetType = UNSET
    """MCP servers that agents may use here; `*`: all, empty: none."""


class Project(msgspec.Struct, frozen=True):
    id: str
    name: str
    path: str
    missing: bool
    """The folder is not there now."""
    owner: str
    people: tuple[str, ...]
    github: str
    """`owner/name`; empty: the repository is that of the git remote."""
    mcp: tuple[str, ...]
    """MCP servers that agents may use here; `*`: all."""


class Projects(msgspec.Struct, frozen=True):
    projects: list[Project]


class SandboxView(msgspec.Struct, frozen=True):
    means: Literal["bubblewrap", "landlock", "none"]
    """What confines the commands of this project."""
    missing: list[str]
    """Why not something better, and what to do about it."""


class ProjectState(msgspec.Struct, frozen=True):
    sandbox: SandboxView
    git: GitState | None
    """Absent where there is no repository, or git cannot be run."""
    git_problem: str
    """Why there is none."""


def projects_of(call: Call[Any]) -> list[Project]:
    """Those that the caller may use."""
    return [_view(key, one) for key, one in usable(call).items()]


def _view(key: str, one: ProjectSettings) -> Project:
    path = Path(one.path).expanduser()
    name = one.name or path.name
    missing = not path.is_dir()
    return Project(key, name, str(path), missing, one.owner, one.people, one.github, one.mcp)


def _one(call: Call[Any], project: str) -> Project:
    return _view(project, call.house.config.settings.projects[project])


@endpoint("GET", "/api/projects", scope="read", answer=Projects)
async def projects(call: Call[Nothing]) -> Answer:
    """The projects, and whether their folders are there."""
    return Projects(projects_of(call))


@endpoint("GET", "/api/projects/{project}/state", scope="read", answer=ProjectState)
async def project_state(call: Call[Nothing]) -> Answer:
    """What confines the project's commands, and the state of its git (asked in the sandbox)."""
    settings = call.house.config.settings
    root = project_folder(usable(call), call.path["project"])
    barred = (call.house.config.data,)
    here = await asyncio.to_thread(found, root, barred, settings.sandbox)
    git, problem = None, ""
    try:
        git = await git_state(root, barred, settings.sandbox)
    except GitError as error:
        problem = str(error)
    return ProjectState(SandboxView(here.means, list(here.missing)), git, problem)


@endpoint(
    "POST",
    "/api/projects",
    scope="admin",
    body=AddProject,
    answer=Project,
    status=201,
    audit=("path", "owner"),
)
async def add_project(call: Call[AddProject]) -> Answer:
    """Let agents work in a folder. One that is known already is answered as it is."""
    owner = call.house.users.get(call.given.owner).name if call.given.owner else call.caller.user
    config = call.house.config
    known = set(config.settings.projects)
    key = config.add_project(call.given.path, call.given.name)
    if owner and key not in known:
        config.set_project(key, owner=owner)
    return _one(call, key)


@endpoint(
    "PATCH",
    "/api/projects/{project}",
    scope="admin",
    body=ChangeProject,
    answer=Project,
    audit=("owner", "people", "github", "mcp"),
)
async def change_project(call: Call[ChangeProject]) -> Answer:
    """Rename a project, or say who may use it."""
    project, users = call.path["project"], call.house.users
    fields = given_fields(call.given)
    if fields.get("owner"):
        fields["owner"] = users.get(fields["owner"]).name
    if "people" in fields:
        fields["people"] = tuple(dict.fromkeys(users.get(one).name for one in fields["people"]))
    if fields.get("github") and read_name(fields["github"]) is None:
        raise HttpError(422, "invalid", "The body does not fit: `github` is not owner/name.")
    settings = call.house.config.settings
    known = settings.projects[project].mcp if project in settings.projects else ()
    for name in fields.get("mcp", ()):
        if name not in ("*", *known, *settings.mcp.servers):
            hint = did_you_mean(name, settings.mcp.servers)
            raise HttpError(422, "invalid", f"`mcp`: there is no MCP server {name!r}{hint}")
    call.house.config.set_project(project, **fields)
    return _one(call, project)


@endpoint("DELETE", "/api/projects/{project}", scope="admin")
async def remove_project(call: Call[Nothing]) -> None:
    """Forget a project. Its folder and its sessions stay."""
    call.house.config.remove_project(call.path["project"])

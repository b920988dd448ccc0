"""The folders agents work in."""

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from shipmate.handlers.house import House
from shipmate.handlers.route import Answer, Call, Input, Nothing, endpoint


class AddProject(Input, frozen=True, kw_only=True):
    path: Annotated[str, Meta(min_length=1)]
    """The folder's whole path; `~` is the home of the server's user."""
    name: Annotated[str, Meta(max_length=100)] = ""
    """Empty: the folder's name."""


class Project(msgspec.Struct, frozen=True):
    id: str
    name: str
    path: str
    missing: bool
    """The folder is not there now."""


class Projects(msgspec.Struct, frozen=True):
    projects: list[Project]


def projects_of(house: House) -> list[Project]:
    found: list[Project] = []
    for key, one in house.config.settings.projects.items():
        path = Path(one.path).expanduser()
        found.append(Project(key, one.name or path.name, str(path), not path.is_dir()))
    return found


@endpoint("GET", "/api/projects", scope="read", answer=Projects)
async def projects(call: Call[Nothing]) -> Answer:
    """The projects, and whether their folders are there."""
    return Projects(projects_of(call.house))


@endpoint("POST", "/api/projects", scope="admin", body=AddProject, answer=Project, status=201)
async def add_project(call: Call[AddProject]) -> Answer:
    """Let agents work in a folder. One that is known already is answered as it is."""
    key = call.house.config.add_project(call.given.path, call.given.name)
    return next(one for one in projects_of(call.house) if one.id == key)


@endpoint("DELETE", "/api/projects/{project}", scope="admin")
async def remove_project(call: Call[Nothing]) -> None:
    """Forget a project. Its folder and its sessions stay."""
    call.house.config.remove_project(call.path["project"])

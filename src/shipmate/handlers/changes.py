"""What a session changed, and the files of a project as they are now."""

import asyncio
from functools import partial

from msgspec import structs

from shipmate.handlers.reach import OF_SESSION as ONE
from shipmate.handlers.reach import usable
from shipmate.handlers.route import Answer, Call, Input, endpoint
from shipmate.safety.redaction import redacted_struct
from shipmate.session.browsing import FileView, FolderView, file, folder
from shipmate.session.changed import Changes, changes
from shipmate.session.projects import find_project, project_folder
from shipmate.tools.tool import Workspace


class OfRound(Input, frozen=True, kw_only=True):
    round: str = ""
    """The id of the user's message that began a round; empty: the whole session."""
    brief: bool = False
    """Only the sums of each file, without its lines."""


class InProject(Input, frozen=True, kw_only=True):
    path: str = ""
    """Below the project's folder, with `/`; empty: the folder itself."""


@endpoint("GET", ONE + "/changes", scope="read", query=OfRound, answer=Changes)
async def session_changes(call: Call[OfRound]) -> Answer:
    """The session's changes as one diff: each file that its tools wrote, from before its first
    change to what is on disk now; or one round's, as the session left it. Who may not use the
    project is given what the session wrote, not what is there now."""
    house, asked = call.house, call.given
    row = await house.executor.store.session(call.path["id"])
    blocks = await house.executor.store.writing(row.id)
    projects = house.config.settings.projects
    open_to = row.project in projects and call.caller.uses(projects[row.project])
    root = project_folder(projects, row.project) if open_to else house.files
    work = Workspace(root, row.id, protected=(house.config.data,), files=house.files)
    found = await asyncio.to_thread(changes, blocks, work, wanted=asked.round, now=open_to)
    return _brief(found) if asked.brief else redacted_struct(found, shapes=False)


def _brief(found: Changes) -> Changes:
    files = [structs.replace(one, file=structs.replace(one.file, hunks=())) for one in found.files]
    return structs.replace(found, files=files)


@endpoint("GET", "/api/projects/{project}/files", scope="read", query=InProject, answer=FolderView)
async def project_files(call: Call[InProject]) -> Answer:
    """One folder of a project, as agents may list it. What .gitignore hides is counted."""
    return await asyncio.to_thread(partial(folder, _workspace(call), call.given.path))


@endpoint("GET", "/api/projects/{project}/file", scope="read", query=InProject, answer=FileView)
async def project_file(call: Call[InProject]) -> Answer:
    """A text file of a project, to be read: the first 1 MB of it. What agents have to ask for
    is refused."""
    found = await asyncio.to_thread(partial(file, _workspace(call), call.given.path))
    return redacted_struct(found, shapes=False)


def _workspace(call: Call[InProject]) -> Workspace:
    projects = usable(call)
    root = project_folder(projects, find_project(projects, call.path["project"]))
    return Workspace(root, protected=(call.house.config.data,))

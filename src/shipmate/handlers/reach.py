"""What is whose: a session of somebody else is not there (404), whatever the endpoint.

The gate asks for every request that names a session, so no endpoint can forget it. What lists
sessions or follows them asks `Caller.sees`.
"""

from collections.abc import Callable
from typing import Any

from shipmate.database.rows import unknown
from shipmate.github.remote import Source
from shipmate.github.repository import Repository
from shipmate.handlers.auditing import told
from shipmate.handlers.errors import HttpError
from shipmate.handlers.route import Call, Caller, Endpoint
from shipmate.protocol import SessionRow
from shipmate.session.projects import ProjectSettings, find_project, project_folder

OF_SESSION = "/api/agent/sessions/{id}"


def session_named(one: Endpoint, call: Call[Any]) -> str:
    """The session that a request is about: in its path, or as `session` in what it gives."""
    if one.path.startswith(OF_SESSION):
        return call.path["id"]
    named = getattr(call.given, "session", "")
    return named if isinstance(named, str) else ""


async def check_reach(one: Endpoint, call: Call[Any]) -> None:
    """404 when the session that is named is not the caller's and not shared with them, 403 when
    it is shared only to be read."""
    if not (session := session_named(one, call)):
        return
    if call.caller.everything:
        await _look(call, session)
        return
    row = await session_seen(call, session)
    if one.scope == "read":
        return
    if not call.caller.owns(row):
        raise HttpError(403, "read_only", "This session is shared with you to be read only.")
    check_project_of(call, row)


async def _look(call: Call[Any], session: str) -> None:
    """An admin is at a session of somebody else: once in a while the audit log says so."""
    house, caller = call.house, call.caller
    if not house.users:
        return
    owner = (await house.executor.store.session(session)).owner
    key = f"{caller.credential} {session}"
    if owner and owner != caller.user and not house.limits.looks.wait(key):
        house.limits.looks.take(key, "looks")
        await told(call, "session_seen", session=session, owner=owner)


async def session_seen(call: Call[Any], session: str) -> SessionRow:
    """A session that the caller sees; 404 for every other one."""
    row = await call.house.executor.store.session(session)
    if not call.caller.sees(row):
        raise unknown(session)
    return row


def check_project_of(call: Call[Any], row: SessionRow) -> None:
    """A session goes on only in a project that its user may still use."""
    project = call.house.config.settings.projects.get(row.project)
    if project is not None and not call.caller.uses(project):
        raise HttpError(403, "project", "Its project is no longer open to you; ask an admin.")


def check_rules_of(call: Call[Any], project: str) -> None:
    """A rule for a project holds for all who use it: its owner writes it, or an admin."""
    one = call.house.config.settings.projects.get(project)
    if not (call.caller.everything or (one and one.owner == call.caller.user)):
        raise HttpError(403, "project", "Only the project's owner sets rules for all of it.")


def usable(call: Call[Any]) -> dict[str, ProjectSettings]:
    """The projects that the caller may use."""
    projects = call.house.config.settings.projects
    return {key: one for key, one in projects.items() if call.caller.uses(one)}


def project_named(call: Call[Any], wanted: str) -> str:
    """Id of a project by id or name; those of others are not there."""
    return find_project(usable(call), wanted)


async def repository_of(call: Call[Any], wanted: str) -> tuple[Repository, Source]:
    """A project's repository at GitHub, for the project's id or name."""
    projects = call.house.config.settings.projects
    key = project_named(call, wanted)
    root = project_folder(projects, key)
    return await call.house.github.of(root, projects[key].github)


def listing(caller: Caller, owner: str) -> tuple[str | None, str | None]:
    """`owner` and `seen_by` of a `SessionFilter`, for what was asked: empty is what is one's own
    or shared with one, `all` what one may see, else a user's name."""
    seen_by = None if caller.everything else caller.user
    if owner == "all" or not (owner or caller.user):
        return None, seen_by
    return (owner, seen_by) if owner else (None, caller.user)


def wanted(caller: Caller, asked: str) -> Callable[[SessionRow], bool]:
    """Which rows a stream tells: those that the list with the same `owner` has."""
    owner, seen_by = listing(caller, asked)
    return lambda row: (
        (owner is None or row.owner == owner)
        and (seen_by is None or seen_by == row.owner or seen_by in row.readers)
    )

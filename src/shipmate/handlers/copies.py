"""A session as a copy: a branch of it, a document of it, a session of a document."""

import asyncio
from functools import partial
from typing import Annotated
from urllib.parse import quote

from msgspec import Meta
from starlette.responses import Response

from shipmate.handlers.reach import OF_SESSION as ONE
from shipmate.handlers.reach import project_named
from shipmate.handlers.route import Answer, Call, Input, endpoint
from shipmate.handlers.stored import stored
from shipmate.protocol import SessionRow
from shipmate.session.branches import ALL, branch
from shipmate.session.exports import KINDS, PAGE_POLICY, Format, export, file_name
from shipmate.session.imports import Document, bring_in

IMPORT_LIMIT = 200 * 1024 * 1024
"""Bytes; the largest sessions that are known have 40 MB."""


class Fork(Input, frozen=True, kw_only=True):
    block: str
    """The last block of the branch; its whole unit is taken. With `text`: the user's message
    that is written anew."""
    text: str = ""
    """Sent in the branch, in place of that message."""
    client_id: Annotated[str, Meta(max_length=100)] = ""
    """Asked twice with the same one, there is one branch."""


class Export(Input, frozen=True, kw_only=True):
    format: Format = "md"


class Import(Document, kw_only=True):
    project: str = ""
    """The project it is to belong to; else the one it names."""


@endpoint("POST", ONE + "/fork", scope="run", body=Fork, answer=SessionRow)
async def fork_session(call: Call[Fork]) -> Answer:
    """Begin a new session as this one began, up to a block; with `text`, write the user's
    message anew. The session itself stays as it is."""
    asked, house = call.given, call.house
    return await branch(
        house.executor,
        call.path["id"],
        asked.block,
        house.files,
        text=asked.text,
        client_id=asked.client_id,
        owner=call.caller.user,
    )


@endpoint("GET", ONE + "/export", scope="read", query=Export, answer=bytes, audit=("format",))
async def export_session(call: Call[Export]) -> Answer:
    """The whole session as a file: Markdown, a page without scripts, or JSON to be imported."""
    form, store = call.given.format, call.house.executor.store
    found = await store.view(call.path["id"], limit=ALL)
    load = partial(stored, call.house.files)
    content = await asyncio.to_thread(export, found.row, found.blocks, form, load)
    name = file_name(found.row, form)
    plain = name.encode("ascii", "replace").decode().replace("?", "_")
    headers = {
        "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name)}",
        "Content-Security-Policy": f"{PAGE_POLICY}; sandbox",
    }
    return Response(content, headers=headers, media_type=KINDS[form])


@endpoint(
    "POST",
    "/api/agent/sessions/import",
    scope="run",
    body=Import,
    answer=SessionRow,
    limit=IMPORT_LIMIT,
)
async def import_session(call: Call[Import]) -> Answer:
    """A new session of what was exported as JSON. Calls that were open are closed, nothing runs."""
    given, house = call.given, call.house
    project = given.project and project_named(call, given.project)
    return await bring_in(house.executor, given, project, house.files, owner=call.caller.user)

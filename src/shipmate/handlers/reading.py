"""A long session, read: what the user said in it, where words stand, all of it as one page."""

import asyncio
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.responses import Response

from shipmate.handlers.errors import HttpError
from shipmate.handlers.house import House
from shipmate.handlers.reach import OF_SESSION as ONE
from shipmate.handlers.route import ALLOWED, Answer, Call, Caller, Input, Nothing, endpoint
from shipmate.handlers.stored import stored
from shipmate.protocol import SessionRow
from shipmate.session.branches import ALL
from shipmate.session.exports import KINDS, PAGE_POLICY, export
from shipmate.session.finding import Hit, Said, find, outline


class Outline(msgspec.Struct, frozen=True):
    said: list[Said]
    """The user's messages, the first one first."""


class Find(Input, frozen=True, kw_only=True):
    q: Annotated[str, Meta(min_length=1, max_length=500)]
    """As it is written; upper and lower case are alike."""
    before: Annotated[int, Meta(ge=0, le=2**53)] = 0
    """Only blocks whose `pos` is lower; 0: all."""
    limit: Annotated[int, Meta(ge=1, le=1000)] = 500


class Found(msgspec.Struct, frozen=True):
    hits: list[Hit]
    """Blocks that have the words, by `pos`: the last `limit` of them."""
    total: int
    """Of all of them, before `before`."""


class PlainPage(msgspec.Struct, frozen=True):
    url: str
    """Opens without a sign-in, for ten minutes."""


@endpoint("GET", ONE + "/outline", scope="read", answer=Outline)
async def session_outline(call: Call[Nothing]) -> Answer:
    """The user's messages in a session, each by its beginning."""
    store = call.house.executor.store
    row = await store.session(call.path["id"])
    return Outline(await asyncio.to_thread(outline, await store.of_type(row.id, "user")))


@endpoint("GET", ONE + "/find", scope="read", query=Find, answer=Found)
async def find_in_session(call: Call[Find]) -> Answer:
    """Where words stand in a session: in all of it, whatever a page has loaded."""
    asked, store = call.given, call.house.executor.store
    row = await store.session(call.path["id"])
    kept = await store.window(row.id, asked.before, ALL)
    hits = await asyncio.to_thread(find, kept, asked.q)
    return Found(hits[-asked.limit :], len(hits))


@endpoint("POST", ONE + "/plain", scope="read", answer=PlainPage)
async def plain_address(call: Call[Nothing]) -> Answer:
    """An address of the whole session as one page without scripts, to print or to be read out."""
    row = await call.house.executor.store.session(call.path["id"])
    return PlainPage(f"/plain/{call.house.tickets.issue(row.id, call.caller.user)}")


@endpoint("GET", "/plain/{ticket}", scope="public", answer=str)
async def plain_page(call: Call[Nothing]) -> Answer:
    """The page that `plain` gave the address of."""
    store = call.house.executor.store
    session, user = call.house.tickets.holder(call.path["ticket"]) or ("", "")
    row = await store.session(session) if session else None
    if row is None or not _still_sees(call.house, user, row):
        raise HttpError(404, "not_found", "This page was opened too long ago. Open it anew.")
    kept = await store.window(row.id, limit=ALL)
    load = partial(stored, call.house.files)
    content = await asyncio.to_thread(export, row, kept, "html", load)
    headers = {"Content-Security-Policy": f"{PAGE_POLICY}; sandbox allow-modals"}
    return Response(content, headers=headers, media_type=KINDS["html"])


def _still_sees(house: House, user: str, row: SessionRow) -> bool:
    """Whether who asked for the address may see the session yet; `user` is empty for the person
    at the machine."""
    if not user:
        return True
    known = house.users.find(user)
    if known is None or known.disabled:
        return False
    return Caller(user, ALLOWED[known.role], user=user, role=known.role).sees(row)

"""The list of sessions, and one session: its row, its blocks, its stream."""

import re
from contextlib import aclosing
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shipmate.database.store import SessionFilter
from shipmate.errors import NotFoundError
from shipmate.handlers.body import given_fields
from shipmate.handlers.errors import HttpError
from shipmate.handlers.fresh import check_agent, check_model
from shipmate.handlers.house import House
from shipmate.handlers.reach import OF_SESSION as ONE
from shipmate.handlers.reach import listing, wanted
from shipmate.handlers.route import Answer, Call, Input, Nothing, endpoint
from shipmate.handlers.stream import EventStream, Frames, numbering, place_in
from shipmate.protocol import AnyBlock, AnyEvent, Pending, SessionDeleted, SessionRow, Status
from shipmate.session.hub import frame


class ListSessions(Input, frozen=True, kw_only=True):
    project: str = ""
    archived: Literal["false", "true", "all"] = "false"
    pinned: Literal["true", "all"] = "all"
    status: Status | Literal[""] = ""
    cursor: str = ""
    """From the answer before; empty: from the newest."""
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50
    owner: str = ""
    """A user's name; `all`: all one may see; empty: one's own, and those shared with one."""


class SessionList(msgspec.Struct, frozen=True):
    sessions: list[SessionRow]
    """The last changed first."""
    cursor: str
    """For the next page; empty at the end."""


class Window(Input, frozen=True, kw_only=True):
    before: Annotated[int, Meta(ge=0, le=2**53)] = 0
    """Only blocks whose `pos` is lower; 0: from the end."""
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


class LiveText(msgspec.Struct, frozen=True):
    """A message that is being streamed, as far as it is."""

    id: str
    agent: str
    model: str
    text: str
    reasoning: str
    parent: str = ""
    """The `call_agent` call of the sub-agent that says it."""


class SessionView(msgspec.Struct, frozen=True):
    session: SessionRow
    blocks: list[AnyBlock]
    """The window's, by `pos`."""
    pending: list[Pending]
    """All that wait for the user, in the window or not."""
    live: list[LiveText]
    epoch: str
    """With `last_seq` the place to follow from: `Last-Event-ID: <epoch>-<last_seq>`."""
    last_seq: int
    more: bool
    """There are blocks before the window's."""


class _RawView(msgspec.Struct, frozen=True):
    """`SessionView` with the blocks as they lie on disk."""

    session: SessionRow
    blocks: list[msgspec.Raw]
    pending: list[Pending]
    live: list[LiveText]
    epoch: str
    last_seq: int
    more: bool


class Change(Input, frozen=True, kw_only=True):
    title: Annotated[str, Meta(min_length=1, max_length=300)] | UnsetType = UNSET
    archived: bool | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET
    bypass_approval: bool | UnsetType = UNSET
    untrusted: bool | UnsetType = UNSET
    """False gives the session its automatic approvals back."""
    provider: str | UnsetType = UNSET
    agent: str | UnsetType = UNSET
    readers: Annotated[tuple[str, ...], Meta(max_length=100)] | UnsetType = UNSET
    """Names of the users who may read it, and no more than that."""


class After(Input, frozen=True, kw_only=True):
    after: Annotated[int, Meta(ge=0)] | None = None
    """Blocks changed since this `seq`; `Last-Event-ID` says the same."""


class Several(Input, frozen=True, kw_only=True):
    sessions: str = ""
    """`<id>:<after>,<id>:<after>`"""
    rows: bool = False
    """Also the changed row of every other session that is one's own or shared with one."""
    owner: str = ""
    """Which rows: as in the list of sessions."""


@endpoint("GET", "/api/agent/sessions", scope="read", query=ListSessions, answer=SessionList)
async def list_sessions(call: Call[ListSessions]) -> Answer:
    """The sessions' rows with their context usage, the last changed first."""
    asked = call.given
    owner, seen_by = listing(call.caller, asked.owner)
    archived = {"false": False, "true": True, "all": None}[asked.archived]
    chosen = SessionFilter(
        project=asked.project,
        archived=archived,
        pinned=True if asked.pinned == "true" else None,
        status=asked.status,
        before=_before(asked.cursor),
        limit=asked.limit,
        owner=owner,
        seen_by=seen_by,
    )
    rows = await call.house.executor.store.sessions(chosen)
    full = len(rows) == asked.limit
    return SessionList(rows, f"{rows[-1].updated_at}-{rows[-1].id}" if full else "")


def _before(cursor: str) -> tuple[int, str] | None:
    if not cursor:
        return None
    parts = re.fullmatch(r"([0-9]{1,15})-(\w+)", cursor)
    if parts is None:
        raise HttpError(422, "invalid", "The query does not fit: `cursor` is none we gave.")
    return int(parts[1]), parts[2]


@endpoint("GET", ONE, scope="read", query=Window, answer=SessionView)
async def one_session(call: Call[Window]) -> Answer:
    """One session: its row, a window of its blocks from the end, what waits, what is being
    said. Poll it, or follow from `last_seq`."""
    session, asked, executor = call.path["id"], call.given, call.house.executor
    found = await executor.store.view(session, asked.before, asked.limit + 1)
    more = len(found.blocks) > asked.limit
    view = _RawView(
        session=found.row,
        blocks=[msgspec.Raw(block.json) for block in found.blocks[more:]],
        pending=found.pending,
        live=_live(call.house, session),
        epoch=numbering(call.house.epoch, session),
        last_seq=found.row.last_seq,
        more=more,
    )
    return msgspec.json.encode(view)


def _live(house: House, session: str) -> list[LiveText]:
    speech = house.executor.door.speeches.get(session)
    return [
        LiveText(live.start.id, live.start.agent, live.start.model, *live.said, live.start.parent)
        for live in (speech.messages() if speech else ())
    ]


@endpoint(
    "PATCH",
    ONE,
    scope="run",
    body=Change,
    answer=SessionRow,
    audit=("bypass_approval", "readers", "untrusted"),
)
async def change_session(call: Call[Change]) -> Answer:
    """Change the title, archive, pin, switch the bypass, the model or the agent; trust the session
    again. The bypass and trust need the scope `approve` as well: they approve in advance."""
    fields = given_fields(call.given)
    if call.given.bypass_approval is True or call.given.untrusted is False:
        call.caller.must("approve")
    if "agent" in fields:
        check_agent(call.house.profiles(), fields["agent"])
    if "provider" in fields:
        check_model(call.house, fields["provider"])
    if "readers" in fields:
        users = call.house.users
        fields["readers"] = tuple(dict.fromkeys(users.get(one).name for one in fields["readers"]))
    return await _updated(call, fields)


async def _updated(call: Call[Change], fields: dict[str, Any]) -> SessionRow:
    executor = call.house.executor
    before = await executor.store.session(call.path["id"])
    row = await executor.update(before.id, **fields)
    for name in set(before.readers) - set(row.readers):
        call.house.presence.end(user=name)  # a stream of this session may be among theirs
    return row


@endpoint("DELETE", ONE, scope="run", audit=())
async def delete_session(call: Call[Nothing]) -> None:
    """Delete a session for good; one that runs is stopped first."""
    await call.house.executor.delete(call.path["id"])


@endpoint("POST", ONE + "/todo/clear", scope="run")
async def clear_todo(call: Call[Nothing]) -> None:
    """Empty the todo list."""
    await call.house.executor.clear_todo(call.path["id"])


@endpoint("GET", ONE + "/events", scope="read", query=After, answer=AnyEvent, stream=True)
async def session_events(call: Call[After]) -> Answer:
    """Follow a session: what changed since `after` or `Last-Event-ID`, then everything as it
    happens. An id of another numbering or session replays everything."""
    house = call.house
    row = await house.executor.store.session(call.path["id"])
    last = call.headers.get("last-event-id", "")
    place = place_in(house.epoch, row, last, call.given.after)
    return EventStream(house.epoch, house.executor.follow({row.id: place}), house.ended)


@endpoint("GET", "/api/agent/events", scope="read", query=Several, answer=AnyEvent, stream=True)
async def events(call: Call[Several]) -> Answer:
    """Follow several sessions on one stream, for a browser with several tabs. Each event names
    its session; of one that is gone it says `session_deleted`."""
    house = call.house
    places: dict[str, int] = {}
    gone: list[str] = []
    for session, after in _places(call.given.sessions):
        try:
            row = await house.executor.store.session(session)
        except NotFoundError:
            gone.append(session)
            continue
        if call.caller.sees(row):
            places[session] = place_in(house.epoch, row, "", after)
        else:
            gone.append(session)
    rows = wanted(call.caller, call.given.owner) if call.given.rows else None
    frames = house.executor.follow(places, rows=rows)
    return EventStream(house.epoch, _gone_first(gone, frames), house.ended)


async def _gone_first(gone: list[str], frames: Frames) -> Frames:
    async with aclosing(frames):
        if gone:
            yield [frame(SessionDeleted(session=session)) for session in gone]
        async for batch in frames:
            yield batch


def _places(text: str) -> list[tuple[str, int]]:
    found = [re.fullmatch(r"(\w+)(?::([0-9]{1,15}))?", item) for item in text.split(",") if item]
    if not all(found) or len(found) > 100:
        form = "`sessions` is <id>:<after>,<id>:<after>, of 100 sessions at most."
        raise HttpError(422, "invalid", f"The query does not fit: {form}")
    return [(item[1], int(item[2] or 0)) for item in found if item]

"""Messages that wait until the round that runs has come to its final answer."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shipmate.handlers.body import changes_nothing
from shipmate.handlers.chat import BODY_LIMIT, Attached, Issues, attached
from shipmate.handlers.route import Answer, Call, Input, endpoint
from shipmate.protocol import Queued, User


class Whose(Input, frozen=True, kw_only=True):
    session: str = ""


class Which(Whose, frozen=True, kw_only=True):
    id: str = ""
    """Of the queued message."""


class Add(Input, frozen=True, kw_only=True):
    session: str
    text: str = ""
    attachments: tuple[Attached, ...] = ()
    issues: Issues = ()
    """Attached as they stand at GitHub now, with their comments."""
    client_id: Annotated[str, Meta(max_length=100)] = ""
    """Sent again with the same one, the message is queued and said once."""


class One(Input, frozen=True, kw_only=True):
    session: str
    id: str
    """Of the queued message."""


class Edit(Input, frozen=True, kw_only=True):
    session: str
    id: str
    """Of the queued message."""
    text: str | UnsetType = UNSET
    place: Annotated[int, Meta(ge=0)] | UnsetType = UNSET
    """Its new place; 0: the next."""


class QueueList(msgspec.Struct, frozen=True):
    items: list[Queued]
    """The next first."""


@endpoint("GET", "/api/queue", scope="read", query=Whose, answer=QueueList)
async def queue(call: Call[Whose]) -> Answer:
    """What waits to be said in a session."""
    return QueueList(await call.house.executor.queue.items(call.given.session))


@endpoint("POST", "/api/queue", scope="run", body=Add, answer=Queued, limit=BODY_LIMIT)
async def queue_message(call: Call[Add]) -> Answer:
    """Queue a message: it is said when the round has come to its final answer. Where nothing
    runs, waits or is queued it is said at once. 409: 100 wait already."""
    asked, executor = call.given, call.house.executor
    row = await executor.store.session(asked.session)
    return await executor.queue.add(
        asked.session,
        asked.text,
        attachments=await attached(call, row.project, asked.attachments, asked.issues),
        client_id=asked.client_id,
    )


@endpoint("PATCH", "/api/queue", scope="run", body=Edit, answer=QueueList)
async def edit_queued(call: Call[Edit]) -> Answer:
    """Change a queued message's text, or its place among the others. 404: it was said or
    deleted meanwhile."""
    asked = call.given
    if asked.text is UNSET and asked.place is UNSET:
        raise changes_nothing()
    items = await call.house.executor.queue.edit(
        asked.session,
        asked.id,
        text=None if asked.text is UNSET else asked.text,
        place=None if asked.place is UNSET else asked.place,
    )
    return QueueList(items)


@endpoint("DELETE", "/api/queue", scope="run", query=Which)
async def delete_queued(call: Call[Which]) -> None:
    """Take a message out of the queue, unsaid. 404: it was said or deleted meanwhile."""
    await call.house.executor.queue.remove(call.given.session, call.given.id)


@endpoint("POST", "/api/queue/send", scope="run", body=One, answer=User)
async def send_queued(call: Call[One]) -> Answer:
    """Say a queued message now: while a round runs it reaches the model before its next step,
    else its round begins. 404: it was said or deleted meanwhile."""
    return await call.house.executor.queue.send_now(call.given.session, call.given.id)

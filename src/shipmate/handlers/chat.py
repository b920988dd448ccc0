"""Saying something: the one way in which a round begins."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from shipmate.faults import point
from shipmate.github.attachment import attachment
from shipmate.handlers.errors import HttpError
from shipmate.handlers.fresh import check_agent, check_model, check_project
from shipmate.handlers.reach import repository_of
from shipmate.handlers.respond import json_answer
from shipmate.handlers.route import Answer, Call, Input, endpoint
from shipmate.handlers.stream import EventStream, Frames, place_in
from shipmate.protocol import (
    AnyEvent,
    Attachment,
    Done,
    Pending,
    Reason,
    SessionChanged,
    SessionRow,
)
from shipmate.session.hub import Frame, frame

BODY_LIMIT = 16 * 1024 * 1024
"""Bytes of a message with the texts attached to it."""


class Attached(Input, frozen=True, kw_only=True):
    kind: Literal["file", "text"] = "text"
    name: Annotated[str, Meta(max_length=300)]
    text: str

    def block(self) -> Attachment:
        return Attachment(kind=self.kind, name=self.name, text=self.text)


class IssueGiven(Input, frozen=True, kw_only=True):
    """An issue or a pull request of the session's project."""

    number: Annotated[int, Meta(ge=1, le=2**53)]
    kind: Literal["issue", "pull_request"] = "issue"


Issues = Annotated[tuple[IssueGiven, ...], Meta(max_length=10)]


class Chat(Input, frozen=True, kw_only=True):
    """Without `session` a new one is made. `task` and `message` mean the same."""

    session: str = ""
    agent: str = "assistant"
    provider: str = ""
    """Of a new session: `provider/model`."""
    project: str = ""
    """Of a new session: id or name."""
    bypass_approval: bool = False
    """Of a new session; needs the scope `approve`."""
    task: str = ""
    message: str = ""
    attachments: tuple[Attached, ...] = ()
    issues: Issues = ()
    """Attached as they stand at GitHub now, with their comments; the session is wary then."""
    client_id: Annotated[str, Meta(max_length=100)] = ""
    """Sent again with the same one, the message is said once, and a new session made once."""
    after: Annotated[int, Meta(ge=0)] | None = None
    """Of a session that is known: the last `seq` the client has."""
    when: Literal["steer", "queue"] = "steer"
    """While a round runs: `steer` reaches the model before its next step, `queue` waits until
    the final answer."""

    @property
    def text(self) -> str:
        return self.message or self.task

    @property
    def says_nothing(self) -> bool:
        return not (self.text.strip() or self.attachments or self.issues)


class Answered(msgspec.Struct, frozen=True):
    session: SessionRow
    finished: bool
    reason: Reason
    error: str
    message: str
    """The final answer."""
    pending: list[Pending]
    """What waits for the user."""


@endpoint(
    "POST",
    "/api/agent/chat/stream",
    scope="run",
    body=Chat,
    answer=AnyEvent,
    stream=True,
    limit=BODY_LIMIT,
)
async def chat_stream(call: Call[Chat]) -> Answer:
    """Begin a session, go on with one, or (with `session` alone) attach to one. The first event
    is `session` with the whole row; the stream ends with `done`. The round goes on when the
    client leaves."""
    row, given = await _begun(call)
    frames = await said(call, row, given)
    return EventStream(call.house.epoch, _row_first(row, frames), call.house.ended)


@endpoint(
    "POST",
    "/api/agent/chat",
    scope="run",
    body=Chat,
    answer=Answered,
    waits=True,
    deprecated=True,
    limit=BODY_LIMIT,
)
async def chat(call: Call[Chat]) -> Answer:
    """The same without streaming: answers when the round is finished or waits for the user.
    Deprecated: use /api/agent/chat/stream."""
    house = call.house
    row, given = await _begun(call)
    done = await _done_of(await said(call, row, given))
    transcript = await house.executor.door.transcript(row.id)
    last = transcript.last_message
    answered = Answered(
        session=await house.executor.store.session(row.id),
        finished=done.finished,
        reason=done.reason,
        error=done.error,
        message=last.text if last and done.finished else "",
        pending=transcript.pending(),
    )
    return json_answer(answered, headers=DEPRECATED)


DEPRECATED = {
    "Deprecation": "@1764460800",
    "Link": '</api/agent/chat/stream>; rel="successor-version"',
}
"""RFC 9745; deprecated from the first version on."""


async def _begun(call: Call[Chat]) -> tuple[SessionRow, list[Attachment]]:
    """The session, and what is attached: no session is made for issues that cannot be had."""
    asked, executor = call.given, call.house.executor
    if not asked.issues:
        return await _session(call), [one.block() for one in asked.attachments]
    if asked.session:
        row = await executor.store.session(asked.session)
        if asked.client_id in (await executor.door.transcript(row.id)).users:
            return row, []
        return row, await attached(call, row.project, asked.attachments, asked.issues)
    given = await attached(call, asked.project, asked.attachments, asked.issues)
    return await _session(call), given


async def attached(
    call: Call[Any], project: str, attachments: Sequence[Attached], issues: Sequence[IssueGiven]
) -> list[Attachment]:
    """The blocks of what is given along with a message."""
    blocks = [one.block() for one in attachments]
    if issues:
        repository, _ = await repository_of(call, project)
        numbers = dict.fromkeys(one.number for one in issues)
        blocks += await asyncio.gather(*(attachment(repository, n) for n in numbers))
    return blocks


async def _session(call: Call[Chat]) -> SessionRow:
    """The session that is meant, or a new one."""
    asked, house = call.given, call.house
    if asked.session:
        return await house.executor.store.session(asked.session)
    if asked.says_nothing:
        raise HttpError(422, "invalid", "The body does not fit: `task` is missing or empty.")
    if asked.bypass_approval:
        call.caller.must("approve")
    return await house.executor.create(
        agent=check_agent(house.profiles(), asked.agent),
        provider=check_model(house, asked.provider),
        project=check_project(call, asked.project),
        bypass=asked.bypass_approval,
        client_id=asked.client_id,
        owner=call.caller.user,
    )


async def said(call: Call[Chat], row: SessionRow, attachments: Sequence[Attachment]) -> Frames:
    """Say what there is to say; what follows, up to `done`."""
    asked, executor = call.given, call.house.executor
    last = call.headers.get("last-event-id", "")
    place = place_in(call.house.epoch, row, last, asked.after)
    if asked.says_nothing or asked.client_id in (await executor.door.transcript(row.id)).users:
        return executor.until_done(row.id, place)
    if not last and asked.after is None:
        place = row.last_seq
    if asked.when == "queue" and asked.session:
        await executor.queue.add(
            row.id, asked.text, attachments=attachments, client_id=asked.client_id
        )
        return executor.until_done(row.id, place)
    frames = executor.follow({row.id: place})
    point("chat.created")
    try:
        begun = await anext(frames)  # it listens now: no piece of the answer can be missed
        user = await executor.send(
            row.id, asked.text, attachments=attachments, client_id=asked.client_id
        )
    except BaseException:
        await frames.aclose()
        raise
    if not executor.runs(row.id):  # it was said before, and that round is over
        await frames.aclose()
        return executor.until_done(row.id, place)
    return _until_done(begun, frames, user.seq)


async def _until_done(begun: list[Frame], frames: Frames, said: int) -> AsyncGenerator[list[Frame]]:
    """Up to the end of the round that heard the message numbered `said`; a round that ended
    before that, by a Stop say, is not the one."""
    heard = False
    async with aclosing(frames):
        yield begun
        async for batch in frames:
            for n, item in enumerate(batch):
                heard = heard or (item.seq or 0) >= said
                if item.type == "session_deleted" or (heard and item.type == "done"):
                    yield batch[: n + 1]
                    return
            yield batch


async def _row_first(row: SessionRow, frames: Frames) -> AsyncGenerator[list[Frame]]:
    told = False
    async with aclosing(frames):
        async for batch in frames:
            if not told and batch[0].type != "session":
                yield [frame(SessionChanged(session=row.id, row=row))]
            told = True
            yield batch


async def _done_of(frames: Frames) -> Done:
    async with aclosing(frames):
        async for batch in frames:
            for item in batch:
                if item.type == "done":
                    return msgspec.json.decode(item.data, type=Done)
    return Done(finished=False, reason="error", error="The session was deleted.")

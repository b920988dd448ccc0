"""Messages that wait for their turn: the next is said when a round came to its final answer."""

import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec import structs

from shipmate.agent.transcript import Transcript
from shipmate.database.store import Store
from shipmate.errors import ConflictError, NotFoundError, ShipmateError
from shipmate.faults import point
from shipmate.protocol import Attachment, QueueChanged, Queued, System, User, new_id
from shipmate.session.door import Door

MAX_QUEUED = 100
HELD = System(
    text="Stopped. The queued messages wait until you go on, or send one now.", code="held"
)

Say: TypeAlias = Callable[[str, User, Sequence[Attachment]], Awaitable[User]]
"""Says something in a session, in the session's turn."""


def check_said(text: str, attachments: Sequence[Attachment]) -> None:
    if not text.strip() and not attachments:
        raise ShipmateError("The message is empty: write something, or attach something.")


@dataclass(slots=True)
class Queue:
    """The queues of all sessions. A round that was stopped, cut off or failed holds its
    session's queue until the user goes on: then the next final answer takes it up again. A
    server that dies between a final answer and the next message takes nothing away: the next
    server says it."""

    door: Door
    say: Say
    runs: Callable[[str], bool]
    _due: set[str] = field(default_factory=set[str])
    """Sessions whose round has just come to its final answer."""

    @property
    def _store(self) -> Store:
        return self.door.store

    async def items(self, session: str) -> list[Queued]:
        """What waits, the next first."""
        await self._store.session(session)
        return await self._store.queue(session)

    async def add(
        self,
        session: str,
        text: str,
        *,
        attachments: Sequence[Attachment] = (),
        client_id: str = "",
    ) -> Queued:
        """Queue a message; where nothing runs and nothing waits it is said at once. The same
        `client_id` is queued and said once."""
        check_said(text, attachments)
        now = time.time_ns() // 1_000_000
        new = Queued(text=text, attachments=tuple(attachments), client_id=client_id, at=now)
        async with self.door.turn(session):
            transcript = await self.door.transcript(session)
            if client_id and (said := transcript.users.get(client_id)):
                return structs.replace(new, id=said.id)
            items = await self._change(session, lambda queued: _with(queued, new))
            idle = self.door.row(session).status == "idle" and not self.runs(session)
            if idle and items == [new]:
                await self._take(session, new)
        return next((q for q in items if client_id and q.client_id == client_id), new)

    async def edit(
        self, session: str, item: str, *, text: str | None = None, place: int | None = None
    ) -> list[Queued]:
        """Change the text of a queued message, or its place (0: the next); what waits then."""

        def revise(queued: Sequence[Queued]) -> Sequence[Queued]:
            found = _named(queued, item)
            others = [one for one in queued if one.id != item]
            at = queued.index(found) if place is None else place
            if text is not None:
                found = structs.replace(found, text=text)
            if not found.text.strip() and not found.attachments:
                raise ShipmateError("The message would be empty; delete it instead.")
            return [*others[:at], found, *others[at:]]

        async with self.door.turn(session):
            return await self._change(session, revise)

    async def remove(self, session: str, item: str) -> None:
        """Take a message out of the queue, unsaid."""

        def revise(queued: Sequence[Queued]) -> Sequence[Queued]:
            _named(queued, item)
            return [one for one in queued if one.id != item]

        async with self.door.turn(session):
            await self._change(session, revise)

    async def send_now(self, session: str, item: str) -> User:
        """Say a queued message at once: while a round runs it steers, else its round begins."""
        async with self.door.turn(session):
            return await self._take(session, _named(await self.items(session), item))

    async def say_same(self, session: str, client_id: str) -> User | None:
        """In the session's turn: say the queued message that its client gave this id, as it is
        sent again; None where none is."""
        same = (one for one in await self._store.queue(session) if one.client_id == client_id)
        item = next(same, None)
        return await self._take(session, item) if item else None

    # --- one after the other --------------------------------------------------------------

    def finished(self, session: str) -> None:
        """A round came to its final answer: `next` is to be called."""
        self._due.add(session)

    async def hold(self, session: str, transcript: Transcript, *, ran: bool) -> list[System]:
        """The user stopped: nothing begins by itself. Where the answer was final already, only a
        notice tells the next server so. `ran`: a round was ended by it."""
        ran = ran or session in self._due
        self._due.discard(session)
        waits = ran and not transcript.wants_reply() and await self._store.queue(session)
        return [structs.replace(HELD, id=new_id())] if waits else []

    async def take_up(self) -> None:
        """At the start: go on where an earlier server had come to a final answer."""
        for session in await self._store.waiting_queues():
            if _is_due(await self.door.transcript(session)):
                self.finished(session)
                await self.next(session)

    async def next(self, session: str) -> None:
        """Say what is next, unless something else has happened since the final answer."""
        with contextlib.suppress(NotFoundError):  # deleted meanwhile
            async with self.door.turn(session):
                due = session in self._due
                self._due.discard(session)
                await self.door.transcript(session)
                if not due or self.runs(session) or self.door.row(session).status != "idle":
                    return
                if items := await self._store.queue(session):
                    point("queue.next")
                    await self._take(session, items[0])

    async def _take(self, session: str, item: Queued) -> User:
        """It leaves the queue in the transaction in which its block is kept."""
        await self.door.transcript(session)
        said = User(id=item.id, text=item.text, client_id=item.client_id)
        said = await self.say(session, said, item.attachments)
        point("queue.said")
        self._tell(session, await self._store.queue(session))
        return said

    async def _change(
        self, session: str, revise: Callable[[Sequence[Queued]], Sequence[Queued]]
    ) -> list[Queued]:
        items = await self._store.change_queue(session, revise)
        point("queue.changed")
        self._tell(session, items)
        return items

    def _tell(self, session: str, items: Sequence[Queued]) -> None:
        self.door.tell(QueueChanged(session=session, items=tuple(items)))


def _is_due(transcript: Transcript) -> bool:
    """The last word was a final answer, or nothing was said yet; and nobody stopped after it."""
    said = transcript.last_message
    if said is None:
        return transcript.last_user is None
    held = (b for b in transcript.context.blocks if isinstance(b, System) and b.code == HELD.code)
    if any(block.pos > said.pos for block in held):
        return False
    return not (transcript.wants_reply() or transcript.spending.stopped)


def _with(queued: Sequence[Queued], new: Queued) -> Sequence[Queued]:
    if new.client_id and any(one.client_id == new.client_id for one in queued):
        return queued
    if len(queued) >= MAX_QUEUED:
        raise ConflictError(f"{MAX_QUEUED} messages wait already; delete one first.")
    return [*queued, new]


def _named(queued: Sequence[Queued], item: str) -> Queued:
    for one in queued:
        if one.id == item:
            return one
    raise NotFoundError(f"Nothing waits under {item!r}: it was said or deleted meanwhile.")

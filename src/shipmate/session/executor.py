"""The life of a session: what a person does to it, and the rounds that follow from it."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import structs

from shipmate.agent import closing
from shipmate.agent.context import LoadImage, no_image
from shipmate.agent.profile import Agent
from shipmate.agent.transcript import Transcript
from shipmate.database.store import Store
from shipmate.errors import ConflictError, NotFoundError
from shipmate.faults import point
from shipmate.llm.windows import Windows
from shipmate.protocol import (
    AnyBlock,
    ApprovalRequest,
    AskUser,
    Attachment,
    Done,
    SessionDeleted,
    SessionRow,
    Todo,
    User,
    new_id,
)
from shipmate.session import following
from shipmate.session.background import Background
from shipmate.session.beside import Beside
from shipmate.session.changing import changes, told
from shipmate.session.compacting import Compacting
from shipmate.session.deciding import Deciding
from shipmate.session.decision import Decision
from shipmate.session.door import Door
from shipmate.session.engine import Engine
from shipmate.session.hub import Frame, Hub
from shipmate.session.ledgers import Ledgers
from shipmate.session.queue import Queue, check_said
from shipmate.session.recovery import RESUMED, recover, to_resume
from shipmate.session.rounds import Assemble, Rounds
from shipmate.session.titles import Titles, provisional
from shipmate.tools.tool import SHUTDOWN, STOP

log = logging.getLogger(__name__)

NOTHING_WAITS = {"pending_approval": "", "pending_question": "", "error": ""}

Discard: TypeAlias = Callable[[str, Collection[str]], Awaitable[None]]
"""Removes what a session has beside its blocks: background commands, stored outputs, and those
stored files, by their ids, that it alone showed."""


async def _nothing_else(_session: str, _files: Collection[str]) -> None:
    """For who keeps nothing beside the blocks."""


def new_session_id(client_id: str, owner: str) -> str:
    """The id of a new session: the same for the same `client_id` of the same user."""
    return new_id(f"{owner}\n{client_id}" if client_id and owner else client_id)


class Executor:
    """Every command on sessions. What happens is told by `follow`, never by an answer."""

    def __init__(
        self,
        store: Store,
        tasks: asyncio.TaskGroup,
        assemble: Assemble,
        image: LoadImage = no_image,
        discard: Discard = _nothing_else,
        windows: Windows | None = None,
    ) -> None:
        self.store = store
        self._discard = discard
        self.door = Door(store, Hub(), image)
        self._tasks = Background(tasks)
        self._titles = Titles(self.door, self._tasks)
        self._beside = Beside(self.door, self._tasks)
        ledgers = Ledgers(self.door, self._beside, windows or Windows())
        self._rounds = Rounds(
            self.door,
            assemble,
            self._tasks,
            running=self.runs,
            ending=self._ending,
            finished=self._finished,
            ledgers=ledgers,
        )
        self._engine = Engine(self._tasks, self._rounds.run)
        self._deciding = Deciding(self.door, assemble, self._decided)
        self.queue = Queue(self.door, self._say, self.runs)
        self.compacting = Compacting(self.door, assemble, ledgers)

    def runs(self, session: str) -> bool:
        """Whether a round of the session runs."""
        return session in self._engine.sessions

    def _ending(self, session: str) -> str:
        return self._engine.ending(session)

    # --- following ----------------------------------------------------------------------

    def follow(
        self, sessions: Mapping[str, int], *, rows: Callable[[SessionRow], bool] | None = None
    ) -> AsyncGenerator[list[Frame]]:
        """See `session.following.follow`."""
        return following.follow(self.door, sessions, rows=rows)

    def until_done(self, session: str, after: int = 0) -> AsyncGenerator[list[Frame]]:
        """See `session.following.until_done`."""
        return following.until_done(self.door, session, after)

    # --- talking ------------------------------------------------------------------------

    async def create(
        self,
        *,
        agent: str,
        provider: str,
        project: str,
        bypass: bool = False,
        client_id: str = "",
        owner: str = "",
    ) -> SessionRow:
        """A new session; with a `client_id` that one session, however often it is asked for."""
        row = SessionRow(
            id=new_session_id(client_id, owner),
            agent=agent,
            provider=provider,
            project=project,
            bypass_approval=bypass,
            owner=owner,
        )
        row = await self.store.create_session(row)
        self.door.tell_row(row)
        return row

    async def send(
        self,
        session: str,
        text: str,
        *,
        attachments: Sequence[Attachment] = (),
        client_id: str = "",
    ) -> User:
        """Say something. While a round runs it reaches the model before its next step; what
        waited for the user is closed as not run. The same `client_id` is said once."""
        check_said(text, attachments)
        async with self.door.turn(session):
            transcript = await self.door.transcript(session)
            if client_id and (said := transcript.users.get(client_id)):
                return said
            if client_id and (said := await self.queue.say_same(session, client_id)):
                return said
            return await self._say(session, User(text=text, client_id=client_id), attachments)

    async def _say(self, session: str, user: User, attachments: Sequence[Attachment]) -> User:
        closed: list[AnyBlock] = []
        fields: dict[str, Any] = {"status": "running"}  # whatever its round is about to keep
        transcript = await self.door.transcript(session)
        if self.runs(session):
            user = structs.replace(user, steers=not transcript.spending.stopped)
        else:
            closed = closing.close_open(transcript, closing.MOVED_ON)
            fields = self._begun(session, user.text)
        written = await self.door.record(session, *closed, *attachments, user, row=fields)
        point("send.recorded")
        self._engine.advance(session)
        point("send.advanced")
        said = written.saved[-1].block
        assert isinstance(said, User)  # noqa: S101 - the last one above
        return said

    def _begun(self, session: str, text: str) -> dict[str, Any]:
        fields = {**NOTHING_WAITS, "status": "running"}
        return fields if self.door.row(session).title else {**fields, "title": provisional(text)}

    # --- deciding -----------------------------------------------------------------------

    async def decide(
        self, session: str, approved: bool, *, block: str = "", **how: Any
    ) -> ApprovalRequest:
        """Decide a pending approval; the first decision wins, `DecidedError` tells it. `how`:
        the other fields of a `Decision`; see `Deciding.decide` for edited arguments."""
        return await self._deciding.decide(session, Decision(approved, **how), block)

    async def answer(self, session: str, text: str, *, block: str = "") -> AskUser:
        """Answer a pending question; the first answer wins, `DecidedError` tells it."""
        return await self._deciding.answer(session, text, block)

    def _decided(self, session: str) -> None:
        if crew := self._rounds.crews.get(session):
            crew.tell()
        self._engine.advance(session)

    # --- control ------------------------------------------------------------------------

    async def stop(self, session: str) -> None:
        """End what runs and close what waits. Harmless where nothing does."""
        async with self.door.turn(session):
            ran = await self._engine.stop(session, STOP)
            await self._beside.end(session)
            transcript = await self.door.transcript(session)
            point("stop.cut")
            closed = closing.close_open(transcript, closing.STOPPED)
            closed += await self.queue.hold(session, transcript, ran=ran)
            if closed or self.door.row(session).status != "idle":
                fields = {**NOTHING_WAITS, "status": "idle"}
                stopped = Done(session=session, finished=False, reason="stopped")
                await self.door.record(session, *closed, row=fields, then=stopped)

    async def stop_agent(self, session: str, call: str) -> None:
        """End the sub-agent that works for `call`, with its own ones; the round goes on.
        `NotFoundError`: none does."""
        async with self.door.turn(session):
            transcript = await self.door.transcript(session)
            found = closing.open_call(transcript, call)
            if found is None or not transcript.below(call):
                raise NotFoundError(f"No agent works for the call {call!r}; it may have ended.")
            if self.runs(session):
                await self._rounds.stop_agent(session, call)
                self._engine.advance(session)
                return
            blocks = closing.close_agent(transcript, found)
            if self.door.row(session).status in ("interrupted", "error"):
                await self.door.record(session, *blocks)
                await self.door.record(session, row=transcript.waiting_fields())
                return
            await self.door.record(session, *blocks, row={"status": "running"})
            self._engine.advance(session)

    async def resume(self, session: str) -> None:
        """Go on with a round that was interrupted, or that failed."""
        async with self.door.turn(session):
            await self._check_cut_off(session, "resume")
            await self.door.record(session, row={"status": "running", "error": ""})
            point("resume.recorded")
            self._engine.advance(session)

    async def dismiss(self, session: str) -> None:
        """Leave a round that was interrupted as it is; what was open is closed."""
        async with self.door.turn(session):
            await self._check_cut_off(session, "dismiss")
            transcript = await self.door.transcript(session)
            closed = closing.close_open(transcript, closing.DISMISSED)
            closed += await self.queue.hold(session, transcript, ran=True)
            await self.door.record(session, *closed, row={**NOTHING_WAITS, "status": "idle"})
            point("dismiss.recorded")

    async def _check_cut_off(self, session: str, what: str) -> None:
        if (await self.store.session(session)).status not in ("interrupted", "error"):
            raise ConflictError(f"There is nothing to {what}: the round was not cut off.")

    async def update(self, session: str, **fields: Any) -> SessionRow:
        """Change the row; see `session.changing`."""
        fields = changes(fields)
        async with self.door.turn(session):
            notices = await told(self.store, session, fields)
            return (await self.door.record(session, *notices, row=fields)).row

    async def clear_todo(self, session: str) -> None:
        await self.door.record(session, Todo(id="todo"))

    async def delete(self, session: str) -> None:
        """Stop it if it runs, then remove all of it."""
        async with self.door.turn(session):
            await self._engine.stop(session, STOP)
            await self._beside.end(session)
            await self._discard(session, await self.store.delete_session(session))
            self.door.forget(session)
            self.door.tell(SessionDeleted(session=session))

    # --- start and end ------------------------------------------------------------------

    async def recover(self, *, resume_once: bool = False) -> None:
        """See `session.recovery.recover`. `resume_once`: what was cut off goes on by itself."""
        await recover(self.store)
        for session in await to_resume(self.store) if resume_once else ():
            await self.door.record(session, structs.replace(RESUMED, id=new_id()))
            await self.resume(session)
        await self.queue.take_up()

    async def close(self, grace: float = 0) -> None:
        """After `grace` seconds cut every round that still runs; it can be resumed. Titles that
        are being asked for are waited for no longer than that."""
        end = asyncio.get_running_loop().time() + grace
        await self._engine.close(grace, SHUTDOWN)
        await self._tasks.end(end - asyncio.get_running_loop().time())

    def _finished(self, row: SessionRow, agent: Agent, transcript: Transcript) -> None:
        self.compacting.ahead(row.id, agent, transcript)
        self._titles.finished(row, agent, transcript)
        self.queue.finished(row.id)
        self._tasks.start(self.queue.next(row.id), f"the queue of session {row.id}")

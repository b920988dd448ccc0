"""Runs rounds: from the session's blocks to `done`, whatever happens on the way."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from msgspec import structs

from shipmate.agent.approvals import Closed, closing
from shipmate.agent.loop import Round
from shipmate.agent.profile import Agent
from shipmate.agent.transcript import Transcript
from shipmate.errors import NotFoundError, ShipmateError
from shipmate.llm.model import ModelError
from shipmate.protocol import AnyBlock, ApprovalRequest, Done, SessionRow, Status, System
from shipmate.session.door import Door
from shipmate.session.speech import Speech

log = logging.getLogger(__name__)

Assemble: TypeAlias = Callable[[SessionRow], Awaitable[Agent]]
"""Profile, project and configuration put together for one session."""

STOP, SHUTDOWN = "stop", "shutdown"
"""Why a round is ended: by the user; by the server's end (it is interrupted, and can go on)."""


@dataclass(slots=True)
class Rounds:
    door: Door
    assemble: Assemble
    finished: Callable[[SessionRow, Agent, Transcript], None]
    """Told of each round that came to its final answer."""

    async def run(self, session: str, again: Callable[[], bool]) -> None:
        """Carry the session on until it is finished or waits for the user."""
        try:
            with self.door.held(session):
                await self._run(session, again)
        except NotFoundError:
            log.info("session %s was deleted while its round ran", session)
        except ShipmateError as error:  # nothing can be read or kept: at least it is shown
            log.warning("the round of session %s could not be kept: %s", session, error)
            failed = Done(session=session, finished=False, reason="error", error=str(error))
            self.door.tell(failed)
        finally:
            self.door.speeches.pop(session, None)

    async def _run(self, session: str, again: Callable[[], bool]) -> None:
        transcript = await self.door.transcript(session)
        row = await self.door.store.session(session)
        agent: Agent | None = None
        try:
            agent = await self.assemble(row)
            playing = self._round(row, agent, transcript)
            done = await playing.run()
            while again() or await self._news(session, transcript):
                done = await playing.run()
        except asyncio.CancelledError as cut:
            done = await self._cut(session, transcript, str(cut.args[0]) if cut.args else SHUTDOWN)
        except ModelError as error:  # the loop has recorded it
            done = Done(finished=False, reason="error", error=str(error))
        except ShipmateError as error:
            done = await self._failed(session, error)
        except Exception:
            log.exception("the round of session %s failed", session)
            text = "The round failed unexpectedly; the server's log has the details."
            done = await self._failed(session, ShipmateError(text))
        row = await self._close(session, transcript, done)
        if done.finished and agent:
            self.finished(row, agent, transcript)

    def _round(self, row: SessionRow, agent: Agent, transcript: Transcript) -> Round:
        session = row.id
        speech = Speech(
            session, agent.profile.name, agent.model.info.id, self.door.store, self.door.tell
        )
        self.door.speeches[session] = speech

        async def record(
            *blocks: AnyBlock, row: dict[str, Any] | None = None, durable: bool = True
        ) -> None:
            if blocks or row:
                await self.door.record(session, *blocks, row=row, durable=durable)

        if transcript.steps == 0:
            agent.work.guard.reads.clear()
        return Round(
            agent, transcript, record, speech, lambda: self.door.row(session).bypass_approval
        )

    async def _news(self, session: str, transcript: Transcript) -> bool:
        """A decision or a message was on its way while the round came to its end."""
        seen = transcript.changes
        await self.door.settled(session)
        return transcript.changes != seen

    async def _cut(self, session: str, transcript: Transcript, why: str) -> Done:
        """What was being recorded is waited for; then what is open is closed, truthfully."""
        await self.door.settled(session)
        if why != STOP:
            return Done(finished=False, reason="interrupted")
        if blocks := close_open(transcript, "stop", "Not run: stopped by the user."):
            await self.door.record(session, *blocks)
        return Done(finished=False, reason="stopped")

    async def _failed(self, session: str, error: ShipmateError) -> Done:
        try:
            block = System(text=str(error), level="error", code=error.code)
            await self.door.record(session, block)
        except NotFoundError:
            raise
        except ShipmateError as unsaved:  # the disk is full: it is shown, if it cannot be kept
            log.warning("the failure of session %s could not be kept: %s", session, unsaved)
        return Done(finished=False, reason="error", error=str(error))

    async def _close(self, session: str, transcript: Transcript, done: Done) -> SessionRow:
        fields = {**waiting_fields(transcript), "status": _status(done), "error": done.error}
        done = structs.replace(done, session=session)
        try:
            return (await self.door.record(session, row=fields, then=done)).row
        except NotFoundError:
            raise
        except ShipmateError as unsaved:
            log.warning("the end of session %s could not be kept: %s", session, unsaved)
        self.door.tell(done)
        return await self.door.store.session(session)


def waiting_fields(transcript: Transcript, but: str = "") -> dict[str, Any]:
    """The row's names of the oldest pending approval and question, `but` left out."""
    pending = [block for block in transcript.pending() if block.id != but]
    approvals = [b.id for b in pending if isinstance(b, ApprovalRequest)]
    questions = [b.id for b in pending if not isinstance(b, ApprovalRequest)]
    return {"pending_approval": "".join(approvals[:1]), "pending_question": "".join(questions[:1])}


def close_open(transcript: Transcript, why: Closed, text: str) -> list[AnyBlock]:
    """The blocks that close all that is open."""
    pending = {block.call: block for block in transcript.pending()}
    return [
        block
        for call in transcript.open_calls()
        for block in closing(call, pending.get(call.id), why, text)
    ]


def _status(done: Done) -> Status:
    if done.reason in ("waiting_approval", "waiting_answer", "interrupted", "error"):
        return done.reason
    return "idle"

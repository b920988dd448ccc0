"""Runs rounds: from the session's blocks to `done`, whatever happens on the way."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from msgspec import structs

from shipmate.agent.closing import STOPPED, close_open
from shipmate.agent.crew import Crew
from shipmate.agent.loop import Round
from shipmate.agent.profile import Agent
from shipmate.agent.transcript import Transcript
from shipmate.errors import NotFoundError, ShipmateError, StorageError
from shipmate.faults import point
from shipmate.llm.model import ModelError
from shipmate.protocol import AnyBlock, Done, Message, SessionRow, Status, System
from shipmate.session.background import Background
from shipmate.session.door import Door
from shipmate.session.ledgers import Ledgers
from shipmate.session.speech import Speech
from shipmate.session.standing import standing
from shipmate.tools.tool import STOP

log = logging.getLogger(__name__)

Assemble: TypeAlias = Callable[[SessionRow], Awaitable[Agent]]
"""Profile, project and configuration put together for one session."""

UNEXPECTED = "The round failed unexpectedly; the server's log has the details."
AGAIN_SECONDS = 1.0
"""How long until it is tried again to keep an end that could not be kept."""


@dataclass(frozen=True, slots=True)
class End:
    """How a round ended: what is told, and what is kept with it."""

    done: Done
    blocks: tuple[AnyBlock, ...] = ()
    agent: Agent | None = None


@dataclass(slots=True)
class Rounds:
    door: Door
    assemble: Assemble
    tasks: Background
    running: Callable[[str], bool]
    """Whether a round of the session runs."""
    ending: Callable[[str], str]
    """Why the session's round is being ended, `STOP` or `SHUTDOWN`; empty when it is not."""
    finished: Callable[[SessionRow, Agent, Transcript], None]
    """Told of each round that came to its final answer, when that is kept."""
    ledgers: Ledgers
    crews: dict[str, Crew] = field(default_factory=dict[str, Crew])
    """The sub-agents of the rounds that run, by session."""
    stopped: set[str] = field(default_factory=set[str])
    """Calls whose sub-agents are to end, in rounds that run."""

    async def run(self, session: str, again: Callable[[], bool]) -> None:
        """Carry the session on until it is finished or waits for the user. Never raises, except
        when it is cancelled: at least the end is shown."""
        try:
            with self.door.held(session):
                await self._run(session, again)
        except NotFoundError:
            log.info("session %s was deleted while its round ran", session)
        except ShipmateError as error:  # nothing can be read or kept
            log.warning("the round of session %s could not be kept: %s", session, error)
            self._tell_failure(session, str(error))
        except Exception:
            log.exception("the round of session %s could not be ended", session)
            self._tell_failure(session, UNEXPECTED)
        finally:
            self.door.speeches.pop(session, None)
            self.crews.pop(session, None)

    async def stop_agent(self, session: str, call: str) -> None:
        """End the sub-agent of a call in a round that runs, wherever that is."""
        self.stopped.add(call)
        if crew := self.crews.get(session):
            await crew.stop(call)

    def _tell_failure(self, session: str, why: str) -> None:
        self.door.tell(Done(session=session, finished=False, reason="error", error=why))

    async def _run(self, session: str, again: Callable[[], bool]) -> None:
        point("round.begin")
        transcript = await self.door.transcript(session)
        try:
            while True:
                end = await self._played(session, transcript)
                point("round.played")
                self._cut_again(session)
                async with self.door.turn(session):  # no command is half done now
                    if not again():
                        await self._close(session, transcript, end)
                        point("round.closed")
                        return
        except asyncio.CancelledError:
            await self.door.settled(session)
            point("round.cut")
            if self.door.row(session).status == "running":  # else it had come to its end
                await self._close(session, transcript, self._cut(session, transcript))

    async def _played(self, session: str, transcript: Transcript) -> End:
        """Play the round; each way in which it can fail is an end, too."""
        agent: Agent | None = None
        try:
            row = await self.door.store.session(session)
            agent = await self.assemble(row)
            return End(await self._round(row, agent, transcript).run(), agent=agent)
        except ModelError as error:  # the loop has recorded it
            return End(Done(finished=False, reason="error", error=str(error)))
        except NotFoundError as error:
            await self.door.store.session(session)  # raises when it is the session
            return _failed(str(error), error.code)
        except StorageError as error:  # what was said is kept later, with the end
            return _failed(str(error), error.code, *self._said(session))
        except ShipmateError as error:
            return _failed(str(error), error.code)
        except Exception:
            log.exception("the round of session %s failed", session)
            return _failed(UNEXPECTED, ShipmateError.code)

    def _said(self, session: str) -> list[Message]:
        """The messages that were shown and could not be kept, as far as they came."""
        speech = self.door.speeches.get(session)
        return [live.cut_off() for live in speech.messages()] if speech else []

    def _round(self, row: SessionRow, agent: Agent, transcript: Transcript) -> Round:
        session = row.id
        speech = Speech(session, self.door.store, self.door.tell)
        self.door.speeches[session] = speech

        async def record(
            *blocks: AnyBlock, row: dict[str, Any] | None = None, durable: bool = True
        ) -> None:
            if blocks or row:
                await self.door.record(session, *blocks, row=row, durable=durable)

        ledger = self.ledgers.of(session, transcript)
        crew = Crew(transcript, record, speech, standing(self.door, row), ledger, self.stopped)
        self.crews[session] = crew
        return crew.round(agent, transcript)

    def _cut_again(self, session: str) -> None:
        """What fails while a round is cut takes the place of the cut."""
        if self.ending(session):
            raise asyncio.CancelledError

    def _cut(self, session: str, transcript: Transcript) -> End:
        """What was being recorded is kept by now, if it could be; what is open is closed,
        truthfully."""
        said = self._said(session)
        if self.ending(session) != STOP:
            return End(Done(finished=False, reason="interrupted"), tuple(said))
        closed = close_open(transcript, STOPPED)
        return End(Done(finished=False, reason="stopped"), (*said, *closed))

    async def _close(self, session: str, transcript: Transcript, end: End) -> None:
        try:
            await self._keep_end(session, transcript, end)
        except StorageError as unsaved:  # the disk is full: it is shown, and kept later
            log.warning("the end of session %s could not be kept: %s", session, unsaved)
            self.door.tell(structs.replace(end.done, session=session))
            work = self._close_later(session, end)
            self.tasks.start(work, f"keeping the end of {session}")

    async def _keep_end(self, session: str, transcript: Transcript, end: End) -> None:
        done = structs.replace(end.done, session=session)
        waiting = transcript.waiting_fields(but=[block.id for block in end.blocks])
        status = _status(done, waits=bool(waiting["pending_question"]))
        fields = {**waiting, "status": status, "error": done.error}
        written = await self.door.record(session, *end.blocks, row=fields, then=done)
        if done.finished and end.agent:
            self.finished(written.row, end.agent, transcript)

    async def _close_later(self, session: str, end: End) -> None:
        """Try until it is kept, or until the session goes on. Who came meanwhile saw a round that
        runs: they are told how it ended."""
        while True:
            await asyncio.sleep(AGAIN_SECONDS)
            async with self.door.turn(session):
                try:
                    transcript = await self.door.transcript(session)
                    if self.door.row(session).status != "running" or self.running(session):
                        return
                    await self._keep_end(session, transcript, end)
                except NotFoundError:
                    return
                except StorageError:
                    continue
                return


def _failed(why: str, code: str, *before: AnyBlock) -> End:
    block = System(text=why, level="error", code=code)
    return End(Done(finished=False, reason="error", error=why), (*before, block))


def _status(done: Done, *, waits: bool) -> Status:
    if done.reason == "budget" and waits:
        return "waiting_answer"
    if done.reason in ("waiting_approval", "waiting_answer", "interrupted", "error"):
        return done.reason
    return "idle"

"""What a person does to summaries: compact now, edit one, take one back."""

import asyncio
from typing import Any

from msgspec import structs

from shipmate.agent.profile import Agent
from shipmate.agent.transcript import Transcript
from shipmate.agent.upkeep import Upkeep
from shipmate.errors import ConflictError, NotFoundError, ShipmateError
from shipmate.protocol import AnyBlock, ContextUsage, Summary
from shipmate.session.door import Door
from shipmate.session.ledgers import Ledgers
from shipmate.session.rounds import Assemble


class Compacting:
    def __init__(self, door: Door, assemble: Assemble, ledgers: Ledgers) -> None:
        self._door = door
        self._assemble = assemble
        self._ledgers = ledgers

    async def now(self, session: str) -> Summary:
        """Compact the session, whether a round runs or not; where that is being done already,
        its outcome. 409: there is nothing to sum up, or Stop ended it."""
        row = await self._door.store.session(session)
        agent = await self._assemble(row)
        outcome: asyncio.Future[Summary | None] = asyncio.get_running_loop().create_future()
        with self._door.held(session):
            transcript = await self._door.transcript(session)
            transcript.context.set_prompt(agent.prompt)
            upkeep = self._upkeep(session, agent, transcript)
            await upkeep.by_hand(outcome)
        if not outcome.done():
            raise ConflictError("Summing up was ended before it was done; what was sent stays.")
        if (made := outcome.result()) is None:
            raise ConflictError(
                "There is nothing to sum up: the first task and the last step are always kept."
            )
        return _summary_of(await self._door.store.block(session, made.id))

    def ahead(self, session: str, agent: Agent, transcript: Transcript) -> None:
        """After a round: compact before the user writes again, where the window fills."""
        self._upkeep(session, agent, transcript).begin()

    async def edit(self, session: str, block: str, text: str) -> Summary:
        """Change the text of a summary that counts."""
        if not text.strip():
            raise ShipmateError("The summary is empty; take it back instead.")

        def revise(kept: AnyBlock) -> AnyBlock:
            return structs.replace(_summary(kept), text=text.strip(), edited=True)

        return await self._change(session, block, revise)

    async def undo(self, session: str, block: str) -> Summary:
        """Take a summary back: what it replaced is sent again."""

        def revise(kept: AnyBlock) -> AnyBlock:
            return structs.replace(_summary(kept), undone=True)

        return await self._change(session, block, revise)

    async def _change(self, session: str, block: str, revise: Any) -> Summary:
        async with self._door.turn(session):
            await self._ledgers.beside.end(session)  # it was told what is changed here
            transcript = await self._door.transcript(session)
            written = await self._door.change(session, block, revise)
            changed = _summary_of(written.saved[0].block)
            usage = self._door.row(session).context_usage
            if usage and not changed.parent:
                tokens = transcript.context.meter.measure(transcript.context.messages())
                known = ContextUsage(tokens=tokens, max=usage.max, percent=0, source="estimate")
                await self._door.record(session, row={"context_usage": known})
        return changed

    def _upkeep(self, session: str, agent: Agent, transcript: Transcript) -> Upkeep:
        async def record(*blocks: AnyBlock, row: dict[str, Any] | None = None) -> None:
            if blocks or row:
                await self._door.record(session, *blocks, row=row)

        return Upkeep(agent, transcript, record, self._ledgers.of(session, transcript))


def _summary(kept: AnyBlock) -> Summary:
    summary = _summary_of(kept)
    if summary.undone:
        raise ConflictError("This summary was taken back.")
    return summary


def _summary_of(kept: AnyBlock) -> Summary:
    if not isinstance(kept, Summary):
        raise NotFoundError(f"{kept.id!r} is no summary.")
    return kept

"""What a call that runs can turn to: the user, the model, the card that shows how far it is."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET, structs

from shipmate.agent.closing import unanswered
from shipmate.agent.profile import Agent
from shipmate.agent.transcript import Transcript
from shipmate.agent.voice import Voice
from shipmate.errors import ShipmateError
from shipmate.llm.model import ChatMessage, ModelError, Reply
from shipmate.llm.prices import spent, taken
from shipmate.protocol import Closed, Pending, ToolCall
from shipmate.tools.tool import SHUTDOWN, STOP, ToolError


@dataclass(slots=True, eq=False)
class RunningDesk:
    """Implements `tools.tool.Desk` for the calls of one thread. What is asked is kept and shown
    as ever; only the call that asks waits for it in memory, as it runs elsewhere meanwhile and
    could not be begun anew (decision 0011)."""

    agent: Agent
    thread: Transcript
    record: Callable[..., Awaitable[Any]]
    voice: Voice
    session: Transcript
    """With all its threads."""

    async def ask(self, block: Pending) -> Pending:
        decided = self.thread.decided(block.id)
        await self.record(block)
        await self.record(row=self.session.waiting_fields())
        try:
            return await decided
        except asyncio.CancelledError as cut:
            if SHUTDOWN not in cut.args:
                await asyncio.shield(
                    self._close(block.id, "stop" if STOP in cut.args else "cut_off")
                )
            raise
        finally:
            self.thread.forget(block.id)

    async def sample(self, system: str, messages: Sequence[ChatMessage]) -> tuple[str, str]:
        reply = Reply()
        given = [ChatMessage("system", system or "You help."), *messages]
        try:
            async for item in self.agent.model.stream(given, ()):
                if isinstance(item, Reply):
                    reply = item
        except ModelError as error:
            raise ToolError(f"The model failed: {error}") from error
        info = self.agent.model.info
        await self.record(row=taken(spent(info, reply.usage)))
        return reply.text, info.id

    def progress(self, call: str, text: str, done: float, total: float | None) -> None:
        self.voice.progress(call, text, done, total)

    async def abandon(self, call: ToolCall) -> None:
        """Close what a call had asked that was cut off while it ran."""
        for block in self.thread.waiting():
            if block.call == call.id:
                await self._close(block.id, "cut_off")

    async def _close(self, block: str, why: Closed) -> None:
        asked = self.thread.shown(block)
        if asked is not None and asked.result is UNSET:
            try:
                await self.record(structs.replace(unanswered(asked, why)))
            except ShipmateError:  # its session was deleted, or the disk is full
                return

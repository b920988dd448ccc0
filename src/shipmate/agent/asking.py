"""Asks the model for one reply, and keeps what it said."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET, structs

from shipmate.agent.profile import Agent
from shipmate.agent.stand_in import StandIn
from shipmate.agent.threads import message_id
from shipmate.agent.transcript import Transcript
from shipmate.agent.upkeep import Upkeep, nothing_fits
from shipmate.agent.voice import Speaker, Voice
from shipmate.faults import point
from shipmate.llm.model import (
    ChatMessage,
    FunctionCall,
    ModelError,
    Part,
    Reply,
    Retrying,
    ToolSpec,
)
from shipmate.llm.prices import spent
from shipmate.llm.tokens import estimate_tokens
from shipmate.protocol import AnyBlock, ContextUsage, Message, System, ToolCall, ToolResult

NOTHING_FITS = (
    "The model's window was full before its answer began: the conversation does not fit it. "
    "Compact it, or choose a model with a longer context."
)

MOST_CALLS = 32
"""Calls of one reply that are run (FM069)."""
TOO_MANY = f"Not run: one reply may make {MOST_CALLS} calls. Look at their results, then go on."


@dataclass(slots=True)
class Asking:
    """The model's side of a round."""

    agent: Agent
    transcript: Transcript
    record: Callable[..., Awaitable[Any]]
    voice: Voice
    upkeep: Upkeep
    opened: Callable[[str, FunctionCall], Awaitable[ToolCall]]
    """Makes the block of a call that a message made."""
    _sent: Sequence[ChatMessage] = ()
    """The messages of the last request."""
    _models: StandIn = field(init=False)

    def __post_init__(self) -> None:
        self._models = StandIn(self.agent, self.transcript, self.record, self.voice)

    @property
    def specs(self) -> Sequence[ToolSpec]:
        return self.agent.offered(self.transcript.fetched)

    async def reply(self) -> None:
        """Ask for one reply; record it with the calls it made. Where the model fails and another
        one stands in, nothing is recorded but that."""
        await self._models.begin()
        await self.upkeep.make_room()
        parent = self.transcript.parent
        message = message_id(parent)
        heard = self.transcript.last_user.pos if self.transcript.last_user else 0
        model = self.agent.model.info.id
        self.voice.begin(message, Speaker(self.agent.profile.name, model, parent))
        try:
            reply = await self._stream_fitting(message)
        except (asyncio.CancelledError, ModelError) as cut:
            if isinstance(cut, ModelError) and await self._models.takes_over(message, cut):
                return
            await asyncio.shield(self._keep_partial(message, cut))
            raise
        self.voice.end(message)
        await self._keep(message, reply, heard)

    async def _stream_fitting(self, message: str) -> Reply:
        """The reply; when the request was too long, once more after a compaction."""
        try:
            reply = await self._stream(message)
            if not nothing_fits(reply):
                return reply
            refusal = ModelError(NOTHING_FITS, kind="too_long")
        except ModelError as failure:
            if failure.kind != "too_long" or self.voice.so_far(message) != ("", ""):
                raise
            refusal = failure
        if not await self.upkeep.shrink(refusal):
            raise refusal
        reply = await self._stream(message)
        if nothing_fits(reply):
            raise refusal
        return reply

    async def _stream(self, message: str) -> Reply:
        sent_before = len(self._sent)
        messages = self._sent = self.transcript.context.messages()
        await self._models.pictures(messages[sent_before:])
        stream = self.agent.model.stream(messages, self.specs)
        reply = Reply()
        try:
            async for item in stream:
                if isinstance(item, Part):
                    self.voice.say(message, item.text, item.reasoning)
                elif isinstance(item, Retrying):
                    self._models.check_patience(item)
                    self.voice.retry(message, item)
                else:
                    reply = item
        finally:
            await stream.aclose()
        return reply

    async def _keep(self, message: str, reply: Reply, heard: int) -> None:
        counted = self.upkeep.counted(self._sent, reply)
        used = spent(self.agent.model.info, reply.usage)
        said = Message(
            id=message,
            text=reply.text,
            reasoning=reply.reasoning,
            model=self.agent.model.info.id,
            agent=self.agent.profile.name,
            tokens=self._used(reply, counted),
            tokens_source="api" if counted else "estimate",
            usage=reply.usage or UNSET,
            cost=used.cost if used else 0.0,
            thought=self.voice.thought(message),
            finish="" if reply.finish in ("stop", "tool_calls") else reply.finish,
            heard=heard,
            signed=reply.signed,
        )
        calls = [await self.opened(message, call) for call in reply.calls]
        calls[MOST_CALLS:] = [structs.replace(call, started=False) for call in calls[MOST_CALLS:]]
        surplus = [
            ToolResult(call=call.id, text=TOO_MANY, is_error=True) for call in calls[MOST_CALLS:]
        ]
        notes = [System(text=note, level="warning", code="model") for note in reply.notes]
        if not counted:
            notes += self.upkeep.warning(self._sent, reply)
        if not (reply.text or calls or reply.notes):
            text = "The model gave an empty answer. Send the message again, or change the model."
            notes.append(System(text=text, level="warning", code="empty_answer"))
        row = {**self._row(said), "usage": used}
        point("keep.before_record")
        await self.record(said, *calls, *surplus, *notes, row=row, durable=False)
        point("keep.recorded")
        if calls:
            self.upkeep.begin()

    async def _keep_partial(self, message: str, cut: BaseException) -> None:
        (text, reasoning), thought = self.voice.so_far(message), self.voice.thought(message)
        self.voice.end(message)
        blocks: list[AnyBlock] = []
        if text or reasoning:
            blocks.append(
                Message(
                    id=message,
                    text=text,
                    reasoning=reasoning,
                    model=self.agent.model.info.id,
                    agent=self.agent.profile.name,
                    tokens=estimate_tokens(text + reasoning),
                    tokens_source="estimate",
                    thought=thought,
                    partial=True,
                )
            )
        if isinstance(cut, ModelError):
            blocks.append(System(text=str(cut), level="error", code=cut.kind))
        point("partial.before_record")
        if blocks:
            await self.record(*blocks)
        point("partial.recorded")

    def _used(self, reply: Reply, counted: bool) -> int:
        if reply.usage and counted:
            return reply.usage.prompt + reply.usage.completion
        sent = self.transcript.context.meter.measure(self._sent, self.specs)
        return sent + estimate_tokens(reply.text + reply.reasoning)

    def _row(self, said: Message) -> dict[str, Any]:
        if self.transcript.parent:  # it has a context of its own
            return {"add_tokens": said.tokens}
        window = self.upkeep.window
        usage = ContextUsage(tokens=said.tokens, max=window, percent=0, source=said.tokens_source)
        return {"add_tokens": said.tokens, "context_usage": usage}

"""The agent loop: answer the open calls, ask the model, until it has no more to call."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from msgspec import UNSET, structs

from shipmate.agent.asking import Asking
from shipmate.agent.budgets import NOTE_AT, REPEATED
from shipmate.agent.calls import UNKNOWN_OUTCOME, Calls, Judged, SpawnFor, mended
from shipmate.agent.closing import result_id
from shipmate.agent.desk import RunningDesk
from shipmate.agent.directions import directed
from shipmate.agent.profile import Agent
from shipmate.agent.standing import Standing
from shipmate.agent.threads import in_thread
from shipmate.agent.transcript import Transcript
from shipmate.agent.upkeep import Ledger, Upkeep
from shipmate.agent.voice import Voice
from shipmate.faults import point
from shipmate.llm.model import FunctionCall
from shipmate.protocol import (
    ApprovalRequest,
    AskUser,
    DiffDetail,
    Done,
    Pending,
    Reason,
    System,
    ToolCall,
    ToolResult,
)

Record: TypeAlias = Callable[..., Awaitable[Any]]
"""`record(*blocks, row=None, durable=True)`: the one door; it also adds to the transcript."""


@dataclass
class Round:
    """From a message of the user to `done`; of a sub-agent, from its task to its answer.

    All state is in the transcript: a round that was cut off, or that waits for the user, is
    carried on by running it again.
    """

    agent: Agent
    transcript: Transcript
    record: Record
    voice: Voice
    standing: Standing
    spawn: SpawnFor | None = None
    limit: Callable[[], str] = str
    """Why no more steps may be taken, beside the limit of this agent; empty: they may."""
    ledger: Ledger = field(default_factory=Ledger)
    session: Transcript | None = None
    """The session's transcript, where this thread is a sub-agent's."""
    _fresh: set[str] = field(default_factory=set[str])
    """Calls that this very run has marked as started."""

    def __post_init__(self) -> None:
        if self.transcript.parent:
            self.record = in_thread(self.record, self.transcript.parent)
        whole = self.session or self.transcript
        self.desk = RunningDesk(self.agent, self.transcript, self.record, self.voice, whole)
        self.calls = Calls(
            self.agent, self.transcript, self.standing, self.record, self.spawn, self.desk
        )
        self.upkeep = Upkeep(self.agent, self.transcript, self.record, self.ledger)
        self.asking = Asking(
            self.agent, self.transcript, self.record, self.voice, self.upkeep, self._opened
        )
        self.transcript.context.set_prompt(self.agent.prompt)

    async def run(self) -> Done:
        try:
            return await self._run()
        finally:
            await self.upkeep.end()

    async def _run(self) -> Done:
        while True:
            if paused := await self.upkeep.stuck():
                return paused
            if waiting := await self.answer_calls():
                return Done(finished=False, reason=_waits_for(self.transcript.pending() or waiting))
            if not self.transcript.wants_reply():
                return Done(finished=True)
            if calls := directed(self.transcript, self.agent):
                await self.record(*calls)
            elif over := self._over():
                return await self._limit(over)
            elif paused := await self.upkeep.over_budget():
                return paused
            else:
                await self.asking.reply()

    # --- tool calls ---------------------------------------------------------------------

    async def answer_calls(self) -> list[Pending]:
        """Answer every open call that can be answered; return what waits for the user."""
        open_calls = self.transcript.open_calls()
        looks = [c for c in open_calls if not self._has_effect(c)]
        effects = [c for c in open_calls if self._has_effect(c)]
        waiting = await self._look(looks) if looks else []
        return waiting + await self._act(effects)

    def _has_effect(self, call: ToolCall) -> bool:
        tool = self.calls.tool_of(call)
        return tool is not None and tool.effect

    async def _look(self, calls: Sequence[ToolCall]) -> list[Pending]:
        """Reads run together, and so do sub-agents."""
        settled = await asyncio.gather(*(self._settle_lasting(call) for call in calls))
        asked = [b for b in settled if b is not None and not isinstance(b, ToolResult)]
        fresh = [b for b in settled if b is not None and b.pos == 0]
        point("look.before_record")
        await self.record(*fresh, durable=bool(asked))
        point("look.recorded")
        return asked

    async def _settle_lasting(self, call: ToolCall) -> ToolResult | Pending | None:
        """Carry one call as far as it goes; None when its result is already kept."""
        settled, tool = await self._settle(call), self.calls.tool_of(call)
        if tool is None or not tool.lasting or not isinstance(settled, ToolResult):
            return settled
        await self.record(structs.replace(settled, id=result_id(call)))
        return None

    async def _act(self, calls: Sequence[ToolCall]) -> list[Pending]:
        """Calls with effects, one after the other and in their order. A call after one that
        waits is not run before it; it is already asked about where neither can change what
        the other one showed."""
        waiting: list[Pending] = []
        for call in calls:
            if not waiting:
                settled = await self._settle(call)
                if settled.pos == 0:
                    point("result.before_record")
                    await self.record(settled)
                    point("result.recorded")
                if not isinstance(settled, ToolResult):
                    waiting.append(settled)
            elif request := await self._ask_ahead(call, waiting):
                waiting.append(request)
        return waiting

    async def _settle(self, call: ToolCall) -> ToolResult | Pending:
        """Carry one call as far as it goes: to its result, or to what waits for the user."""
        settled = await self._settled(call)
        times = self.ledger.spending.repeats(call)
        if isinstance(settled, ToolResult) and times >= NOTE_AT:
            note = REPEATED.format(times=times)
            return structs.replace(settled, text=f"{settled.text}{note}")
        return settled

    async def _settled(self, call: ToolCall) -> ToolResult | Pending:
        if call.started and call.id not in self._fresh:
            await self.desk.abandon(call)
            return ToolResult(call=call.id, text=UNKNOWN_OUTCOME, is_error=True)
        judged = await self.calls.judge(call)
        if isinstance(judged, ToolResult):
            return judged
        if (asked := self.calls.asks(judged)) is not None:
            return asked
        question = self.transcript.question(call.id)
        if question and question.result is UNSET:
            return question
        if not (call.started or judged.tool.repeatable):
            self._fresh.add(call.id)
            await self.calls.start(call, judged)
        return await self.calls.run(judged)

    async def _ask_ahead(self, call: ToolCall, waiting: Sequence[Pending]) -> Pending | None:
        if asked := self.transcript.approval(call.id):
            return asked if asked.result is UNSET else None
        judged = await self.calls.judge(call)
        if isinstance(judged, ToolResult) or not _independent(judged, waiting):
            return None
        asked = self.calls.asks(judged)
        if not isinstance(asked, ApprovalRequest):
            return None
        await self.record(asked)
        return asked

    async def _opened(self, message: str, made: FunctionCall) -> ToolCall:
        """The block of a call; a look that may start at once is marked as started with it."""
        tool = self.agent.tool(made.name)
        arguments = made.arguments
        if arguments is None and tool is not None:
            arguments = mended(tool, made.raw)
        call = ToolCall(
            message=message,
            name=made.name,
            provider=tool.provider if tool else "",
            title=tool.title if tool else "",
            arguments=dict(arguments or {}),
            raw="" if arguments is not None else made.raw or "(nothing)",
            agent=self.agent.profile.name,
            rescued=made.rescued,
        )
        if tool is None or tool.effect or tool.repeatable:
            return call
        judged = await self.calls.judge(call)
        if isinstance(judged, ToolResult) or not self.calls.free(judged):
            return call
        self._fresh.add(call.id)
        return structs.replace(call, started=True)

    def _over(self) -> str:
        limit = self.agent.profile.max_steps
        if self.transcript.steps >= limit:
            return f"The step limit of {limit} was reached."
        return self.limit()

    async def _limit(self, why: str) -> Done:
        text = why if self.transcript.parent else f"{why} Send a message to go on."
        await self.record(System(text=text, level="warning", code="limit"))
        return Done(finished=False, reason="limit", error=text)


def _waits_for(waiting: Sequence[Pending]) -> Reason:
    asks = any(isinstance(block, AskUser) for block in waiting)
    approvals = any(isinstance(block, ApprovalRequest) for block in waiting)
    return "waiting_answer" if asks and not approvals else "waiting_approval"


def _independent(judged: Judged, waiting: Sequence[Pending]) -> bool:
    """Neither changes what the other one showed: commands show only themselves, changes of
    files show the files they touch."""
    if not isinstance(judged.verdict.details, DiffDetail):
        return True
    paths = {file.path for file in judged.verdict.details.files}
    for block in waiting:
        details = block.details if isinstance(block, ApprovalRequest) else None
        if not isinstance(details, DiffDetail) or paths & {file.path for file in details.files}:
            return False
    return True

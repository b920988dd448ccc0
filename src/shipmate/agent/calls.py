"""One tool call: from what the model wrote to its one result."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from msgspec import UNSET, structs

from shipmate.agent.approvals import Asked, BlockedError, approved_ahead, asked, may_run, request
from shipmate.agent.desk import RunningDesk
from shipmate.agent.profile import Agent
from shipmate.agent.standing import Standing
from shipmate.agent.transcript import Transcript
from shipmate.errors import ShipmateError
from shipmate.faults import point
from shipmate.protocol import AnyBlock, ApprovalRequest, Pending, ToolCall, ToolResult, encode
from shipmate.safety.redaction import redacted
from shipmate.safety.verdict import Verdict
from shipmate.tools.agents import call_agent
from shipmate.tools.arguments import parse_arguments, parse_raw
from shipmate.tools.output import SPILL, border
from shipmate.tools.tool import (
    SHUTDOWN,
    NeedsAnswer,
    Spawn,
    StrangerError,
    Tool,
    ToolContext,
    ToolError,
    ToolOutput,
    ToolStopped,
)

log = logging.getLogger(__name__)

UNKNOWN_OUTCOME = (
    "The server stopped while this ran, so its outcome is unknown. It was not run again: "
    "look at what is there before you do."
)

EDITED = "[The user changed the arguments of this call before approving it. What ran: {ran}]"
MAX_TOLD = 4_000
"""Characters of those arguments that the model is told."""

SpawnFor: TypeAlias = Callable[[ToolCall], Spawn]
"""How a call has another agent do its task."""


class ThreadWaits(Exception):  # noqa: N818 - not a failure: the round goes on when it is decided
    """The sub-agent of a call waits for the user; the call is run again when they decided."""

    def __init__(self, pending: Pending) -> None:
        super().__init__(pending.id)
        self.pending = pending


@dataclass(frozen=True, slots=True)
class Judged:
    """A call that is understood: its tool, its arguments, the judge's verdict, the rules'."""

    call: ToolCall
    """With the arguments that the user made of it, where they did."""
    tool: Tool
    arguments: Mapping[str, Any]
    context: ToolContext
    asked: Asked

    @property
    def verdict(self) -> Verdict:
        return self.asked.verdict


@dataclass(slots=True)
class Calls:
    """Answers calls of one round."""

    agent: Agent
    transcript: Transcript
    standing: Standing
    record: Callable[..., Awaitable[Any]]
    spawn: SpawnFor | None = None
    desk: RunningDesk | None = None

    def tool_of(self, call: ToolCall) -> Tool | None:
        """The tool of a call. The user may call an agent whatever tools this one has."""
        found = self.agent.tool(call.name)
        return call_agent if found is None and self.transcript.by_user(call) else found

    async def judge(self, call: ToolCall) -> Judged | ToolResult:
        """Understand a call; what cannot run at all has its result already."""
        return await self.understand(edited(call, self.transcript.approval(call.id)))

    async def understand(self, call: ToolCall) -> Judged | ToolResult:
        """`judge` with the arguments that stand in `call`, whatever the user made of them."""
        begun = time.monotonic()
        try:
            tool, arguments = self._resolve(call)
            context = self._context(call)
            verdict = await tool.judge(context, **arguments)
            wary = self.transcript.strangers.wary
            found = asked(call, verdict, await self.standing.rules(), wary=wary)
        except Exception as error:  # noqa: BLE001 - the first door: every failure is a result
            return _failure(call, error, begun)
        point("call.judged")
        return Judged(call, tool, arguments, replace(context, binds=verdict.binds), found)

    def asks(self, judged: Judged) -> Pending | ToolResult | None:
        """What stands between a judged call and its run: a request, a refusal, or nothing."""
        approval = self.transcript.approval(judged.call.id)
        try:
            if may_run(judged.asked, approval, bypass=self.standing.bypass()):
                return None
        except ToolError as error:
            return _failure(judged.call, error, time.monotonic())
        return approval or request(judged.asked)

    def free(self, judged: Judged) -> bool:
        """It is a look that needs nobody's leave: it may start as soon as it is recorded."""
        return judged.asked.free and not judged.tool.effect

    async def run(self, judged: Judged) -> ToolResult | Pending:
        """Run a call that may run. Every failure becomes a result the model can read."""
        call, begun = judged.call, time.monotonic()
        try:
            point("call.before_act")
            output = await judged.tool.run(judged.context, **judged.arguments)
            point("call.acted")
            output = await border(output, self.agent.work, call.id)
            if self._pages_strangers(judged.arguments):
                output = replace(output, untrusted=True)
        except NeedsAnswer as waiting:
            point("call.asked")
            return structs.replace(waiting.question, agent=call.agent)
        except ThreadWaits as waits:
            return waits.pending
        except ToolStopped as stopped:
            output = await border(stopped.output, self.agent.work, call.id)
            await asyncio.shield(self.record(self._told(self._result(judged, output, begun))))
            raise
        except Exception as error:  # noqa: BLE001 - the first door: every failure is a result
            return self._told(_failure(call, error, begun))
        return self._told(self._result(judged, output, begun))

    def _told(self, result: ToolResult) -> ToolResult:
        """The result, with what the user made of the call's arguments."""
        approval = self.transcript.approval(result.call)
        if approval is None or approval.arguments is UNSET:
            return result
        ran = encode(approval.arguments).decode()
        ran = ran if len(ran) <= MAX_TOLD else f"{ran[:MAX_TOLD]}…"
        return structs.replace(result, text=f"{EDITED.format(ran=ran)}\n{result.text}")

    async def start(self, call: ToolCall, judged: Judged) -> None:
        """On disk before the act: a call cut off while it runs is never run twice. What runs by
        a rule or the bypass alone is kept with it."""
        free = judged.asked.free or self.transcript.approval(call.id)
        by = judged.asked.ahead(bypass=True)
        decided = () if free else (approved_ahead(judged.asked, by),)
        point("call.before_start")
        try:
            await self.record(*decided, structs.replace(call, started=True))
            point("call.started")
        except asyncio.CancelledError as cut:
            why = "the server ended" if SHUTDOWN in cut.args else "stopped by the user"
            stopped = ToolResult(call=call.id, text=f"Not run: {why}.", is_error=True)
            await asyncio.shield(self.record(stopped))
            raise

    def _result(self, judged: Judged, output: ToolOutput, begun: float) -> ToolResult:
        noted = tuple(judged.context.work.noted)
        if noted:
            self.transcript.guard.counted(judged.call.id)
        return ToolResult(
            call=judged.call.id,
            text=output.text,
            is_error=output.is_error,
            truncated=output.truncated,
            untrusted=output.untrusted,
            details=output.details or UNSET,
            seconds=round(time.monotonic() - begun, 3),
            files=noted,
            written=tuple(judged.context.work.written),
        )

    def _resolve(self, call: ToolCall) -> tuple[Tool, Mapping[str, Any]]:
        tool = self.tool_of(call)
        if tool is None:
            names = ", ".join(self.agent.tools)
            raise ToolError(f"There is no tool {call.name!r}. The tools are: {names}.")
        if call.raw:
            raise ToolError(
                f"The arguments of {call.name} are not a JSON object: {call.raw[:200]!r}. "
                f"A correct call: {tool.example or dict(tool.parameters)}"
            )
        return tool, parse_arguments(tool, call.arguments)

    def _context(self, call: ToolCall) -> ToolContext:
        question = self.transcript.question(call.id)
        approval = self.transcript.approval(call.id)
        hunks = approval.hunks if approval and approval.hunks is not UNSET else None
        return ToolContext(
            work=replace(self.agent.work, guard=self.transcript.guard, noted=[], written=[]),
            call=call.id,
            emit=self._emit,
            hunks=None if hunks is None else frozenset(hunks),
            answer=question if question and question.result is not UNSET else None,
            todo=self.transcript.todo,
            spawn=self.spawn(call) if self.spawn else None,
            wary=self.transcript.strangers.wary,
            desk=self.desk,
            agent=call.agent,
        )

    def _pages_strangers(self, arguments: Mapping[str, Any]) -> bool:
        """A kept output is read again, of a call whose result strangers wrote."""
        paths = [arguments.get("path"), *(f.path for f in arguments.get("files") or ())]
        kept = (p.removeprefix(SPILL) for p in paths if isinstance(p, str) and p.startswith(SPILL))
        return not self.transcript.strangers.calls.isdisjoint(kept)

    async def _emit(self, block: AnyBlock) -> None:
        await self.record(block)


def edited(call: ToolCall, approval: ApprovalRequest | None) -> ToolCall:
    """The call with the arguments that the user made of it."""
    if approval is None or approval.arguments is UNSET:
        return call
    return structs.replace(call, arguments=approval.arguments, raw="")


def mended(tool: Tool, raw: str) -> Mapping[str, Any] | None:
    """The object in arguments that were none when they came, where that is certain."""
    try:
        return parse_raw(tool, raw)
    except ToolError:
        return None


def _failure(call: ToolCall, error: Exception, begun: float) -> ToolResult:
    if not isinstance(error, ToolError | ShipmateError):
        log.error("tool %s failed", call.name, exc_info=error)
        error = ToolError("The tool failed unexpectedly; the server's log has the details.")
    details = error.details if isinstance(error, BlockedError) else UNSET
    return ToolResult(
        call=call.id,
        text=redacted(str(error), shapes=False),
        is_error=True,
        untrusted=isinstance(error, StrangerError),
        details=details,
        seconds=round(time.monotonic() - begun, 3),
    )

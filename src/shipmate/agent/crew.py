"""Sub-agents: each call of one has a thread of its own, carried on from its blocks."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from shipmate.agent.calls import ThreadWaits
from shipmate.agent.closing import CALLER_ENDED, STOPPED, Ending, close_open, cut_short
from shipmate.agent.loop import Record, Round
from shipmate.agent.profile import Agent, Team
from shipmate.agent.standing import Standing
from shipmate.agent.transcript import Transcript
from shipmate.agent.upkeep import Ledger
from shipmate.agent.voice import Voice
from shipmate.errors import ShipmateError, did_you_mean
from shipmate.faults import point
from shipmate.llm.model import ModelError
from shipmate.protocol import AgentDetail, Done, Pending, ToolCall
from shipmate.tools.tool import STOP, Spawn, ToolError, ToolOutput

DEPTH = 3
"""How deep agents may call agents: one that the session's agent calls is at 1."""
WIDTH = 5
"""Sub-agents of one agent that work at the same time; the rest wait for their turn."""
STEPS = 300
"""Steps that all sub-agents together may take for one message of the user."""


@dataclass(slots=True, eq=False)
class Caller:
    """An agent at work in one thread, which calls others."""

    agent: Agent
    depth: int
    gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(WIDTH))
    busy: int = 0
    """Its sub-agents that work, or wait for their turn; not those that wait for the user."""
    news: set[asyncio.Future[None]] = field(default_factory=set[asyncio.Future[None]])

    def tell(self) -> None:
        """Something was decided, or a sub-agent has come to its end."""
        for waiting in self.news:
            if not waiting.done():
                waiting.set_result(None)


@dataclass(slots=True)
class Crew:
    """The sub-agents of one round. Nothing here is state: who starts anew goes on from the
    blocks."""

    transcript: Transcript
    """The session's."""
    record: Record
    voice: Voice
    standing: Standing
    ledger: Ledger
    stopped: set[str] = field(default_factory=set[str])
    """Calls whose sub-agents the user has stopped alone."""
    _working: dict[str, asyncio.Task[Done]] = field(default_factory=dict[str, asyncio.Task[Done]])
    """Those that work, by their calls."""
    _callers: list[Caller] = field(default_factory=list[Caller])

    def round(self, agent: Agent, thread: Transcript, depth: int = 0) -> Round:
        """The round of an agent in a thread, with all that its sub-agents need."""
        caller = Caller(agent, depth)
        self._callers.append(caller)
        spawn = partial(self._spawn_for, caller)
        limit = self._limit if depth else str
        return Round(
            agent,
            thread,
            self.record,
            self.voice,
            self.standing,
            spawn,
            limit,
            self.ledger,
            self.transcript,
        )

    def tell(self) -> None:
        """The user decided something: who waited for it goes on while others still work."""
        for caller in self._callers:
            caller.tell()

    async def stop(self, call: str) -> None:
        """End the sub-agent that works for `call`, now or as soon as it begins. Its thread is
        closed and its result given by whoever called it."""
        self.stopped.add(call)
        self.tell()
        if task := self._working.get(call):
            task.cancel(STOP)
            await asyncio.wait([task])

    def _limit(self) -> str:
        if self.transcript.steps_below < STEPS:
            return ""
        return f"All sub-agents together have taken {STEPS} steps for this message: the limit."

    def _spawn_for(self, caller: Caller, call: ToolCall) -> Spawn:
        return partial(self._spawn, caller, call)

    async def _spawn(self, caller: Caller, call: ToolCall, name: str, task: str) -> ToolOutput:
        """The answer of the agent `name`, or why there is none. `ThreadWaits` when nothing is
        left to do but what the user has to decide."""
        thread = self.transcript.thread(call.id)
        thread.context.set_task(task)
        try:
            team = _known(caller, name)
            while call.id not in self.stopped:
                done = await self._turn(caller, call, team, name)
                if done and not done.reason.startswith("waiting"):
                    await self._close(call, CALLER_ENDED)
                    return _output(done, thread)
                if done:
                    await self._wait(caller, call)
        except (ToolError, ShipmateError):
            await self._close(call, CALLER_ENDED)
            raise
        self.stopped.discard(call.id)
        await self._close(call, STOPPED)
        return _told(thread, cut_short(thread, STOPPED), failed=True)

    async def _turn(self, caller: Caller, call: ToolCall, team: Team, name: str) -> Done | None:
        """Carry the sub-agent as far as it goes; None when it was stopped alone."""
        caller.busy += 1
        try:
            return await self._worked(call, self._work(caller, call, team, name))
        finally:
            caller.busy -= 1
            caller.tell()

    async def _worked(self, call: ToolCall, work: Awaitable[Done]) -> Done | None:
        """How the work ended; None when this sub-agent was stopped alone."""
        task = self._working[call.id] = asyncio.ensure_future(work)
        try:
            return await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if call.id not in self.stopped or (current and current.cancelling()):
                raise
            return None
        finally:
            del self._working[call.id]

    async def _work(self, caller: Caller, call: ToolCall, team: Team, name: str) -> Done:
        async with caller.gate:
            tools = None if self.transcript.by_user(call) else caller.agent.usable
            agent = await team.join(name, tools)
            try:
                round_ = self.round(agent, self.transcript.thread(call.id), caller.depth + 1)
                point("agent.begun")
                done = await round_.run()
            except ModelError as error:
                return Done(finished=False, reason="error", error=f"Its model failed: {error}")
            point("agent.ended")
            return done

    async def _wait(self, caller: Caller, call: ToolCall) -> None:
        """Return when something was decided that the thread waits for. Raise `ThreadWaits` as
        soon as no other sub-agent of the caller works any more."""
        waiting = self._pending(call)
        if not waiting:
            return  # it was decided meanwhile
        if caller.busy:
            await self.record(row=self.transcript.waiting_fields())
        while self._pending(call) == waiting and call.id not in self.stopped:
            if not caller.busy:
                raise ThreadWaits(waiting[0])
            news = asyncio.get_running_loop().create_future()
            caller.news.add(news)
            try:
                await news
            finally:
                caller.news.discard(news)

    def _pending(self, call: ToolCall) -> list[Pending]:
        threads = self.transcript.below(call.id)
        return [block for thread in threads for block in thread.waiting()]

    async def _close(self, call: ToolCall, ending: Ending) -> None:
        """Close what is open in the thread of a call that ends."""
        if blocks := close_open(self.transcript, ending, below=call.id):
            await self.record(*blocks)


def _known(caller: Caller, name: str) -> Team:
    team = caller.agent.team
    if caller.depth >= DEPTH:
        raise ToolError(
            f"Agents call agents {DEPTH} deep at most, and this one is at {caller.depth}. "
            "Do the task with your own tools."
        )
    if team is None or name not in team.agents:
        hint = did_you_mean(name, team.agents if team else ())
        raise ToolError(f"There is no agent {name!r}{hint}")
    return team


def _output(done: Done, thread: Transcript) -> ToolOutput:
    said = thread.last_message.text.strip() if thread.last_message else ""
    if done.finished and said:
        return _told(thread, said)
    if done.finished:
        return _told(thread, "The agent ended without an answer.", failed=True)
    last = f" Its last words:\n{said}" if said else ""
    why = f"The agent did not finish its task. {done.error}{last}"
    return _told(thread, why.strip(), failed=True)


def _told(thread: Transcript, text: str, *, failed: bool = False) -> ToolOutput:
    details: Any = AgentDetail(steps=thread.steps, calls=thread.calls, tokens=thread.tokens)
    told = thread.told_by_strangers
    return ToolOutput(text, details=details, is_error=failed, untrusted=told)

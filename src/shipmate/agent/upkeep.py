"""What is looked after around each request of a round: room in the window, budgets."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from shipmate.agent.budgets import Reached, Spending
from shipmate.agent.closing import STOPPED, close_open
from shipmate.agent.compaction import POOR, Compaction, given_up
from shipmate.agent.profile import Agent
from shipmate.agent.transcript import Transcript
from shipmate.errors import ShipmateError
from shipmate.llm.failures import RAISE_CONTEXT
from shipmate.llm.model import ChatMessage, ModelError, Reply
from shipmate.llm.prices import Costs
from shipmate.llm.windows import Windows
from shipmate.protocol import Done, Summary, System

SERVER_CUTS = "server_cuts"
FULL = 0.95
"""Share of the window beyond which a request waits for the summary that is being made."""

Start: TypeAlias = Callable[[Coroutine[object, object, None]], asyncio.Task[None]]
"""Starts work that may outlive the round."""


async def no_costs() -> Costs:
    return Costs()


@dataclass(slots=True)
class Ledger:
    """What the threads of one session share."""

    spending: Spending = field(default_factory=Spending)
    windows: Windows = field(default_factory=Windows)
    costs: Callable[[], Awaitable[Costs]] = no_costs
    start: Start = asyncio.ensure_future


@dataclass(slots=True)
class Upkeep:
    """Looks after one thread of a round."""

    agent: Agent
    transcript: Transcript
    record: Callable[..., Awaitable[Any]]
    ledger: Ledger

    @property
    def window(self) -> int:
        """Tokens of the model's window, as far as it is known by now."""
        info = self.agent.model.info
        return self.ledger.windows.of(info.id, info.context_length)

    def tokens(self) -> int:
        """Of the next request, about."""
        return self._compaction().tokens()

    # --- room -----------------------------------------------------------------------------

    def begin(self) -> None:
        """Where the window fills, sum up while the round goes on with calls and requests."""
        if self.transcript.context.summing is None and self.crowded():
            self._start(self._compact())

    async def by_hand(self, outcome: asyncio.Future[Summary | None]) -> None:
        """Sum up, however full the window is; what is being summed up already is the outcome.
        None: there was nothing to sum up. Without an outcome it was ended before."""
        context = self.transcript.context
        if context.summing is None:
            self._start(self._by_hand(outcome))
        known = {block.id for block in context.blocks if isinstance(block, Summary)}
        await self._summed()
        made = [b for b in context.blocks if isinstance(b, Summary) and b.id not in known]
        if made and not outcome.done():
            outcome.set_result(made[-1])

    def _start(self, work: Coroutine[object, object, None]) -> None:
        context = self.transcript.context
        context.summing = self.ledger.start(work)
        context.summing.add_done_callback(lambda _: setattr(context, "summing", None))

    async def _by_hand(self, outcome: asyncio.Future[Summary | None]) -> None:
        compaction = self._compaction()
        async with self.transcript.context.compacting:
            try:
                made = await compaction.run() or await compaction.run(hard=True, gains=True)
            except ShipmateError as error:
                outcome.set_exception(error)
            else:
                outcome.set_result(made)

    async def make_room(self) -> None:
        """Before a request: what is being summed up is waited for where it would not fit."""
        if not self._overflows():
            self.begin()
            return
        await self._summed()
        if self._overflows():
            await self._compact()

    async def end(self) -> None:
        """The thread came to its end: what is being summed up of a sub-agent's is given up."""
        running = self.transcript.context.summing
        if running is not None and self.transcript.parent:
            running.cancel()
            await asyncio.wait([running])

    async def shrink(self, refusal: ModelError) -> bool:
        """The provider says that the request was too long: true when it is shorter now."""
        info, before = self.agent.model.info, self.tokens()
        learned = await self.ledger.windows.learn(info.id, info.context_length, str(refusal))
        await self._summed()
        if self.tokens() < (1 - POOR) * before and not self._overflows():
            return True
        async with self.transcript.context.compacting:
            compaction = self._compaction()
            made = await compaction.run(hard=not learned)
            if made is None and learned:  # it counts more than we do
                made = await compaction.run(hard=True)
        return made is not None and made.tokens_after < made.tokens_before

    async def _summed(self) -> None:
        """Wait for what is being summed up; whoever waits may be cancelled alone."""
        if (running := self.transcript.context.summing) is not None:
            await asyncio.wait([running])

    def _overflows(self) -> bool:
        """The next request would leave no room for its answer."""
        info = self.agent.model.info
        share = max(self.agent.compact_at, min(FULL, 1 - info.max_output / self.window))
        return self.tokens() >= share * self.window

    def crowded(self) -> bool:
        """The next request would fill the window, and a compaction may help."""
        full = self.tokens() >= self.agent.compact_at * self.window
        return full and not given_up(self.transcript.context)

    async def _compact(self) -> None:
        async with self.transcript.context.compacting:
            if self.crowded():
                await self._compaction().run()

    def _compaction(self) -> Compaction:
        context, parent = self.transcript.context, self.transcript.parent
        return Compaction(self.agent, context, self.record, self.window, parent)

    # --- what was counted -----------------------------------------------------------------

    def counted(self, sent: Sequence[ChatMessage], reply: Reply) -> bool:
        """Learn from what the provider counted; false when it counted nothing of what was sent,
        or far less."""
        if reply.usage is None or not reply.usage.prompt:
            return False
        meter = self.transcript.context.meter
        return meter.learn(sent, self.agent.offered(self.transcript.fetched), reply.usage.prompt)

    def warning(self, sent: Sequence[ChatMessage], reply: Reply) -> list[System]:
        """Once a session: the server seems to cut what it is sent."""
        known = self.transcript.context.blocks
        counted = reply.usage.prompt if reply.usage else 0
        if not counted or any(isinstance(b, System) and b.code == SERVER_CUTS for b in known):
            return []
        about = self.transcript.context.meter.measure(
            sent, self.agent.offered(self.transcript.fetched)
        )
        text = (
            f"About {about:,} tokens were sent, but the server counted {counted:,}: it seems to "
            f"use only about {_thousands(counted)} tokens and to drop the beginning, the task "
            f"included. {RAISE_CONTEXT}"
        )
        return [System(text=text, level="warning", code=SERVER_CUTS)]

    # --- budgets --------------------------------------------------------------------------

    async def stuck(self) -> Done | None:
        """Before calls are run: what waits is waited for; what repeats itself is asked about."""
        if self.transcript.paused:
            return self._waits()
        calls = self.transcript.open_calls()
        if self.ledger.spending.stopped:
            if closed := close_open(self.transcript, STOPPED):
                await self.record(*closed)
            return Done(finished=False, reason="budget", error="Stopped by you at a limit.")
        return await self._ask(self.ledger.spending.stuck(calls))

    async def over_budget(self) -> Done | None:
        """Before the model is asked."""
        budgets = self.agent.budgets
        costs = await self.ledger.costs() if budgets.beyond_round else Costs()
        return await self._ask(self.ledger.spending.reached(budgets, costs))

    async def _ask(self, reached: Reached | None) -> Done | None:
        if reached is None:
            return None
        await self.record(reached.ask())
        return self._waits()

    def _waits(self) -> Done:
        below = bool(self.transcript.parent)
        return Done(finished=False, reason="waiting_answer" if below else "budget")


def nothing_fits(reply: Reply) -> bool:
    """The reply ended at the limit before its first token: the prompt filled the window."""
    said = reply.text or reply.reasoning or reply.calls
    counted = reply.usage.completion if reply.usage else 0
    return reply.finish == "length" and not said and counted == 0


def _thousands(counted: int) -> str:
    low = max(1, counted // 1024)
    return f"{low}-{2 * low} K"

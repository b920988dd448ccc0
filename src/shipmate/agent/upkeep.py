"""What is looked after around each request of a round: room in the window, budgets."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from shipmate.agent.budgets import Reached, Spending
from shipmate.agent.closing import close_open
from shipmate.agent.compaction import Compaction, given_up
from shipmate.agent.profile import Agent
from shipmate.agent.transcript import Transcript
from shipmate.llm.failures import RAISE_CONTEXT
from shipmate.llm.model import ChatMessage, ModelError, Reply
from shipmate.llm.prices import Costs
from shipmate.llm.windows import Windows
from shipmate.protocol import Done, System

SERVER_CUTS = "server_cuts"


async def no_costs() -> Costs:
    return Costs()


@dataclass(slots=True)
class Ledger:
    """What the threads of one session share."""

    spending: Spending = field(default_factory=Spending)
    windows: Windows = field(default_factory=Windows)
    costs: Callable[[], Awaitable[Costs]] = no_costs


@dataclass(slots=True)
class Upkeep:
    """Looks after one thread of a round."""

    agent: Agent
    transcript: Transcript
    record: Callable[..., Awaitable[Any]]
    ledger: Ledger
    _running: asyncio.Task[bool] | None = None

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
        """A reply came: where the window fills, sum up while its calls are answered."""
        if self._running is None and self.crowded():
            self._running = asyncio.ensure_future(self._compact())

    async def make_room(self) -> None:
        """Before a request, at the latest."""
        if self._running is not None:
            running, self._running = self._running, None
            await running
        if self.crowded():
            await self._compact()

    async def end(self) -> None:
        """The round is over; what is being summed up is given up."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
            self._running = None

    async def shrink(self, refusal: ModelError) -> bool:
        """The provider says that the request was too long: true when it is shorter now."""
        learned = self.ledger.windows.learn(self.agent.model.info.id, str(refusal))
        async with self.transcript.context.compacting:
            compaction = self._compaction()
            made = await compaction.run(hard=not learned)
            if made is None and learned:  # it counts more than we do
                made = await compaction.run(hard=True)
        return made is not None and made.tokens_after < made.tokens_before

    def crowded(self) -> bool:
        """The next request would fill the window, and a compaction may help."""
        full = self.tokens() >= self.agent.compact_at * self.window
        return full and not given_up(self.transcript.context)

    async def _compact(self) -> bool:
        async with self.transcript.context.compacting:
            return self.crowded() and await self._compaction().run() is not None

    def _compaction(self) -> Compaction:
        context, parent = self.transcript.context, self.transcript.parent
        return Compaction(self.agent, context, self.record, self.window, parent)

    # --- what was counted -----------------------------------------------------------------

    def counted(self, sent: Sequence[ChatMessage], reply: Reply) -> bool:
        """Learn from what the provider counted; false when it counted nothing, or far less than
        was sent."""
        if reply.usage is None:
            return False
        meter = self.transcript.context.meter
        return meter.learn(sent, self.agent.specs, reply.usage.prompt)

    def warning(self, sent: Sequence[ChatMessage], reply: Reply) -> list[System]:
        """Once a session: the server seems to cut what it is sent."""
        known = self.transcript.context.blocks
        if any(isinstance(block, System) and block.code == SERVER_CUTS for block in known):
            return []
        counted = reply.usage.prompt if reply.usage else 0
        about = self.transcript.context.meter.measure(sent, self.agent.specs)
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
            if closed := close_open(self.transcript, "stop", "Not run: stopped by the user."):
                await self.record(*closed)
            return Done(finished=False, reason="budget", error="Stopped by you at a limit.")
        return await self._ask(self.ledger.spending.stuck(calls))

    async def over_budget(self) -> Done | None:
        """Before the model is asked."""
        budgets = self.agent.budgets
        costs = Costs()
        if budgets.session_cost or budgets.day_cost:
            costs = await self.ledger.costs()
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

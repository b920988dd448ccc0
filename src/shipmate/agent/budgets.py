"""What a round, a session and a day may use; and calls that are made again and again.

A limit that is reached pauses the round with a question. "Continue" raises it by the same amount.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta

from shipmate.llm.prices import Costs
from shipmate.protocol import BUDGET, CONTINUE, AnyBlock, AskUser, Message, ToolCall, User, new_id

STOP = "Stop"
NOTE_AT, PAUSE_AT = 3, 5
"""The same call made so often in a round: a note to the model, a question to the user (SES-20)."""
REPEATED = (
    "\n\n[Notice] This very call was made {times} times in this round. Its result will not "
    "change by asking again: do something else, or tell the user what is in the way."
)
_WAITS = ("backgroundId", "background_id", "id")
_canonical = msgspec.json.Encoder(order="deterministic").encode


class Budgets(msgspec.Struct, frozen=True, kw_only=True):
    """`[budgets]`: when a round pauses and asks. 0: never."""

    round_tokens: Annotated[int, Meta(ge=0)] = 0
    """Tokens from a message of the user to the answer, those of sub-agents included."""
    session_cost: Annotated[float, Meta(ge=0)] = 0.0
    day_cost: Annotated[float, Meta(ge=0)] = 0.0
    """Of all sessions on a day by the server's clock."""


NO_BUDGETS = Budgets()


@dataclass(frozen=True, slots=True)
class Reached:
    """A limit that was reached: its kind, and what is asked."""

    kind: str
    question: str

    def ask(self) -> AskUser:
        return AskUser(
            id=f"{BUDGET}-{self.kind}-{new_id()}",
            call="",
            question=self.question,
            options=(CONTINUE, STOP),
            allow_freeform=False,
            agent=BUDGET,
        )


@dataclass(slots=True)
class Spending:
    """What the blocks of a session, in all its threads, tell of it."""

    _tokens: dict[str, int] = field(default_factory=dict[str, int])
    """By message, since the last message of the user."""
    _asked: dict[str, AskUser] = field(default_factory=dict[str, AskUser])
    _round: set[str] = field(default_factory=set[str])
    """Questions since the last message of the user."""
    _calls: Counter[str] = field(default_factory=Counter[str])
    _seen: set[str] = field(default_factory=set[str])

    def add(self, block: AnyBlock) -> None:
        match block:
            case User():
                for known in (self._tokens, self._round, self._calls, self._seen):
                    known.clear()
            case Message():
                self._tokens[block.id] = block.tokens
            case AskUser() if block.agent == BUDGET:
                if block.id not in self._asked:
                    self._round.add(block.id)
                self._asked[block.id] = block
            case ToolCall() if block.id not in self._seen:
                self._seen.add(block.id)
                self._count(block)
            case _:
                pass

    def _count(self, call: ToolCall) -> None:
        key = key_of(call)
        if call.provider == "read_write" and key not in self._calls:
            self._calls.clear()  # something else was changed: what is looked at may be new
        self._calls[key] += 1

    @property
    def tokens(self) -> int:
        """Of this round."""
        return sum(self._tokens.values())

    @property
    def stopped(self) -> bool:
        """The user chose Stop in this round."""
        given = (self._asked[block] for block in self._round)
        return any(isinstance(q.result, str) and not _continues(q) for q in given)

    def repeats(self, call: ToolCall) -> int:
        """How often this very call was made in this round; 0 for one that waits on purpose."""
        return 0 if _waits(call) else self._calls[key_of(call)]

    def raised(self, kind: str, *, in_round: bool) -> int:
        """How often a limit was raised: in this round, or ever."""
        prefix = f"{BUDGET}-{kind}-"
        names = self._round if in_round else self._asked
        return sum(n.startswith(prefix) and _continues(self._asked[n]) for n in names)

    def reached(self, budgets: Budgets, costs: Costs) -> Reached | None:
        """The first limit that is reached."""
        return next(self._reached(budgets, costs), None)

    def _reached(self, budgets: Budgets, costs: Costs) -> Iterator[Reached]:
        most = budgets.round_tokens * (1 + self.raised("round", in_round=True))
        if 0 < most <= self.tokens:
            yield Reached(
                "round",
                f"This round has used {self.tokens:,} tokens, and its budget is {most:,}. "
                f"Go on, with {budgets.round_tokens:,} more?",
            )
        limit = budgets.session_cost * (1 + self.raised("session", in_round=False))
        if 0 < limit <= costs.session:
            yield Reached(
                "session",
                f"This session has cost {costs.session:.2f}, and its budget is {limit:.2f}. "
                f"Go on, with {budgets.session_cost:.2f} more?",
            )
        limit = budgets.day_cost * (1 + costs.raised)
        if 0 < limit <= costs.day:
            yield Reached(
                f"day-{costs.date}",
                f"All sessions have cost {costs.day:.2f} today, and the budget is {limit:.2f}. "
                f"Go on, with {budgets.day_cost:.2f} more?",
            )

    def stuck(self, calls: list[ToolCall]) -> Reached | None:
        """The first of these calls that was made too often."""
        for call in calls:
            kind = f"repeat-{blake2b(key_of(call).encode(), digest_size=6).hexdigest()}"
            most = PAUSE_AT * (1 + self.raised(kind, in_round=True))
            if (times := self.repeats(call)) >= most:
                return Reached(
                    kind,
                    f"The agent wants to make the same call of {call.name} for the {times}th "
                    f"time: {_shown(call)}. Go on?",
                )
        return None


def _continues(question: AskUser) -> bool:
    return question.result is not UNSET and question.result.strip() == CONTINUE


def key_of(call: ToolCall) -> str:
    """The same for calls of one agent with the same name and arguments, whatever they gave."""
    said = call.raw.encode() or _canonical(call.arguments)
    return f"{call.parent} {call.name} {said.decode(errors='replace')}"


def _waits(call: ToolCall) -> bool:
    """It looks after a command in the background."""
    return call.provider == "shell" and any(call.arguments.get(name) for name in _WAITS)


def _shown(call: ToolCall) -> str:
    text = call.raw or _canonical(call.arguments).decode()
    return text if len(text) <= 200 else f"{text[:199]}…"

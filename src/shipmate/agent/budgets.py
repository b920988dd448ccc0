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

from shipmate.llm.prices import Costs, Sum
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
    """`[budgets]`: when a round pauses and asks. 0: never. Of a round: from a message of the user
    to the answer, with its sub-agents; of a day: of all sessions, by the server's clock."""

    round_tokens: Annotated[int, Meta(ge=0)] = 0
    round_cost: Annotated[float, Meta(ge=0)] = 0.0
    session_tokens: Annotated[int, Meta(ge=0)] = 0
    session_cost: Annotated[float, Meta(ge=0)] = 0.0
    day_tokens: Annotated[int, Meta(ge=0)] = 0
    day_cost: Annotated[float, Meta(ge=0)] = 0.0

    @property
    def beyond_round(self) -> bool:
        """There are some that the blocks of a round do not tell."""
        of_session = self.session_tokens or self.session_cost
        return bool(of_session or self.day_tokens or self.day_cost)


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


@dataclass(frozen=True, slots=True)
class Limit:
    """A budget of tokens (`int`) or money (`float`), and what was used of it."""

    kind: str
    """Stands in the ids of the questions about it, which are kept: it is never renamed."""
    who: str
    used: float
    step: float
    raised: int

    @property
    def most(self) -> float:
        return self.step * (1 + self.raised)

    @property
    def question(self) -> str:
        if isinstance(self.used, int):
            used, most, more = f"used {self.used:,} tokens", f"{self.most:,}", f"{self.step:,}"
        else:
            used, most, more = f"cost {self.used:.2f}", f"{self.most:.2f}", f"{self.step:.2f}"
        return f"{self.who} {used}, and the budget is {most}. Go on, with {more} more?"


@dataclass(slots=True)
class Spending:
    """What the blocks of a session, in all its threads, tell of it."""

    _tokens: dict[str, int] = field(default_factory=dict[str, int])
    """By message, in this round."""
    _costs: dict[str, float] = field(default_factory=dict[str, float])
    _asked: dict[str, AskUser] = field(default_factory=dict[str, AskUser])
    _round: set[str] = field(default_factory=set[str])
    """Questions of this round."""
    _calls: Counter[str] = field(default_factory=Counter[str])
    _seen: set[str] = field(default_factory=set[str])

    def add(self, block: AnyBlock) -> None:
        match block:
            case User(steers=False):
                for known in (self._tokens, self._costs, self._round, self._calls, self._seen):
                    known.clear()
            case Message():
                self._tokens[block.id] = block.tokens
                self._costs[block.id] = block.cost
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
        for limit in self._limits(budgets, costs):
            if 0 < limit.most <= limit.used:
                yield Reached(limit.kind, limit.question)

    def _limits(self, budgets: Budgets, costs: Costs) -> Iterator["Limit"]:
        spent = Sum(self.tokens, sum(self._costs.values()))
        for kind, used, step in (
            ("round", spent.tokens, budgets.round_tokens),
            ("cost-round", spent.cost, budgets.round_cost),
        ):
            yield Limit(kind, "This round has", used, step, self.raised(kind, in_round=True))
        for kind, used, step in (
            ("tokens-session", costs.session.tokens, budgets.session_tokens),
            ("session", costs.session.cost, budgets.session_cost),
        ):
            yield Limit(kind, "This session has", used, step, self.raised(kind, in_round=False))
        for kind, used, step in (
            (f"tokens-day-{costs.date}", costs.day.tokens, budgets.day_tokens),
            (f"day-{costs.date}", costs.day.cost, budgets.day_cost),
        ):
            yield Limit(kind, "All sessions today have", used, step, costs.raised.get(kind, 0))

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

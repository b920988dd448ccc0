"""What requests cost, where the price of a model is known."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shipmate.llm.model import ModelInfo
from shipmate.protocol import Usage

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Spent:
    """What one request took."""

    model: str
    """`provider/model`."""
    prompt: int = 0
    """Tokens, the cached ones among them."""
    cached: int = 0
    completion: int = 0
    cost: float = 0.0
    """In whatever currency the provider bills; 0 where the price is not known."""

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion


def cost_of(price: Mapping[str, float], usage: Usage) -> float:
    """Tokens read from a cache, or put into one, are part of the prompt and are counted once, at
    their own price."""
    cached = min(usage.cached, usage.prompt)
    written = min(usage.cache_write, usage.prompt - cached)
    full = price.get("input", 0.0)
    parts = (
        (usage.prompt - cached - written) * full
        + cached * price.get("cached", full)
        + written * price.get("cache_write", full)
        + usage.completion * price.get("output", 0.0)
    )
    return parts / MILLION


def spent(info: ModelInfo, usage: Usage | None) -> Spent | None:
    """What a request took; None when nobody counted."""
    if usage is None:
        return None
    cost = cost_of(info.price, usage)
    return Spent(info.id, usage.prompt, usage.cached, usage.completion, cost)


def taken(used: Spent | None) -> dict[str, Any]:
    """What a session's row takes in of a request beside its messages; nothing that nobody
    counted."""
    return {"add_tokens": used.tokens, "usage": used} if used else {}


@dataclass(frozen=True, slots=True)
class Sum:
    """What some requests took, as far as their providers counted it."""

    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Costs:
    session: Sum = Sum()
    day: Sum = Sum()
    """Of all sessions."""
    date: str = ""
    """The day."""
    raised: Mapping[str, int] = field(default_factory=dict[str, int])
    """How often limits of this day were raised, by their kind."""

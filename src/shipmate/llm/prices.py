"""What requests cost, where the price of a model is known."""

from collections.abc import Mapping
from dataclasses import dataclass

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
    """Cached tokens are part of the prompt and are counted once, at their own price."""
    cached = min(usage.cached, usage.prompt)
    full = price.get("input", 0.0)
    parts = (
        (usage.prompt - cached) * full
        + cached * price.get("cached", full)
        + usage.completion * price.get("output", 0.0)
    )
    return parts / MILLION


def spent(info: ModelInfo, usage: Usage | None) -> Spent | None:
    """What a request took; None when nobody counted."""
    if usage is None:
        return None
    cost = cost_of(info.price, usage)
    return Spent(info.id, usage.prompt, usage.cached, usage.completion, cost)


@dataclass(frozen=True, slots=True)
class Costs:
    """What was spent, in whatever currency the providers bill."""

    session: float = 0.0
    day: float = 0.0
    """By all sessions."""
    raised: int = 0
    """How often the limit of this day was raised."""
    date: str = ""
    """The day."""

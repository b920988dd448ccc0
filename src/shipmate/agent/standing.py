"""What the user has decided ahead of any call: the bypass of the session, and their rules."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from shipmate.safety.rules.rule import Rule


async def _none() -> Sequence[Rule]:
    return ()


@dataclass(frozen=True, slots=True)
class Standing:
    """Asked anew for each call, so that a change holds at once. Sub-agents have the same."""

    bypass: Callable[[], bool] = bool
    rules: Callable[[], Awaitable[Sequence[Rule]]] = _none
    """Those in force in the session."""

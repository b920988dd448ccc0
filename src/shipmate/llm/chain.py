"""A model, and those that stand in for it while it fails."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from time import monotonic

from shipmate.errors import ShipmateError
from shipmate.llm.model import (
    ChatMessage,
    ErrorKind,
    Model,
    ModelError,
    ModelInfo,
    StreamItem,
    ToolSpec,
)

OUT: dict[ErrorKind, float] = {
    "quota": 900,
    "rate_limit": 60,
    "overloaded": 120,
    "unreachable": 120,
    "truncated": 60,
}
"""Failures for which another model stands in, and seconds until the failed one is tried again."""
PATIENCE = 10.0
"""Seconds that a model is waited for where another one could stand in."""
WENT_ON = "{reason} {model} goes on instead."
GOES_ON = "{failed} failed a while ago and is not asked for now. {model} goes on instead."
BLIND = " It sees no pictures: they are left out."


@dataclass(slots=True)
class Outages:
    """Which models failed a while ago; one for the process."""

    clock: Callable[[], float] = monotonic
    _until: dict[str, float] = field(default_factory=dict[str, float])

    def put(self, model: str, failure: ModelError) -> None:
        seconds = max(OUT[failure.kind], failure.retry_after or 0)
        self._until[model] = self.clock() + seconds

    def has(self, model: str) -> bool:
        return self.clock() < self._until.get(model, 0.0)


class Chain:
    """A `Model` that is the first of several, until that fails; then the next, never an earlier
    one. Of those whose turn has not come only the names are known."""

    def __init__(
        self, names: Sequence[str], make: Callable[[str], Model], outages: Outages
    ) -> None:
        first, *rest = names
        self._model = make(first)
        self._left = [name for name in dict.fromkeys(rest) if name != first]
        self._make = make
        self._outages = outages

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    @property
    def can_change(self) -> bool:
        """Another model could stand in."""
        return bool(self._left)

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[StreamItem]:
        async with aclosing(self._model.stream(messages, tools)) as items:
            async for item in items:
                yield item

    def begin(self) -> str:
        """Before a request: go on to the next model where this one failed a while ago, in
        another round or thread; what to tell the user."""
        if not self._outages.has(self.info.id) or not (before := self._step()):
            return ""
        return GOES_ON.format(failed=before.id, model=self.info.id) + self._blinded(before)

    def stand_in(self, failure: ModelError) -> str:
        """Go on to the next model; what to tell the user. Empty: none is left, or none helps."""
        if failure.kind not in OUT:
            return ""
        self._outages.put(self.info.id, failure)
        before = self._step()
        if before is None:
            return ""
        return WENT_ON.format(reason=failure, model=self.info.id) + self._blinded(before)

    def _step(self) -> ModelInfo | None:
        """Take the next model that can be used, and give the one before; None: there is none."""
        before = self.info
        for at, name in enumerate(self._left, 1):
            if self._outages.has(name):
                continue
            try:
                self._model = self._make(name)
            except ShipmateError:
                continue  # its provider or key is gone: the check of the configuration says so
            self._left = self._left[at:]
            return before
        return None

    def _blinded(self, before: ModelInfo) -> str:
        return BLIND if before.vision and not self.info.vision else ""

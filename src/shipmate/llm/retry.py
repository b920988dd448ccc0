"""Asking a provider again, where what failed can pass by itself."""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from shipmate.llm.model import (
    ChatMessage,
    Model,
    ModelError,
    ModelInfo,
    Part,
    Reply,
    Retrying,
    StreamItem,
    ToolSpec,
)

TRIES = 5
LONGEST_WAIT = 60.0
"""Seconds; who asks for more gets one more try after this."""
_PASSING = ("rate_limit", "overloaded", "truncated")


class RetryingModel:
    """A model that is asked up to five times: at a rate limit, when the provider has a problem,
    when the connection broke. Never once a text was shown. What is told to wait is told to the
    user with `Retrying`. An empty answer is asked for once more, and then is a failure."""

    def __init__(
        self,
        model: Model,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._model = model
        self._sleep = sleep
        self._jitter = jitter

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[StreamItem]:
        tries = _Tries()
        while not tries.over:
            try:
                async with aclosing(self._model.stream(messages, tools)) as items:
                    async for item in items:
                        tries.see(item)
                        yield item
            except ModelError as error:
                wait = tries.next_wait(error)
                if wait is None:
                    raise
                wait = min(LONGEST_WAIT, wait * (1 + self._jitter() / 4))
                if wait or tries.shown:
                    yield Retrying(tries.made + 1, TRIES, wait, str(error))
                await self._sleep(wait)


@dataclass(slots=True)
class _Tries:
    """What was tried for one request."""

    made: int = 0
    """Tries that failed."""
    empty: int = 0
    long: int = 0
    """Waits that were cut to `LONGEST_WAIT`."""
    shown: bool = False
    """The present try brought thinking or text."""
    spoken: bool = False
    """It brought text."""
    over: bool = False

    def see(self, item: StreamItem) -> None:
        """Raise `_EmptyError` for a reply that says and does nothing."""
        if isinstance(item, Part):
            self.shown, self.spoken = True, self.spoken or bool(item.text)
        elif isinstance(item, Reply):
            ordinary = item.finish not in ("length", "content_filter", "cut_call", "bad_call")
            if ordinary and not item.calls and not item.text.strip():
                raise _EmptyError("The model gave an empty answer. Ask again.", partial=item)
            self.over = True

    def next_wait(self, error: ModelError) -> float | None:
        """Seconds until the next try; None: no more."""
        self.made += 1
        if isinstance(error, _EmptyError):
            self.empty += 1
            return 0.0 if self.empty == 1 else None
        if self.spoken or error.kind not in _PASSING or self.made >= TRIES or self.long:
            return None
        asked = error.retry_after
        if asked is None:
            return float(2 ** (self.made - 1))
        self.long += asked > LONGEST_WAIT
        return max(0.5, min(asked, LONGEST_WAIT))


class _EmptyError(ModelError):
    pass

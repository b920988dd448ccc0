"""Where a provider is, how long it may take, and its answer over HTTP as it comes."""

from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Literal

from shipmate.llm.answer import AnswerReader
from shipmate.llm.connections import Exchange
from shipmate.llm.failures import failure_of_body, without_key
from shipmate.llm.model import ModelError, StreamItem

_END_GRACE = 0.05
"""Seconds after the last event in which the body should end, so that the connection can be kept."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds a provider may take."""

    first_byte: float = 120
    """From the request to the first sign of an answer."""
    idle: float = 120
    """Without a byte in mid-answer; a comment is a sign of life."""
    quiet: float = 600
    """With signs of life, but nothing said."""
    total: float = 3600
    after_end: float = 5
    """After the provider's word of the end; the usage may still come."""


PATIENT = Limits(first_byte=900, idle=300, quiet=1800)
"""For a model on this machine: it may have to be loaded first, and two cores read a long prompt
at fifty tokens a second, without a sign of life."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a provider is, and how it differs from the common ground."""

    name: str
    """As the user knows it; stands in messages."""
    base_url: str
    """Ends before `/chat/completions`, `/messages`, `/models/…`."""
    api_key: str = field(default="", repr=False)
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields added to each request, such as `{"reasoning_effort": "high"}`."""
    replay_reasoning: Literal["calls", "never"] = "never"
    """`calls`: from the first tool call on, earlier thinking goes back, as DeepSeek demands."""
    limits: Limits = Limits()


@contextmanager
def hidden(key: str) -> Generator[None]:
    """Failures do not show the key."""
    try:
        yield
    except ModelError as error:
        error.args = (without_key(str(error), key),)
        raise


async def answered(
    exchange: Exchange, reader: AnswerReader, end: Endpoint
) -> AsyncGenerator[StreamItem]:
    """The parts of an answer whose status was 200, and its reply; the exchange is closed after."""
    try:
        clock = _Clock(end)
        while not reader.done and (data := await clock.read(exchange, reader)):
            if part := reader.feed(data):
                yield part
        reply = reader.finish()
        with suppress(TimeoutError):
            while await exchange.read(_END_GRACE):
                pass
    finally:
        exchange.close()
    yield reply


async def refusal(exchange: Exchange, end: Endpoint) -> ModelError:
    """What an answer tells whose status is not 200; the exchange is closed after."""
    try:
        if 300 <= exchange.status < 400:
            place = exchange.headers.get("Location", "elsewhere")
            return ModelError(
                f"{end.name} redirects to {place}. That is not followed, as the API key would go "
                "there; if it is right, set it as the base URL.",
                kind="refused",
            )
        body = await exchange.failure(end.limits.idle)
        return failure_of_body(body, end.name, exchange.status, exchange.headers)
    finally:
        exchange.close()


class _Clock:
    """Reads on as long as a provider may take."""

    def __init__(self, end: Endpoint) -> None:
        self._end = end
        self._begun = monotonic()
        self._events = 0
        self._last = self._begun
        """When something was said last."""
        self._alive = False

    async def read(self, exchange: Exchange, reader: AnswerReader) -> bytes:
        """The next bytes; empty at the end."""
        limits, now = self._end.limits, monotonic()
        if reader.events > self._events:
            self._events, self._last = reader.events, now
        waits = {
            "fell silent in mid-answer": limits.idle if self._alive else limits.first_byte,
            "said nothing for too long": self._last + limits.quiet - now,
            "took too long in all": self._begun + limits.total - now,
        }
        why, wait = min(waits.items(), key=lambda item: item[1])
        try:
            data = await exchange.read(min(wait, limits.after_end) if reader.ended else wait)
        except TimeoutError as error:
            if reader.ended:
                return b""
            message = f"{self._end.name} {why}; the connection was closed."
            raise ModelError(message, kind="unreachable", partial=reader.partial()) from error
        self._alive = True
        return data

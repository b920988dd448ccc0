"""A session's side of streaming: what is said is shown at once and kept in batches."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from shipmate.agent.voice import Speaker
from shipmate.database.store import Store
from shipmate.faults import point
from shipmate.llm.model import Retrying
from shipmate.protocol import AnyEvent, Delta, Progress, Retry, StreamEnd, StreamStart
from shipmate.session.live import LiveMessage

FLUSH_SECONDS = 0.1
"""A killed server loses at most the text of this long."""


@dataclass(slots=True)
class Spoken:
    """One message that is being said, and what of it is not on its way to the disk yet."""

    live: LiveMessage
    unkept: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    timer: asyncio.TimerHandle | None = None

    def take(self) -> tuple[str, str]:
        """What is not kept yet, text and reasoning, and forget it."""
        text = "".join(text for text, _ in self.unkept)
        reasoning = "".join(reasoning for _, reasoning in self.unkept)
        self.unkept.clear()
        if self.timer:
            self.timer.cancel()
            self.timer = None
        return text, reasoning


@dataclass(slots=True)
class Speech:
    """Implements `agent.voice.Voice` for one session, in which several may speak at once."""

    session: str
    store: Store
    publish: Callable[[AnyEvent], None]
    _spoken: dict[str, Spoken] = field(default_factory=dict[str, Spoken])
    """By the id of the message."""

    def begin(self, message: str, speaker: Speaker) -> None:
        start = StreamStart(
            session=self.session,
            id=message,
            agent=speaker.agent,
            model=speaker.model,
            parent=speaker.parent,
        )
        self._begin(start)

    def say(self, message: str, text: str, reasoning: str) -> None:
        spoken = self._spoken.get(message)
        if spoken is None:
            return
        for delta in spoken.live.add(text, reasoning):
            self.publish(delta)
        spoken.unkept.append((text, reasoning))
        point("stream.said")
        if spoken.timer is None:
            loop = asyncio.get_running_loop()
            spoken.timer = loop.call_later(FLUSH_SECONDS, self._flush, message)

    def retry(self, message: str, retrying: Retrying) -> None:
        """What was said of this attempt is void; the message begins anew."""
        spoken = self._spoken[message]
        spoken.take()
        self.store.drop_text(self.session, message)
        self.publish(
            Retry(
                session=self.session,
                id=message,
                attempt=retrying.attempt,
                of=retrying.of,
                wait=retrying.wait,
                reason=retrying.reason,
            )
        )
        self._begin(spoken.live.start)

    def progress(self, call: str, text: str, done: float, total: float | None) -> None:
        told = Progress(session=self.session, id=call, text=text, done=done, total=total)
        self.publish(told)

    def so_far(self, message: str) -> tuple[str, str]:
        spoken = self._spoken.get(message)
        return spoken.live.said if spoken else ("", "")

    def thought(self, message: str) -> float:
        spoken = self._spoken.get(message)
        return spoken.live.thought if spoken else 0.0

    def end(self, message: str) -> None:
        """The message's block is about to be kept; until then it stays to be joined."""
        spoken = self._spoken[message]
        spoken.take()
        if spoken.live.said == ("", ""):
            del self._spoken[message]
        self.publish(StreamEnd(session=self.session, id=message))
        point("stream.ended")

    def kept(self, message: str) -> None:
        """The block is kept: it takes the place of what was streamed."""
        if spoken := self._spoken.pop(message, None):
            spoken.take()
        point("stream.kept")

    def messages(self) -> list[LiveMessage]:
        """The messages that are being said, in the order in which they began."""
        return [spoken.live for spoken in self._spoken.values()]

    def to_join(self) -> Iterator[StreamStart | Delta]:
        """For who joins in the middle: what was said of each so far."""
        for live in self.messages():
            yield from live.so_far()

    def _begin(self, start: StreamStart) -> None:
        self._spoken[start.id] = Spoken(LiveMessage(start))
        self.publish(start)
        point("stream.begun")

    def _flush(self, message: str) -> None:
        text, reasoning = self._spoken[message].take()
        point("stream.before_flush")
        self.store.append_text(self.session, message, text, reasoning)
        point("stream.flushed")

"""A session's side of streaming: what is said is shown at once and kept in batches."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from shipmate.database.store import Store
from shipmate.faults import point
from shipmate.llm.model import Retrying
from shipmate.protocol import AnyEvent, Retry, StreamEnd, StreamStart
from shipmate.session.live import LiveMessage

FLUSH_SECONDS = 0.1
"""A killed server loses at most the text of this long."""


@dataclass(slots=True)
class Speech:
    """Implements `agent.loop.Voice` for one session."""

    session: str
    agent: str
    model: str
    store: Store
    publish: Callable[[AnyEvent], None]
    message: LiveMessage | None = None
    _unkept: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    _timer: asyncio.TimerHandle | None = None

    def begin(self, message: str) -> None:
        start = StreamStart(session=self.session, id=message, agent=self.agent, model=self.model)
        self.message = LiveMessage(start)
        self.publish(start)
        point("stream.begun")

    def say(self, message: str, text: str, reasoning: str) -> None:
        if self.message is None:
            return
        for delta in self.message.add(text, reasoning):
            self.publish(delta)
        self._unkept.append((text, reasoning))
        point("stream.said")
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(FLUSH_SECONDS, self._flush, message)

    def retry(self, message: str, retrying: Retrying) -> None:
        """What was said of this attempt is void; the message begins anew."""
        self._forget_unkept()
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
        self.begin(message)

    def so_far(self, message: str) -> tuple[str, str]:
        said = self.message
        return ("".join(said.text), "".join(said.reasoning)) if said else ("", "")

    def end(self, message: str) -> None:
        """The message's block is about to be kept; until then `message` stays to be joined."""
        self._forget_unkept()
        self.publish(StreamEnd(session=self.session, id=message))
        point("stream.ended")

    def kept(self) -> None:
        """The block is kept: it takes the place of what was streamed."""
        self.message = None
        point("stream.kept")

    def _flush(self, message: str) -> None:
        text = "".join(text for text, _ in self._unkept)
        reasoning = "".join(reasoning for _, reasoning in self._unkept)
        self._forget_unkept()
        point("stream.before_flush")
        self.store.append_text(self.session, message, text, reasoning)
        point("stream.flushed")

    def _forget_unkept(self) -> None:
        self._unkept.clear()
        if self._timer:
            self._timer.cancel()
            self._timer = None

"""The message that is being streamed: what was said so far, for who joins in the middle."""

import time
from dataclasses import dataclass, field

from shipmate.llm.tokens import estimate_tokens
from shipmate.protocol import Delta, Message, StreamStart


def length(text: str) -> int:
    """Length in UTF-16 code units, as a browser counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


@dataclass(slots=True)
class LiveMessage:
    start: StreamStart
    text: list[str] = field(default_factory=list[str])
    reasoning: list[str] = field(default_factory=list[str])
    begun: float = field(default_factory=time.monotonic)
    spoke: float = 0.0
    """When its first word came; 0: none has yet."""
    text_length: int = 0
    reasoning_length: int = 0

    def add(self, text: str, reasoning: str) -> list[Delta]:
        """Take more of it; the pieces as events, each of one field."""
        deltas: list[Delta] = []
        if reasoning:
            deltas.append(self._delta(self.reasoning_length, reasoning=reasoning))
            self.reasoning.append(reasoning)
            self.reasoning_length += length(reasoning)
        if text:
            self.spoke = self.spoke or time.monotonic()
            deltas.append(self._delta(self.text_length, text=text))
            self.text.append(text)
            self.text_length += length(text)
        return deltas

    @property
    def said(self) -> tuple[str, str]:
        """Text and reasoning so far."""
        return "".join(self.text), "".join(self.reasoning)

    @property
    def thought(self) -> float:
        """Seconds it thought so far."""
        until = self.spoke or time.monotonic()
        return round(until - self.begun, 1) if self.reasoning else 0.0

    def cut_off(self) -> Message:
        """What was said, as the block of a message that did not come to its end."""
        text, reasoning = self.said
        return Message(
            id=self.start.id,
            parent=self.start.parent,
            text=text,
            reasoning=reasoning,
            model=self.start.model,
            agent=self.start.agent,
            tokens=estimate_tokens(text + reasoning),
            tokens_source="estimate",
            thought=self.thought,
            partial=True,
        )

    def so_far(self) -> list[StreamStart | Delta]:
        events: list[StreamStart | Delta] = [self.start]
        if self.reasoning:
            events.append(self._delta(0, reasoning="".join(self.reasoning)))
        if self.text:
            events.append(self._delta(0, text="".join(self.text)))
        return events

    def _delta(self, offset: int, text: str = "", reasoning: str = "") -> Delta:
        start = self.start
        return Delta(
            session=start.session, id=start.id, offset=offset, text=text, reasoning=reasoning
        )

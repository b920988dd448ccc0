"""An answer while it is read: what the readers of all dialects have in common."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

from shipmate.llm.calls import Calls
from shipmate.llm.chunks import DONE, Mender
from shipmate.llm.failures import failure_of
from shipmate.llm.model import ModelError, Part, Reply
from shipmate.llm.sse import EventReader
from shipmate.llm.thinking import ThinkTags
from shipmate.protocol import Signed, Usage

BODY_LIMIT = 32 * 1024 * 1024
"""Bytes of an answer that is one JSON document."""
_BOM = b"\xef\xbb\xbf"


@dataclass(slots=True)
class Heard:
    """What some events brought."""

    texts: list[str] = field(default_factory=list[str])
    thoughts: list[str] = field(default_factory=list[str])
    lost: int = 0
    """Events that could not be read at all."""


class AnswerReader(ABC):
    """Reads an answer, be it a stream of events or one document.

    Everything may be absent, null, empty or odd. `feed` joins what one read brought into one
    part; `finish` gives the reply, or raises what went wrong with what was said until then.
    """

    format: ClassVar[str]
    """As people call it."""
    ends: ClassVar[Mapping[str, str]]
    """Words for an end that are not those of `Reply.finish`. Whether there are calls decides what
    is done, never the word."""
    tags: ClassVar[bool] = False
    """Thinking may stand in the text, between tags."""

    def __init__(self, provider: str = "The provider") -> None:
        self.done = False
        """The last event, or a failure, came: nothing more is to be read."""
        self.ended = False
        """The provider named an end; only the usage may still come."""
        self.events = 0
        """Events with content so far; a comment is none."""
        self._provider = provider
        self._reader = EventReader()
        self._head: bytes | None = b""
        """The first bytes, while they do not tell a stream from a document."""
        self._body = _Body()
        self._lost = 0
        self._said = _Said(self.tags)
        self._calls = Calls()
        self._usage: Usage | None = None
        self._finish = ""
        self._failure: Any = None
        self._notes: list[str] = []

    @abstractmethod
    def read(self, events: Sequence[bytes]) -> Heard:
        """Take in the data of events. Sets `_usage`, `_finish`, `ended`, `done`, `_failure`."""

    def signed(self) -> tuple[Signed, ...]:
        """What goes back with the reply."""
        return ()

    def feed(self, data: bytes) -> Part | None:
        """Read on; None when that brought nothing to show."""
        if self._head is not None:
            data = self._head = self._head + data
            if not _tells(data):
                return None
            self._head = None
            self._body.used = _start(data)[:1] in (b"{", b"[", b"<")
        if self._body.used:
            self._body.add(data)
            return None
        events = self._reader.feed(data)
        return self._take(events) if events else None

    def finish(self) -> Reply:
        """The body has ended: the reply.

        Raises `ModelError` with what was said so far when it ended without an end, or with an
        error inside.
        """
        self._take([self._body.whole()] if self._body.used else self._reader.end(), last=True)
        self._said.end()
        if self._failure is not None:
            raise failure_of(self._failure, self._provider, partial=self.partial())
        if not self.ended and not self.done:
            raise self._unfinished()
        return self._reply()

    def partial(self, finish: str = "truncated") -> Reply:
        """What was said so far; calls of a reply that did not end well are void."""
        text, reasoning = self._said.whole()
        return Reply(text, reasoning, usage=self._usage, finish=finish)

    def _fail(self, failure: Any) -> None:
        """The provider told of a failure: the first one counts."""
        self._failure, self.done = self._failure or failure, True

    def _take(self, events: list[bytes], *, last: bool = False) -> Part | None:
        if DONE in events:
            events = [event for event in events if event != DONE]
            self.done = True
        if not events:
            return None
        heard = self.read(events)
        self.events += len(events)
        if not (last and events[0].startswith(b"{")):  # that one is cut off, not unreadable
            self._lost += heard.lost
        return self._said.add("".join(heard.texts), "".join(heard.thoughts))

    def _reply(self) -> Reply:
        finish = self.ends.get(self._finish, self._finish or "stop")
        calls = self._calls.finish()
        names = ", ".join(dict.fromkeys(call.name for call in calls))
        cut = finish in ("length", "content_filter") or self._calls.cut or self._lost > 0
        if calls and cut:
            finish = finish if finish == "content_filter" else "cut_call"
            note = f"The answer was cut off in a tool call ({names}); it was not run."
            return replace(self.partial(finish), notes=(note,))
        notes = list(self._notes)
        if self._lost:
            notes.append("A piece of the answer could not be read.")
        if self._calls.nameless:
            notes.append("The model made a tool call without a name; it was not run.")
            finish = "bad_call"
        finish = "tool_calls" if calls else finish
        return replace(self.partial(finish), calls=calls, notes=tuple(notes), signed=self.signed())

    def _unfinished(self) -> ModelError:
        if self._lost and self._lost == self.events:
            shown = self._body.whole()[:300].decode(errors="replace").strip()
            return ModelError(
                f"{self._provider} did not answer in the format of {self.format}. "
                f"Check its base URL. It said: {shown or 'something unreadable'}",
                partial=self.partial(),
            )
        return ModelError(
            f"The connection to {self._provider} ended before the answer did.",
            kind="truncated",
            partial=self.partial(),
        )


def _start(data: bytes) -> bytes:
    return data.removeprefix(_BOM).lstrip()


def _tells(data: bytes) -> bool:
    return bool(_start(data)) and not _BOM.startswith(data)


class _Body:
    """An answer that is one document, or no answer at all."""

    def __init__(self) -> None:
        self.used = False
        self._pieces: list[bytes] = []
        self._size = 0

    def add(self, data: bytes) -> None:
        self._pieces.append(data)
        self._size += len(data)
        if self._size > BODY_LIMIT:
            raise ModelError("The provider sent more than 32 MB; the answer was ended.")

    def whole(self) -> bytes:
        return b"".join(self._pieces).removeprefix(_BOM)


class _Said:
    """Text and thinking so far."""

    def __init__(self, tags: bool) -> None:
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._tags = ThinkTags()
        self._tags.settled = not tags
        self._menders = Mender(), Mender()

    def add(self, text: str, thought: str) -> Part | None:
        text, thought = self._menders[0].feed(text), self._menders[1].feed(thought)
        if text and not self._tags.settled:
            text, inner = self._tags.feed(text)
            thought += inner
        return self._keep(text, thought)

    def end(self) -> None:
        """What was held back, as it is clear now that nothing follows."""
        self._keep(self._menders[0].end(), self._menders[1].end())
        self._keep(*self._tags.end())

    def _keep(self, text: str, thought: str) -> Part | None:
        if text:
            self._texts.append(text)
        if thought:
            self._thoughts.append(thought)
        return Part(text, thought) if text or thought else None

    def whole(self) -> tuple[str, str]:
        return "".join(self._texts), "".join(self._thoughts)


def count(given: Any, name: str) -> int:
    """A number of tokens in what was given; 0 where there is none."""
    value = cast("dict[str, Any]", given).get(name) if isinstance(given, dict) else None
    return int(value) if isinstance(value, int | float) and 0 < value < 1e15 else 0

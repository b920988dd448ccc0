"""The one reader of streamed answers: bytes to parts, and in the end to a reply."""

from dataclasses import replace
from typing import Any, cast

from shipmate.llm.calls import Calls
from shipmate.llm.chunks import DONE, Choice, Mender, read_chunks
from shipmate.llm.failures import failure_of
from shipmate.llm.model import ModelError, Part, Reply
from shipmate.llm.sse import EventReader
from shipmate.llm.thinking import ThinkTags
from shipmate.protocol import Usage

BODY_LIMIT = 32 * 1024 * 1024
"""Bytes of an answer that is one JSON document."""
_BOM = b"\xef\xbb\xbf"
_ENDS = {
    "tool_calls": "stop",
    "function_call": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
}
"""Other words for an end. Whether there are calls decides what is done, never the word."""


class Accumulator:
    """Reads an answer in the format of Chat Completions, be it a stream or one document.

    Everything may be absent, null, empty or odd. `feed` joins what one read brought into one
    part; `finish` gives the reply, or raises what went wrong with what was said until then.
    """

    def __init__(self, provider: str = "The provider") -> None:
        self.done = False
        """`[DONE]` or a failure came: nothing more is to be read."""
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
        self._said = _Said()
        self._calls = Calls()
        self._usage: Usage | None = None
        self._finish = ""
        self._failure: Any = None

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

    # --- reading --------------------------------------------------------------------------

    def _take(self, events: list[bytes], *, last: bool = False) -> Part | None:
        if DONE in events:
            events = [event for event in events if event != DONE]
            self.done = True
        if not events:
            return None
        chunks, lost = read_chunks(events)
        self.events += len(events)
        if not (last and events[0].startswith(b"{")):  # that one is cut off, not unreadable
            self._lost += lost
        texts: list[str] = []
        thoughts: list[str] = []
        for chunk in chunks:
            if chunk.usage:
                self._usage = usage_of(chunk.usage) or self._usage
            if chunk.choices and not chunk.error:
                self._choice(chunk.choices[0], texts, thoughts)
            elif failure := chunk.error or chunk.message or chunk.detail:
                self._failure, self.done = self._failure or failure, True
        return self._said.add("".join(texts), "".join(thoughts))

    def _choice(self, choice: Choice, texts: list[str], thoughts: list[str]) -> None:
        if choice.finish_reason:
            self._finish, self.ended = choice.finish_reason, True
        delta = choice.delta or choice.message
        if delta is None or choice.index:
            return
        if delta.content:
            texts.append(delta.content)
        if thought := delta.reasoning_content or delta.reasoning:
            thoughts.append(thought)
        elif delta.reasoning_details:
            thoughts += [detail.text for detail in delta.reasoning_details if detail.text]
        for piece in delta.tool_calls or ():
            self._calls.add(piece)
        if delta.function_call:
            self._calls.add_legacy(delta.function_call)

    # --- the end --------------------------------------------------------------------------

    def partial(self, finish: str = "truncated") -> Reply:
        """What was said so far; calls of a reply that did not end well are void."""
        text, reasoning = self._said.whole()
        return Reply(text, reasoning, usage=self._usage, finish=finish)

    def _reply(self) -> Reply:
        finish = _ENDS.get(self._finish, self._finish or "stop")
        calls = self._calls.finish()
        names = ", ".join(dict.fromkeys(call.name for call in calls))
        cut = finish in ("length", "content_filter") or self._calls.cut or self._lost > 0
        if calls and cut:
            finish = finish if finish == "content_filter" else "cut_call"
            note = f"The answer was cut off in a tool call ({names}); it was not run."
            return replace(self.partial(finish), notes=(note,))
        notes: list[str] = []
        if self._lost:
            notes.append("A piece of the answer could not be read.")
        if self._calls.nameless:
            notes.append("The model made a tool call without a name; it was not run.")
            finish = "bad_call"
        finish = "tool_calls" if calls else finish
        return replace(self.partial(finish), calls=calls, notes=tuple(notes))

    def _unfinished(self) -> ModelError:
        if self._lost and self._lost == self.events:
            shown = self._body.whole()[:300].decode(errors="replace").strip()
            return ModelError(
                f"{self._provider} did not answer in the format of Chat Completions. "
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

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._tags = ThinkTags()
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


def usage_of(given: Any) -> Usage | None:
    """What was counted, or None when nothing usable was."""
    if not isinstance(given, dict):
        return None
    counts = cast("dict[str, Any]", given)
    prompt, completion = _count(counts, "prompt_tokens"), _count(counts, "completion_tokens")
    if prompt + completion == 0:
        prompt = _count(counts, "total_tokens")
    if prompt + completion == 0:
        return None
    cached = _count(counts.get("prompt_tokens_details"), "cached_tokens")
    return Usage(
        prompt=prompt,
        completion=completion,
        cached=min(prompt, cached or _count(counts, "prompt_cache_hit_tokens")),
        reasoning=_count(counts.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _count(given: Any, name: str) -> int:
    value = cast("dict[str, Any]", given).get(name) if isinstance(given, dict) else None
    return int(value) if isinstance(value, int | float) and 0 < value < 1e15 else 0

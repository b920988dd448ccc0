"""The reader of answers of the Messages API."""

from collections.abc import Sequence
from typing import Any, cast

import msgspec
from msgspec import Struct

from shipmate.llm.answer import AnswerReader, Heard, count
from shipmate.llm.chunks import CallPiece, Function, mend
from shipmate.llm.events import EventDecoder
from shipmate.protocol import Signed, Usage

_ENDS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
DECLINED = "The model declined to answer this. Put it in other words, or choose another model."


class _Block(Struct, gc=False):
    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None


class _Delta(Struct, gc=False):
    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class _Message(Struct, gc=False):
    usage: Any = None


class _Event(Struct, gc=False):
    type: str | None = None
    index: int | None = None
    delta: _Delta | None = None
    content_block: _Block | None = None
    message: _Message | None = None
    usage: Any = None
    error: Any = None
    content: list[_Block] | None = None
    stop_reason: str | None = None
    """`content` and `stop_reason` stand in an answer that is no stream."""
    detail: Any = None


_decode = EventDecoder(_Event)


class MessagesReader(AnswerReader):
    """The Messages API, in events or as one document."""

    format = "the Messages API"
    ends = _ENDS

    def __init__(self, provider: str = "The provider") -> None:
        super().__init__(provider)
        self._pieces: dict[int, Signed] = {}
        """By the index of their block."""
        self._counted: dict[str, Any] = {}

    def read(self, events: Sequence[bytes]) -> Heard:
        found, lost = _decode(events)
        heard = Heard(lost=lost)
        for event in found:
            self._event(event, heard)
        return heard

    def signed(self) -> tuple[Signed, ...]:
        """All pieces, where one of them is thinking that was signed."""
        pieces = tuple(self._pieces[index] for index in sorted(self._pieces))
        kept = tuple(p for p in pieces if p.kind != "thinking" or p.signature)
        return kept if any(p.kind in ("thinking", "redacted") for p in kept) else ()

    def _event(self, event: _Event, heard: Heard) -> None:
        at = event.index if event.index is not None else max(self._pieces, default=0)
        match event.type:
            case "content_block_start" if event.content_block:
                self._begin(at, event.content_block, heard)
            case "content_block_delta" if event.delta:
                self._more(at, event.delta, heard)
            case "message_start":
                self._count(event.message.usage if event.message else None)
            case "message_delta":
                self._count(event.usage)
                self._end(event.delta.stop_reason if event.delta else None)
            case "message_stop":
                self.done = True
            case "message":
                self._whole(event, heard)
            case _ if event.error or event.detail:
                self._fail(event.error or event.detail)
            case _:
                pass  # a ping, the end of a block, what is new

    def _whole(self, event: _Event, heard: Heard) -> None:
        """An answer that is one document."""
        for index, block in enumerate(event.content or ()):
            self._begin(index, block, heard)
        self._count(event.usage)
        self._end(event.stop_reason or "end_turn")

    def _begin(self, at: int, block: _Block, heard: Heard) -> None:
        match block.type:
            case "tool_use":
                self._pieces[at] = Signed(kind="call")
                given = _text_of(block.input)
                function = Function(block.name, given)
                self._calls.add(CallPiece(index=at, id=block.id, function=function))
            case "redacted_thinking":
                self._pieces[at] = Signed(kind="redacted", text=block.data or "")
            case "thinking" | "text":
                self._pieces[at] = Signed(kind="thinking" if block.type == "thinking" else "text")
                self._more(at, _Delta(None, block.text, block.thinking, block.signature), heard)
            case _:
                pass  # what only tools of the provider make

    def _more(self, at: int, delta: _Delta, heard: Heard) -> None:
        if delta.partial_json is not None:
            function = Function(None, delta.partial_json)
            self._calls.add(CallPiece(index=at, function=function))
        if delta.text:
            heard.texts.append(delta.text)
            self._grow(at, "text", size=len(mend(delta.text)))
        if delta.thinking:
            heard.thoughts.append(delta.thinking)
        if delta.thinking or delta.signature:
            self._grow(at, "thinking", delta.thinking or "", delta.signature or "")

    def _grow(
        self, at: int, kind: Any, text: str = "", signature: str = "", *, size: int = 0
    ) -> None:
        piece = self._pieces.get(at) or Signed(kind=kind)
        self._pieces[at] = Signed(
            kind=piece.kind,
            text=piece.text + text,
            signature=piece.signature + signature,
            size=piece.size + size,
        )

    def _end(self, reason: str | None) -> None:
        if reason:
            self._finish, self.ended = reason, True
        if reason == "refusal":
            self._notes.append(DECLINED)

    def _count(self, given: Any) -> None:
        """The last count of each kind holds; what was read from the cache, or kept in it, is part
        of the prompt."""
        if isinstance(given, dict):
            counts = cast("dict[str, Any]", given)
            self._counted |= {k: v for k, v in counts.items() if v is not None}
        read = count(self._counted, "cache_read_input_tokens")
        written = count(self._counted, "cache_creation_input_tokens")
        prompt = count(self._counted, "input_tokens") + read + written
        completion = count(self._counted, "output_tokens")
        if prompt + completion:
            thought = count(self._counted.get("output_tokens_details"), "thinking_tokens")
            self._usage = Usage(
                prompt=prompt,
                completion=completion,
                cached=read,
                cache_write=written,
                reasoning=thought,
            )


def _text_of(given: Any) -> str | None:
    """The input that stands in the beginning of a block; an empty one is still to come."""
    if isinstance(given, dict) and given:
        return msgspec.json.encode(given).decode()
    return given if isinstance(given, str) else None

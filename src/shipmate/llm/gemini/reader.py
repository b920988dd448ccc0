"""The reader of answers of Gemini."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from shipmate.llm.answer import AnswerReader, Heard, count
from shipmate.llm.chunks import CallPiece, Function, mend
from shipmate.llm.events import EventDecoder
from shipmate.protocol import Signed, Usage

_DECLINED = (
    "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE",
)  # fmt: skip
_ENDS = {
    "STOP": "stop",
    "FINISH_REASON_UNSPECIFIED": "stop",
    "MAX_TOKENS": "length",
    "MALFORMED_FUNCTION_CALL": "bad_call",
    "UNEXPECTED_TOOL_CALL": "bad_call",
    **dict.fromkeys(_DECLINED, "content_filter"),
}
DECLINED = "Gemini declined to answer this ({reason}). Put it in other words, or choose another."
PREFIX = "t_"
"""Before the names of tools that do not begin with a letter."""


class _Function(Struct, gc=False, rename="camel"):
    name: str | None = None
    args: Any = None
    id: str | None = None


class _Part(Struct, gc=False, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: _Function | None = None


class _Content(Struct, gc=False, rename="camel"):
    parts: list[_Part] | None = None


class _Candidate(Struct, gc=False, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    index: int | None = None


class _Feedback(Struct, gc=False, rename="camel"):
    block_reason: str | None = None


class _Chunk(Struct, gc=False, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: Any = None
    error: Any = None


_decode = EventDecoder(_Chunk)


class GeminiReader(AnswerReader):
    """`streamGenerateContent`, in events or as one document."""

    format = "the Gemini API"
    ends = _ENDS

    def __init__(self, provider: str = "The provider") -> None:
        super().__init__(provider)
        self._pieces: list[Signed] = []
        self._text = 0
        """Characters of text since the last signature."""
        self._made = 0

    def read(self, events: Sequence[bytes]) -> Heard:
        found, lost = _decode(_opened(events))
        heard = Heard(lost=lost)
        for chunk in found:
            if chunk.error:
                self._fail(chunk.error)
                continue
            self._count(chunk.usage_metadata)
            if chunk.prompt_feedback and (reason := chunk.prompt_feedback.block_reason):
                self._end(reason if reason in _DECLINED else "SAFETY")
            for candidate in chunk.candidates or ():
                if not candidate.index:
                    self._candidate(candidate, heard)
        return heard

    def signed(self) -> tuple[Signed, ...]:
        return tuple(self._pieces) if any(piece.signature for piece in self._pieces) else ()

    def _candidate(self, candidate: _Candidate, heard: Heard) -> None:
        for part in (candidate.content and candidate.content.parts) or ():
            self._part(part, heard)
        if candidate.finish_reason:
            self._end(candidate.finish_reason)

    def _part(self, part: _Part, heard: Heard) -> None:
        mark = part.thought_signature or ""
        if part.thought:
            heard.thoughts.append(part.text or "")
        elif part.function_call:
            self._pieces.append(Signed(kind="call", signature=mark))
            self._call(part.function_call)
        elif part.text is not None or mark:
            heard.texts.append(part.text or "")
            self._text += len(mend(part.text or ""))
            if mark:
                self._pieces.append(Signed(kind="text", signature=mark, size=self._text))
                self._text = 0

    def _call(self, made: _Function) -> None:
        name = made.name or ""
        if re.match(rf"{PREFIX}[0-9-]", name):
            name = name.removeprefix(PREFIX)
        given = made.args if isinstance(made.args, str) else msgspec.json.encode(made.args).decode()
        function = Function(name, given)
        self._calls.add(CallPiece(index=self._made, id=made.id, function=function))
        self._made += 1

    def _end(self, reason: str) -> None:
        self._finish, self.ended = reason, True
        if reason in _DECLINED:
            self._notes.append(DECLINED.format(reason=reason))

    def _count(self, given: Any) -> None:
        """Each chunk counts all until then; thinking is counted beside what was said."""
        thought = count(given, "thoughtsTokenCount")
        prompt = count(given, "promptTokenCount") + count(given, "toolUsePromptTokenCount")
        completion = count(given, "candidatesTokenCount") + thought
        if prompt + completion:
            cached = min(prompt, count(given, "cachedContentTokenCount"))
            self._usage = Usage(
                prompt=prompt, completion=completion, cached=cached, reasoning=thought
            )


def _opened(events: Sequence[bytes]) -> list[bytes]:
    """A list of chunks, as without `alt=sse`, is taken apart."""
    found: list[bytes] = []
    for event in events:
        if event.lstrip().startswith(b"["):
            try:
                found += map(bytes, msgspec.json.decode(event, type=list[msgspec.Raw]))
                continue
            except msgspec.DecodeError:
                pass  # it is counted as lost
        found.append(event)
    return found

"""The reader of answers in the format of Chat Completions: bytes to parts, and in the end to a
reply."""

from collections.abc import Sequence
from typing import Any, cast

from shipmate.llm.answer import AnswerReader, Heard, count
from shipmate.llm.chunks import Choice, read_chunks
from shipmate.protocol import Usage

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


class Accumulator(AnswerReader):
    """Chat Completions, in chunks or as one document."""

    format = "Chat Completions"
    ends = _ENDS
    tags = True

    def read(self, events: Sequence[bytes]) -> Heard:
        chunks, lost = read_chunks(list(events))
        heard = Heard(lost=lost)
        for chunk in chunks:
            if chunk.usage:
                self._usage = usage_of(chunk.usage) or self._usage
            if chunk.choices and not chunk.error:
                self._choice(chunk.choices[0], heard)
            elif failure := chunk.error or chunk.message or chunk.detail:
                self._fail(failure)
        return heard

    def _choice(self, choice: Choice, heard: Heard) -> None:
        if choice.finish_reason:
            self._finish, self.ended = choice.finish_reason, True
        delta = choice.delta or choice.message
        if delta is None or choice.index:
            return
        if delta.content:
            heard.texts.append(delta.content)
        if thought := delta.reasoning_content or delta.reasoning:
            heard.thoughts.append(thought)
        elif delta.reasoning_details:
            heard.thoughts += [detail.text for detail in delta.reasoning_details if detail.text]
        for piece in delta.tool_calls or ():
            self._calls.add(piece)
        if delta.function_call:
            self._calls.add_legacy(delta.function_call)


def usage_of(given: Any) -> Usage | None:
    """What was counted, or None when nothing usable was."""
    if not isinstance(given, dict):
        return None
    counts = cast("dict[str, Any]", given)
    prompt, completion = count(counts, "prompt_tokens"), count(counts, "completion_tokens")
    if prompt + completion == 0:
        prompt = count(counts, "total_tokens")
    if prompt + completion == 0:
        return None
    cached = count(counts.get("prompt_tokens_details"), "cached_tokens")
    return Usage(
        prompt=prompt,
        completion=completion,
        cached=min(prompt, cached or count(counts, "prompt_cache_hit_tokens")),
        reasoning=count(counts.get("completion_tokens_details"), "reasoning_tokens"),
    )

"""A DeepSeek for tests: answers 400 where the real one does, and counts what its cache would hit.

Its rules, as its documentation and its refusals tell them: content is never null; the effort is
one of three; once tools were called, the reasoning of the assistant's turns comes back as it was
given, in every later request.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from tests.provider import Answer, Provider, chunk, error_reply, sse

EFFORTS = ("low", "high", "max")
BLOCK = 64
"""Tokens that the cache takes at a time."""


@dataclass(frozen=True)
class Thought:
    """One reply: what it thinks, says and calls."""

    reasoning: str = ""
    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    when: str = ""
    """Only a request whose body holds this gets it."""


class DeepSeek(Provider):
    """Plays `script`, and then says "ok"; `refused` are its own refusals."""

    def __init__(self, *script: Thought) -> None:
        super().__init__(deepseek_thinking=True, vision=False)
        self.script = list(script)
        self.refused: list[str] = []
        self.given: set[str] = {""}
        """Every reasoning it ever gave; empty stands for another model's."""
        self._cached: list[str] = []

    def take(self, raw: bytes) -> Answer:
        body = json.loads(raw)
        with self.lock:
            if self.queued:
                return self.queued.pop(0)
            if reason := self._refusal(body):
                self.refused.append(reason)
                return error_reply(400, reason, code="invalid_request_error")
            fits = (at for at, one in enumerate(self.script) if one.when.encode() in raw)
            at = next(fits, None)
            said = Thought(text="ok") if at is None else self.script.pop(at)
            return self._answer(body, said)

    def _refusal(self, body: Mapping[str, Any]) -> str:
        thinks = body.get("thinking", {"type": "enabled"}).get("type")
        if thinks not in ("enabled", "disabled"):
            return f"thinking.type: unknown variant `{thinks}`, expected `enabled` or `disabled`"
        if body.get("reasoning_effort", "high") not in EFFORTS:
            return f"reasoning_effort: unknown variant `{body['reasoning_effort']}`"
        called = False
        for at, message in enumerate(body["messages"]):
            if not isinstance(message.get("content"), str):
                return f"messages[{at}]: content: invalid type: null, expected a string"
            called = called or bool(message.get("tool_calls"))
            if message["role"] == "assistant" and called and thinks == "enabled":
                if "reasoning_content" not in message and message.get("tool_calls"):
                    return f"Missing `reasoning_content` in the assistant message at index {at}"
                if message.get("reasoning_content", "") not in self.given:
                    return f"The `reasoning_content` at index {at} must be passed back as it was"
        return ""

    def _answer(self, body: Mapping[str, Any], said: Thought) -> Answer:
        self.given.add(said.reasoning)
        sent = json.dumps([body.get("tools"), body["messages"]])
        hit = max((_shared(sent, old) for old in self._cached), default=0) // 4
        self._cached.append(sent)
        hit = min(hit, len(sent) // 4) // BLOCK * BLOCK
        usage = {
            "prompt_tokens": len(sent) // 4,
            "completion_tokens": 5,
            "prompt_cache_hit_tokens": hit,
            "prompt_cache_miss_tokens": len(sent) // 4 - hit,
        }
        calls = [
            {
                "index": n,
                "id": f"call_{n}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for n, (name, arguments) in enumerate(said.calls)
        ]
        thinking = chunk(
            {"role": "assistant", "content": None, "reasoning_content": said.reasoning}
        )
        spoken = chunk({"content": said.text, "reasoning_content": None})
        end = chunk({"tool_calls": calls} if calls else {}, "tool_calls" if calls else "stop")
        return Answer(sse(thinking, spoken, end, {"choices": [], "usage": usage}))


def _shared(one: str, other: str) -> int:
    """Characters that both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))

"""How many tokens a text takes, roughly: for what no provider has counted."""

import re
from collections.abc import Sequence

import msgspec

from shipmate.llm.model import ChatMessage, ToolSpec

_WIDE = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
    "\U00020000-\U0003ffff]+"
)
"""Scripts written without blanks (CJK, kana, hangul): about one token for 1.4 characters."""


def estimate_tokens(text: str) -> int:
    """Tokens of `text`, within about a third for prose and code in most tokenizers: a token
    for 3.6 bytes of ASCII, for 1.4 wide characters, for 2.4 characters of other scripts."""
    if not text:
        return 0
    if text.isascii():
        return max(1, round(len(text) / 3.6))
    wide = sum(map(len, _WIDE.findall(text)))
    ascii_bytes = len(text.encode("ascii", "ignore"))
    other = len(text) - wide - ascii_bytes
    return max(1, round(ascii_bytes / 3.6 + wide / 1.4 + other / 2.4))


IMAGE_TOKENS = 1_000
"""About what a picture takes."""
CUT = 0.35
"""Counted tokens below this share of what was sent: the server has left a part out (SES-13).
No tokenizer is that far from the estimate for prose or code."""
ENOUGH = 3_000
"""Tokens below which nothing is concluded from a count."""
_RUN = re.compile(r"(.)\1{7,}", re.DOTALL)
"""A run of the same character takes few tokens."""


class Meter:
    """About how many tokens a request has. It learns from what the provider counts."""

    def __init__(self) -> None:
        self._ratio = 1.0
        self._cuts = False
        """This server was found to cut."""
        self._looked_at = 0
        """The estimate at which that was looked at last."""
        self._last: tuple[list[ChatMessage], int] = ([], 0)
        """The messages that were measured last, without the final one, and their tokens."""
        self._tools: tuple[Sequence[ToolSpec], int] = ((), 0)

    def measure(self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec] = ()) -> int:
        """Tokens of the request, in the measure of the model that counted last."""
        return round(self._estimate(messages, tools) * self._ratio)

    def learn(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec], counted: int
    ) -> bool:
        """Take in what a provider counted for a prompt; false when that cannot be all of it."""
        estimate = self._estimate(messages, tools)
        if counted < CUT * estimate > CUT * ENOUGH:
            if not self._cuts and estimate > 1.5 * self._looked_at:
                self._cuts, self._looked_at = _dense(messages, counted), estimate
            if self._cuts:
                return False
        if counted and estimate:
            self._ratio = min(4.0, max(0.25, counted / estimate))
        return True

    def _estimate(self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]) -> int:
        if tools is not self._tools[0]:
            self._tools = tools, sum(_tool_tokens(spec) for spec in tools)
        known, size = self._last
        if not known or list(messages[: len(known)]) != known:
            known, size = [], 0
        size += sum(m.size or _sized(m) for m in messages[len(known) :])
        if messages:
            self._last = list(messages[:-1]), size - (messages[-1].size or _sized(messages[-1]))
        return self._tools[1] + size


def _dense(messages: Sequence[ChatMessage], counted: int) -> bool:
    """Runs of one character do not explain that so little was counted."""
    squeezed = sum(estimate_tokens(_RUN.sub(r"\1", m.text)) for m in messages)
    return counted < CUT * squeezed > CUT * ENOUGH


def _sized(message: ChatMessage) -> int:
    message.size = _message_tokens(message)
    return message.size


def _message_tokens(message: ChatMessage) -> int:
    calls = sum(8 + estimate_tokens(call.name + call.arguments) for call in message.calls)
    thought = estimate_tokens(message.reasoning) if message.calls else 0
    pictures = IMAGE_TOKENS * len(message.images)
    return 4 + estimate_tokens(message.text) + calls + thought + pictures


def _tool_tokens(spec: ToolSpec) -> int:
    schema = msgspec.json.encode(spec.parameters).decode()
    return 8 + estimate_tokens(spec.name + spec.description + schema)

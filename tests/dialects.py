"""The dialects that models are asked in, for tests that hold in each of them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shipmate.llm.accumulator import Accumulator
from shipmate.llm.answer import AnswerReader
from shipmate.llm.anthropic.reader import MessagesReader
from shipmate.llm.anthropic.wire import MessagesWire
from shipmate.llm.connections import Connections
from shipmate.llm.endpoint import Endpoint
from shipmate.llm.gemini.reader import GeminiReader
from shipmate.llm.gemini.wire import GeminiWire
from shipmate.llm.model import Model, ModelInfo
from shipmate.llm.openai import OpenAIModel
from shipmate.llm.wire import WireModel
from tests import anthropic, gemini, provider
from tests.provider import Answer, Provider


@dataclass(frozen=True)
class Dialect:
    """How a provider is asked, and what it answers."""

    name: str
    server: Callable[[], Provider]
    model: Callable[[ModelInfo, Endpoint, Connections], Model]
    reader: Callable[[str], AnswerReader]
    text: Callable[..., bytes]
    """A whole answer, of the given texts."""
    calls: Callable[..., bytes]
    """A whole answer that calls tools: (name, arguments) each, and `said` before."""
    begun: Callable[..., bytes]
    """An answer that has begun, with a thought and a text, and does not end."""
    unclosed: Callable[..., bytes]
    """A whole answer of one text without the event that closes the stream."""
    refusal: Callable[..., Answer]
    """An answer with a status, words, and `headers`."""
    path: str
    """Of the request, after the base URL."""
    key: tuple[str, str]
    """The header that holds the key, and what stands before it."""
    tools: Callable[[Mapping[str, Any]], list[str]]
    """The names of the tools of a request."""


def _anthropic(info: ModelInfo, end: Endpoint, connections: Connections) -> Model:
    return WireModel(info, end, connections, MessagesWire(info, end))


def _gemini(info: ModelInfo, end: Endpoint, connections: Connections) -> Model:
    return WireModel(info, end, connections, GeminiWire(info, end))


def _chat_begun(text: str = "", thought: str = "") -> bytes:
    delta = {"content": text} | ({"reasoning_content": thought} if thought else {})
    return provider.sse(provider.chunk(delta), done=False)


def _chat_calls(*calls: tuple[str, Mapping[str, Any]], said: str = "") -> bytes:
    return provider.call_reply(*calls, text=said)


def _anthropic_begun(text: str = "", thought: str = "") -> bytes:
    thinking = [{"type": "thinking_delta", "thinking": thought}] if thought else []
    deltas = [*thinking, *([{"type": "text_delta", "text": text}] if text else [])]
    pieces = [anthropic.event("content_block_delta", index=0, delta=delta) for delta in deltas]
    return anthropic.start() + b"".join(pieces)


def _gemini_begun(text: str = "", thought: str = "") -> bytes:
    thinking = [{"text": thought, "thought": True}] if thought else []
    return gemini.stream(gemini.chunk(*thinking, *([{"text": text}] if text else [])))


def _chat_unclosed(text: str) -> bytes:
    finish = provider.chunk(finish="stop")
    return provider.sse(provider.chunk({"content": text}), finish, done=False)


def _anthropic_unclosed(text: str) -> bytes:
    return anthropic.text_reply(text).removesuffix(anthropic.event("message_stop"))


CHAT = Dialect(
    "chat",
    Provider,
    OpenAIModel,
    Accumulator,
    provider.text_reply,
    _chat_calls,
    _chat_begun,
    _chat_unclosed,
    provider.error_reply,
    "/chat/completions",
    ("authorization", "Bearer "),
    lambda body: [tool["function"]["name"] for tool in body.get("tools", ())],
)
ANTHROPIC = Dialect(
    "anthropic",
    anthropic.Anthropic,
    _anthropic,
    MessagesReader,
    anthropic.text_reply,
    anthropic.call_reply,
    _anthropic_begun,
    _anthropic_unclosed,
    anthropic.error,
    "/messages",
    ("x-api-key", ""),
    lambda body: [tool["name"] for tool in body.get("tools", ())],
)
GEMINI = Dialect(
    "gemini",
    gemini.Gemini,
    _gemini,
    GeminiReader,
    gemini.text_reply,
    gemini.call_reply,
    _gemini_begun,
    gemini.text_reply,
    gemini.error,
    "/models/m:streamGenerateContent?alt=sse",
    ("x-goog-api-key", ""),
    lambda body: [
        one["name"] for tool in body.get("tools", ()) for one in tool["functionDeclarations"]
    ],
)
DIALECTS = {one.name: one for one in (CHAT, ANTHROPIC, GEMINI)}


def said_to(body: Mapping[str, Any]) -> str:
    """All that a request says, as JSON."""
    return json.dumps(body.get("messages") or body.get("contents"), ensure_ascii=False)

"""Messages to the bytes of a request of the Messages API, each message encoded once."""

import base64
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from shipmate.llm.anthropic.reader import MessagesReader
from shipmate.llm.anthropic.thinking import budget_of, fitted, output_of
from shipmate.llm.conversation import Checked, Kept, broken
from shipmate.llm.encoding import sendable, without_pictures
from shipmate.llm.endpoint import Endpoint
from shipmate.llm.invariants import check_tools
from shipmate.llm.model import CallPart, ChatMessage, Image, ModelInfo, ToolSpec
from shipmate.protocol import Signed

VERSION = "2023-06-01"
_CACHED = b',"cache_control":{"type":"ephemeral"}}'
"""In place of the last brace of a block: up to here the provider keeps what it read."""
_COMBINED = ("anyOf", "oneOf", "allOf")


class MessagesWire:
    """The Messages API.

    The same messages give the same bytes again, so that the provider's cache holds. It is told to
    keep the tools with the system text, and the conversation as far as the last two messages of
    the user: an earlier step is then found, however many calls it had.
    """

    def __init__(self, info: ModelInfo, endpoint: Endpoint) -> None:
        _, _, self._model = info.id.partition("/")
        self._info = info
        self._end = endpoint
        self.url = endpoint.base_url.rstrip("/") + "/messages"
        self.headers: Mapping[str, str] = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            "anthropic-version": VERSION,
            **({"x-api-key": endpoint.api_key} if endpoint.api_key else {}),
        }
        extra = dict(endpoint.extra)
        self._most = int(extra.pop("max_tokens", 0)) or output_of(self._model)
        self._thinking = fitted(extra.pop("thinking", None), self._most)
        self._extra = extra
        self._key = f"anthropic:{info.vision:d}:{info.id}:"
        self._checked = Checked()
        self._tools = Kept(_tools)

    def reader(self) -> MessagesReader:
        return MessagesReader(self._end.name)

    def body(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolSpec],
        bare: Collection[ChatMessage],
    ) -> bytes:
        self._checked.check(messages)
        head: dict[str, Any] = {
            "model": self._model,
            "max_tokens": self._most,
            "stream": True,
            **self._thinks(messages, bare),
            **self._extra,
        }
        system = b"".join(_system(m) for m in messages if m.role == "system")
        said = self._turns(messages, bare)
        return b"".join((sendable(head)[:-1], system, self._tools.of(tuple(tools)), said, b"}"))

    def _thinks(
        self, messages: Sequence[ChatMessage], bare: Collection[ChatMessage]
    ) -> dict[str, Any]:
        """With a budget, the turn that goes on must have begun with thinking: one that another
        model began goes on without."""
        if not self._thinking:
            return {}
        last = next((m for m in reversed(messages) if m.role == "assistant"), None)
        if budget_of(self._thinking) and last and last.calls and not self._signed(last, bare):
            return {}
        return {"thinking": self._thinking}

    def _turns(self, messages: Sequence[ChatMessage], bare: Collection[ChatMessage]) -> bytes:
        turns: list[tuple[bytes, list[bytes]]] = []
        for message in messages:
            if message.role == "system":
                continue
            role = b"assistant" if message.role == "assistant" else b"user"
            if not turns or turns[-1][0] != role:
                turns.append((role, []))
            turns[-1][1].append(self._blocks(message, bare))
        for _, blocks in [turn for turn in turns if turn[0] == b"user"][-2:]:
            blocks[-1] = blocks[-1][:-1] + _CACHED
        said = (b'{"role":"%b","content":[%b]}' % (r, b",".join(blocks)) for r, blocks in turns)
        return b',"messages":[' + b",".join(said) + b"]"

    def _blocks(self, message: ChatMessage, bare: Collection[ChatMessage]) -> bytes:
        signed = self._signed(message, bare)
        key = f"{self._key}{bool(signed):d}"
        found = message.encoded.get(key)
        if found is None:
            blocks = sendable(list(self._made(message, signed)))[1:-1]
            found = message.encoded[key] = blocks
        return found

    def _signed(self, message: ChatMessage, bare: Collection[ChatMessage]) -> Sequence[Signed]:
        """Thinking goes back to the model that thought it."""
        own = message.model == self._info.id and message not in bare
        return message.signed if own else ()

    def _made(self, message: ChatMessage, signed: Sequence[Signed]) -> Iterator[dict[str, Any]]:
        if message.role == "assistant":
            yield from _said(message, signed)
            return
        if message.role == "tool":
            yield {
                "type": "tool_result",
                "tool_use_id": message.call,
                "content": message.text if message.text.strip() else "(no output)",
            }
            return
        text = message.text if self._info.vision else without_pictures(message)
        if text.strip():
            yield _text(text)
        if self._info.vision:
            yield from map(_picture, message.images)


def _said(message: ChatMessage, signed: Sequence[Signed]) -> Iterator[dict[str, Any]]:
    """The blocks of a reply in the order in which they were given."""
    text, calls = message.text, list(message.calls)
    for piece in signed:
        match piece.kind:
            case "thinking":
                yield {"type": "thinking", "thinking": piece.text, "signature": piece.signature}
            case "redacted":
                yield {"type": "redacted_thinking", "data": piece.text}
            case "text":
                part, text = text[: piece.size], text[piece.size :]
                if part.strip():
                    yield _text(part)
            case "call" if calls:
                yield _use(calls.pop(0))
            case _:
                pass
    if text.strip():
        yield _text(text)
    yield from map(_use, calls)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _use(call: CallPart) -> dict[str, Any]:
    given = msgspec.Raw(call.arguments.encode("utf-8", "replace"))
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": given}


def _picture(image: Image) -> dict[str, Any]:
    data = base64.b64encode(image.data).decode()
    source = {"type": "base64", "media_type": image.media_type, "data": data}
    return {"type": "image", "source": source}


def _system(message: ChatMessage) -> bytes:
    if not message.text.strip():
        return b""
    block = {**_text(message.text), "cache_control": {"type": "ephemeral"}}
    return b',"system":[' + sendable(block) + b"]"


def _tools(tools: Sequence[ToolSpec]) -> bytes:
    if not tools:
        return b""
    functions = [
        {"function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
        for t in tools
    ]
    if rules := check_tools({"tools": functions}):
        raise broken(rules)
    return b',"tools":' + sendable([_tool(tool) for tool in tools])


def _tool(tool: ToolSpec) -> dict[str, Any]:
    """A schema may combine others, but not at its top."""
    schema = {key: value for key, value in tool.parameters.items() if key not in _COMBINED}
    return {"name": tool.name, "description": tool.description, "input_schema": schema}

"""Messages to the bytes of a Chat Completions request, each message encoded once."""

import base64
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from shipmate.llm.chunks import mend
from shipmate.llm.conversation import broken
from shipmate.llm.invariants import MessageRules, check_tools
from shipmate.llm.model import CallPart, ChatMessage, Image, ModelInfo, ToolSpec

_json = msgspec.json.Encoder().encode


class RequestEncoder:
    """Builds the bodies of requests to one model.

    The same messages give the same bytes again, so that a provider's cache of prefixes holds,
    and a message that was sent before costs a pointer: what was encoded and checked for a
    conversation is kept as long as its first message is.
    """

    def __init__(
        self,
        info: ModelInfo,
        *,
        extra: Mapping[str, Any] | None = None,
        replay_reasoning: Literal["calls", "never"] = "never",
    ) -> None:
        provider, _, model = info.id.partition("/")
        self._provider = provider
        self._vision = info.vision
        self._replay = replay_reasoning == "calls"
        self._key = f"openai:{self._vision:d}{self._replay:d}:{provider}"
        self._head = b'{"model":' + _json(model) + b',"stream":true'
        extra = extra or {}
        self._extra = b"".join(b",%b:%b" % (_json(k), _json(v)) for k, v in extra.items())
        self._sent: weakref.WeakKeyDictionary[ChatMessage, _Sent] = weakref.WeakKeyDictionary()
        self._tools: tuple[list[ToolSpec], bytes] = ([], b"")

    def encode(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec], *, usage: bool = True
    ) -> bytes:
        """The body. `usage`: ask for the count of tokens (`stream_options`).

        Raises `ModelError` when the request would break a rule.
        """
        if not messages:
            raise broken(["there are no messages"])
        parts = [
            self._head,
            b',"stream_options":{"include_usage":true}' if usage else b"",
            b',"messages":[',
            self._messages(messages),
            b"]",
            self._encoded_tools(tools),
            self._extra,
            b"}",
        ]
        return b"".join(parts)

    def _messages(self, messages: Sequence[ChatMessage]) -> bytearray:
        first, rest = messages[0], list(messages[1:])
        sent = self._sent.get(first)
        if sent is None or rest[: len(sent.messages)] != sent.messages:
            sent = self._sent[first] = _Sent(MessageRules(self._vision, self._replay))
            self._add(sent, first)
        for message in rest[len(sent.messages) :]:
            sent.messages.append(message)
            self._add(sent, message)
        if rules := sent.rules.broken():
            raise broken(rules)
        return sent.joined

    def _add(self, sent: "_Sent", message: ChatMessage) -> None:
        sent.called = sent.called or bool(message.calls)
        key = f"{self._key}{sent.called:d}" if message.role == "assistant" else self._key
        wire = self._wire(message, sent.called)
        sent.rules.add(wire)
        found = message.encoded.get(key)
        if found is None:
            found = message.encoded[key] = sendable(wire)
        if sent.joined:
            sent.joined += b","
        sent.joined += found

    def _wire(self, message: ChatMessage, called: bool) -> dict[str, Any]:
        content: Any = message.text
        if message.images:
            content = self._pictures(message)
        wire: dict[str, Any] = {"role": message.role, "content": content}
        if message.role == "tool":
            wire["tool_call_id"] = message.call
            wire["content"] = content or "(no output)"
        if message.calls:
            wire["tool_calls"] = [_call(call) for call in message.calls]
        if self._replay and called and (message.calls or message.reasoning):
            own = message.model.partition("/")[0] in ("", self._provider)
            wire["reasoning_content"] = message.reasoning if own else ""
        return wire

    def _pictures(self, message: ChatMessage) -> Any:
        if self._vision:
            text = [{"type": "text", "text": message.text}] if message.text else []
            return [*text, *(_picture(image) for image in message.images)]
        return without_pictures(message)

    def _encoded_tools(self, tools: Sequence[ToolSpec]) -> bytes:
        if not tools:
            return b""
        offered = list(tools)
        if offered != self._tools[0]:
            wire = [_tool(spec) for spec in offered]
            if rules := check_tools({"tools": wire}):
                raise broken(rules)
            self._tools = offered, b',"tools":' + sendable(wire)
        return self._tools[1]


@dataclass(slots=True)
class _Sent:
    """What was made of a conversation so far; its first message is the key it is kept under."""

    rules: MessageRules
    messages: list[ChatMessage] = field(default_factory=list[ChatMessage])
    """All but the first."""
    joined: bytearray = field(default_factory=bytearray)
    """All of them as JSON, parted by commas; only ever appended to."""
    called: bool = False
    """The model has called tools: from here on its reasoning goes back."""


def without_pictures(message: ChatMessage) -> str:
    """The text for a model that sees no pictures: it is told their names."""
    if not message.images:
        return message.text
    names = ", ".join(image.name for image in message.images)
    return f"{message.text}\n[Left out, as this model sees no pictures: {names}]".strip()


def sendable(wire: Any) -> bytes:
    """The JSON of a value, whatever its texts hold."""
    try:
        return _json(wire)
    except UnicodeEncodeError:
        return _json(_mended(wire))


def _mended(value: Any) -> Any:
    """The value with lone surrogates, which JSON in UTF-8 cannot hold, replaced."""
    match value:
        case str():
            return mend(value)
        case {**fields}:
            return {mend(str(key)): _mended(inner) for key, inner in fields.items()}
        case [*items]:
            return [_mended(item) for item in items]
        case _:
            return value


def _call(call: CallPart) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _picture(image: Image) -> dict[str, Any]:
    data = base64.b64encode(image.data).decode()
    return {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{data}"}}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}

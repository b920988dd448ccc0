"""Messages to the bytes of a request to Gemini, each message encoded once."""

import base64
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from shipmate.llm.conversation import Checked, Kept, broken
from shipmate.llm.encoding import sendable, without_pictures
from shipmate.llm.endpoint import Endpoint
from shipmate.llm.gemini.reader import PREFIX, GeminiReader
from shipmate.llm.gemini.thinking import signs_calls
from shipmate.llm.invariants import check_tools
from shipmate.llm.model import CallPart, ChatMessage, Image, ModelInfo, ToolSpec
from shipmate.protocol import Signed

UNSIGNED = "skip_thought_signature_validator"
"""Stands for the signature of a call that another model made, as Google's documentation says."""


class GeminiWire:
    """`streamGenerateContent`. Its cache of prefixes needs no word."""

    def __init__(self, info: ModelInfo, endpoint: Endpoint) -> None:
        _, _, self._model = info.id.partition("/")
        self._info = info
        self._end = endpoint
        base, name = endpoint.base_url.rstrip("/"), quote(self._model, safe="")
        self.url = f"{base}/models/{name}:streamGenerateContent?alt=sse"
        self.headers: Mapping[str, str] = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            **({"x-goog-api-key": endpoint.api_key} if endpoint.api_key else {}),
        }
        self._extra = _configured(dict(endpoint.extra))
        self._key = f"gemini:{info.vision:d}:{info.id}:"
        self._checked = Checked()
        self._tools = Kept(_tools)

    def reader(self) -> GeminiReader:
        return GeminiReader(self._end.name)

    def body(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ToolSpec],
        bare: Collection[ChatMessage],
    ) -> bytes:
        self._checked.check(messages)
        system = b"".join(_system(m) for m in messages if m.role == "system")
        names = {c.id: c.name for m in messages for c in m.calls}
        contents = b",".join(self._contents(messages, bare, names))
        extra = sendable(self._extra)[1:-1]
        pieces = (b'{"contents":[', contents, b"]", system, self._tools.of(tuple(tools)))
        return b"".join((*pieces, b"," if extra else b"", extra, b"}"))

    def _contents(
        self, messages: Sequence[ChatMessage], bare: Collection[ChatMessage], names: dict[str, str]
    ) -> Iterator[bytes]:
        """Results stand together, directly after their calls."""
        results: list[bytes] = []
        for message in messages:
            if message.role == "system":
                continue
            parts = self._parts(message, bare, names)
            if message.role == "tool":
                results.append(parts)
                continue
            if results:
                yield _content(b"user", b",".join(results))
                results.clear()
            yield _content(b"model" if message.role == "assistant" else b"user", parts)
        if results:
            yield _content(b"user", b",".join(results))

    def _parts(
        self, message: ChatMessage, bare: Collection[ChatMessage], names: dict[str, str]
    ) -> bytes:
        own = message.model == self._info.id and message not in bare
        key = f"{self._key}{own:d}"
        found = message.encoded.get(key)
        if found is None:
            parts = list(self._made(message, message.signed if own else (), names))
            found = message.encoded[key] = sendable(parts)[1:-1]
        return found

    def _made(
        self, message: ChatMessage, signed: Sequence[Signed], names: dict[str, str]
    ) -> Iterator[dict[str, Any]]:
        match message.role:
            case "assistant":
                yield from self._said(message, signed)
            case "tool":
                name = sent_name(names.get(message.call, "unknown"))
                output = {"output": message.text or "(no output)"}
                yield {"functionResponse": {"id": message.call, "name": name, "response": output}}
            case _:
                text = message.text if self._info.vision else without_pictures(message)
                if text.strip() or not message.images:
                    yield {"text": text}
                if self._info.vision:
                    yield from map(_picture, message.images)

    def _said(self, message: ChatMessage, signed: Sequence[Signed]) -> Iterator[dict[str, Any]]:
        """The parts of a reply, each with its own signature."""
        text = message.text
        for piece in (piece for piece in signed if piece.kind == "text"):
            part, text = text[: piece.size], text[piece.size :]
            yield {"text": part, **_signature(piece.signature)}
        if text.strip():
            yield {"text": text}
        marks = [piece.signature for piece in signed if piece.kind == "call"]
        if not any(marks) and signs_calls(self._model):
            marks = [UNSIGNED]
        for at, call in enumerate(message.calls):
            yield {**_call(call), **_signature(marks[at] if at < len(marks) else "")}


def sent_name(name: str) -> str:
    """The name of a tool as Gemini takes it: it begins with a letter or `_`."""
    return name if re.match("[A-Za-z_]", name) else PREFIX + name


def _content(role: bytes, parts: bytes) -> bytes:
    return b'{"role":"%b","parts":[%b]}' % (role, parts)


def _signature(mark: str) -> dict[str, str]:
    return {"thoughtSignature": mark} if mark else {}


def _call(call: CallPart) -> dict[str, Any]:
    given = msgspec.Raw(call.arguments.encode("utf-8", "replace"))
    return {"functionCall": {"id": call.id, "name": sent_name(call.name), "args": given}}


def _picture(image: Image) -> dict[str, Any]:
    data = base64.b64encode(image.data).decode()
    return {"inlineData": {"mimeType": image.media_type, "data": data}}


def _system(message: ChatMessage) -> bytes:
    if not message.text.strip():
        return b""
    return b',"systemInstruction":{"parts":[' + sendable({"text": message.text}) + b"]}"


def _tools(tools: Sequence[ToolSpec]) -> bytes:
    if not tools:
        return b""
    functions = [
        {"function": {"name": t.name, "description": t.description, "parameters": t.parameters}}
        for t in tools
    ]
    if rules := check_tools({"tools": functions}):
        raise broken(rules)
    declared = [
        {
            "name": sent_name(tool.name),
            "description": tool.description,
            "parametersJsonSchema": tool.parameters,
        }
        for tool in tools
    ]
    return b',"tools":' + sendable([{"functionDeclarations": declared}])


def _configured(extra: dict[str, Any]) -> dict[str, Any]:
    """The fields of a request; how long a reply may be, and how it thinks, stand further in."""
    most, thinking = extra.pop("max_tokens", 0), extra.pop("thinkingConfig", None)
    inner: dict[str, Any] = {
        **({"maxOutputTokens": most} if most else {}),
        **({"thinkingConfig": thinking} if thinking else {}),
        **extra.pop("generationConfig", {}),
    }
    return {**extra, **({"generationConfig": inner} if inner else {})}

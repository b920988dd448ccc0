"""The shape of a streamed chunk: a strict, fast reader, and a lenient one for what is odd."""

import json
from typing import Any, cast

import msgspec
from msgspec import Struct


class Function(Struct, gc=False):
    name: str | None = None
    arguments: str | None = None


class CallPiece(Struct, gc=False):
    index: int | None = None
    id: str | None = None
    function: Function | None = None
    name: str | None = None
    arguments: Any = None
    """`name` and `arguments` stand here in the answers of a few servers."""


class Detail(Struct, gc=False):
    text: str | None = None


class Delta(Struct, gc=False):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[Detail] | None = None
    tool_calls: list[CallPiece] | None = None
    function_call: Function | None = None


class Choice(Struct, gc=False):
    index: int | None = None
    delta: Delta | None = None
    message: Delta | None = None
    """Of an answer that is not a stream."""
    finish_reason: str | None = None


class Chunk(Struct, gc=False):
    choices: list[Choice] | None = None
    usage: Any = None
    error: Any = None
    message: Any = None
    detail: Any = None
    """`message` and `detail` stand in errors of some servers."""


_decode_all = msgspec.json.Decoder(list[Chunk]).decode
_decode_one = msgspec.json.Decoder(Chunk).decode
DONE = b"[DONE]"


def read_chunks(events: list[bytes]) -> tuple[list[Chunk], int]:
    """The chunks in the data of `events`, and how many could not be read at all."""
    try:
        return _decode_all(b"[%b]" % b",".join(events)), 0
    except (msgspec.DecodeError, RecursionError):
        found = [_read(event) for event in events]
        return [chunk for chunk in found if chunk is not None], found.count(None)


def _read(event: bytes) -> Chunk | None:
    try:
        return _decode_one(event)
    except (msgspec.DecodeError, RecursionError):
        return _lenient(event)


def _lenient(event: bytes) -> Chunk | None:
    """Whatever can be understood; None for what is no JSON object."""
    try:
        value = json.loads(event.decode(errors="replace"), strict=False)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    given = cast("dict[str, Any]", value)
    choices = [_choice(choice) for choice in _dicts(given.get("choices"))]
    extra = {name: given.get(name) for name in ("usage", "error", "message", "detail")}
    return Chunk(choices=choices, **extra)


def _choice(given: dict[str, Any]) -> Choice:
    return Choice(
        index=_number(given.get("index")),
        delta=_delta(given.get("delta")),
        message=_delta(given.get("message")),
        finish_reason=_text(given.get("finish_reason")),
    )


def _delta(given: Any) -> Delta | None:
    if not isinstance(given, dict):
        return None
    delta = cast("dict[str, Any]", given)
    function = delta.get("function_call")
    return Delta(
        content=_text(delta.get("content")),
        reasoning_content=_text(delta.get("reasoning_content")),
        reasoning=_text(delta.get("reasoning")),
        reasoning_details=[
            Detail(_text(part.get("text"))) for part in _dicts(delta.get("reasoning_details"))
        ],
        tool_calls=[_piece(call) for call in _dicts(delta.get("tool_calls"))],
        function_call=_function(function) if function else None,
    )


def _piece(given: dict[str, Any]) -> CallPiece:
    return CallPiece(
        index=_number(given.get("index")),
        id=_text(given.get("id")),
        function=_function(given.get("function") or given),
    )


def _function(given: Any) -> Function:
    function = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    arguments = function.get("arguments")
    if isinstance(arguments, dict | list):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return Function(_text(function.get("name")), _text(arguments))


def flat_function(piece: CallPiece) -> Function:
    """The function of a piece whose name and arguments do not stand under `function`."""
    return _function({"name": piece.name, "arguments": piece.arguments})


def _dicts(given: Any) -> list[dict[str, Any]]:
    items = cast("list[Any]", given) if isinstance(given, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]


def _text(given: Any) -> str | None:
    """A text, also one that comes as a list of parts."""
    if isinstance(given, list):
        parts = [
            part if isinstance(part, str) else _text(cast("dict[str, Any]", part).get("text"))
            for part in cast("list[Any]", given)
            if isinstance(part, str | dict)
        ]
        return "".join(part for part in parts if part)
    if isinstance(given, int | float) and not isinstance(given, bool):
        return str(given)
    return given if isinstance(given, str) else None


def _number(given: Any) -> int | None:
    if isinstance(given, str) and given.isdecimal():
        return int(given)
    return given if isinstance(given, int) and not isinstance(given, bool) else None


class Mender:
    """Joins halves of characters that came apart: an escaped UTF-16 surrogate in one chunk,
    its other half in the next. A half that stays alone becomes U+FFFD."""

    def __init__(self) -> None:
        self._high = ""

    def feed(self, text: str) -> str:
        text = self._high + text
        self._high = ""
        if text.isascii():
            return text
        if "\ud800" <= text[-1] <= "\udbff":
            self._high, text = text[-1], text[:-1]
        return mend(text)

    def end(self) -> str:
        high, self._high = self._high, ""
        return mend(high)


def mend(text: str) -> str:
    """`text` with pairs of surrogates as one character, and lone ones as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text

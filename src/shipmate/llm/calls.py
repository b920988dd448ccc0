"""Tool calls put together from streamed pieces, whatever the provider numbers them by."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from shipmate.llm.chunks import CallPiece, Function, flat_function, mend
from shipmate.llm.model import FunctionCall

_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n?```", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]+|\\.)*+("?)', re.DOTALL)
"""A string of JSON; group 1 is empty when it does not end."""


@dataclass(slots=True)
class _Slot:
    """A call in the making."""

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list[str])

    @property
    def raw(self) -> str:
        return mend("".join(self.pieces))

    @property
    def whole(self) -> bool:
        """Its arguments are a complete object. Looks at the last piece first: cheap."""
        if not self.pieces or not self.pieces[-1].rstrip().endswith("}"):
            return False
        return parse_arguments(self.raw) is not None


class Calls:
    """The calls of one reply, in the order in which they began.

    A piece belongs to the call of its index, else of its id, else to the last one. A fresh id
    or a fresh name opens a call, also under an index that was used before.
    """

    def __init__(self) -> None:
        self.slots: list[_Slot] = []
        self._by_index: dict[int, _Slot] = {}

    def add(self, piece: CallPiece) -> None:
        function = piece.function or flat_function(piece)
        slot = self._slot(piece, (function.name or "").strip())
        slot.id = slot.id or piece.id or ""
        _name(slot, (function.name or "").strip())
        if function.arguments:
            slot.pieces.append(function.arguments)

    def add_legacy(self, function: Function) -> None:
        """A piece of the one `function_call` of the older protocol."""
        self.add(CallPiece(index=-1, function=function))

    def _slot(self, piece: CallPiece, name: str) -> _Slot:
        if piece.index is not None:
            return self._of_index(piece.index, piece.id or "", name)
        known = self._of_id(piece.id) if piece.id else (self.slots[-1] if self.slots else None)
        if known is None or (name and _is_another(known, piece, name)):
            return self._open()
        return known

    def _of_index(self, index: int, name_id: str, name: str) -> _Slot:
        known = self._by_index.get(index)
        fresh = bool(name) and (
            known is None or (name_id not in ("", known.id) and known.id != "") or known.whole
        )
        if known is not None and not fresh:
            return known
        if known is None and not fresh and not name_id and self.slots:
            return self.slots[-1]  # a server that counts pieces, not calls
        slot = self._by_index[index] = self._open()
        return slot

    def _of_id(self, wanted: str) -> _Slot | None:
        return next((slot for slot in reversed(self.slots) if slot.id == wanted), None)

    def _open(self) -> _Slot:
        self.slots.append(_Slot())
        return self.slots[-1]

    def finish(self) -> tuple[FunctionCall, ...]:
        """The calls that have a name."""
        return tuple(
            FunctionCall(slot.name, parse_arguments(slot.raw), slot.raw)
            for slot in self.slots
            if slot.name
        )

    @property
    def nameless(self) -> int:
        return sum(not slot.name for slot in self.slots)

    @property
    def cut(self) -> bool:
        """The last call ends in the middle of its arguments."""
        return bool(self.slots) and _is_open(self.slots[-1].raw)


def _is_another(known: _Slot, piece: CallPiece, name: str) -> bool:
    """Whether a piece with a name, but no index, begins another call than `known`."""
    if piece.id:
        return known.whole
    return bool(known.name) and (name != known.name or known.whole)


def _name(slot: _Slot, name: str) -> None:
    """Names come whole, in pieces before the arguments, or again with every piece."""
    if not name or slot.pieces or name == slot.name:
        slot.name = slot.name or name
    elif name.startswith(slot.name):
        slot.name = name
    else:
        slot.name += name


def parse_arguments(raw: str) -> Mapping[str, Any] | None:
    """The object that `raw` is, or None. Lenient for no arguments at all and for a fence
    around them, else strict: nothing is guessed for a tool that writes."""
    text = raw.strip()
    if text in ("", "null"):
        return {}
    if fenced := _FENCE.fullmatch(text):
        text = fenced[1].strip()
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _is_open(raw: str) -> bool:
    """Whether `raw` begins an object and ends before the object does."""
    text = raw.strip()
    if not text.startswith("{"):
        return False
    if any(not string[1] for string in _STRING.finditer(text)):
        return True
    bare = _STRING.sub("", text)
    return bare.count("{") > bare.count("}")

"""Events decoded together, and what does not fit read leniently, one by one."""

import json
from collections.abc import Sequence
from typing import Any, Generic, TypeVar, cast, get_args

import msgspec

T = TypeVar("T", bound=msgspec.Struct)


class EventDecoder(Generic[T]):
    """Data of events to structures of one kind. A field of the wrong type counts as absent."""

    def __init__(self, kind: type[T]) -> None:
        self._kind = kind
        every: Any = list[kind]  # pyright: ignore[reportInvalidTypeForm] - made while running
        self._all = msgspec.json.Decoder[list[T]](every).decode
        self._one = msgspec.json.Decoder(kind).decode

    def __call__(self, events: Sequence[bytes]) -> tuple[list[T], int]:
        """The structures, and how many events could not be read at all."""
        try:
            return self._all(b"[%b]" % b",".join(events)), 0
        except (msgspec.DecodeError, RecursionError):
            found = [self._read(event) for event in events]
            return [one for one in found if one is not None], found.count(None)

    def _read(self, event: bytes) -> T | None:
        try:
            return self._one(event)
        except (msgspec.DecodeError, RecursionError):
            return self._lenient(event)

    def _lenient(self, event: bytes) -> T | None:
        try:
            value = json.loads(event.decode(errors="replace"), strict=False)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict):
            return None
        return cast("T", fitting(cast("dict[str, Any]", value), self._kind))


def fitting(given: dict[str, Any], kind: type[msgspec.Struct]) -> msgspec.Struct:
    """The structure that `given` holds, as far as its fields have the right types."""
    taken: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        if field.encode_name not in given:
            continue
        try:
            taken[field.name] = _field(given[field.encode_name], field.type)
        except msgspec.ValidationError:
            continue
    return kind(**taken)


def _field(value: Any, kind: Any) -> Any:
    inner = next((one for one in _arguments(kind) if one is not type(None)), kind)
    if _is_struct(inner):
        if isinstance(value, dict):
            return fitting(cast("dict[str, Any]", value), inner)
        raise msgspec.ValidationError
    items = [one for one in _arguments(inner) if _is_struct(one)]
    if isinstance(value, list) and items:
        found = cast("list[Any]", value)
        return [fitting(cast("dict[str, Any]", o), items[0]) for o in found if isinstance(o, dict)]
    return msgspec.convert(value, kind)


def _arguments(kind: Any) -> tuple[Any, ...]:
    return get_args(kind)


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)

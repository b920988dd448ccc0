"""Schemas of tools as every model provider accepts them. The original stays for validation."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, cast

import msgspec

from shipmate.mcp.foreign import as_list, as_object

Schema: TypeAlias = Mapping[str, Any]

DEPTH = 12
"""Nesting that is kept; what lies deeper is any value."""
MOST_BYTES = 32_768
"""Of one schema as it is sent."""
_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_KEPT = frozenset(
    "type description enum const default minimum maximum minLength maxLength minItems maxItems"
    " title format examples".split()
)
_UNIONS = ("anyOf", "oneOf", "allOf")
EMPTY: dict[str, Any] = {"type": "object", "properties": {}}


def repaired(original: Any) -> dict[str, Any]:
    """A schema of an object: `type`, `properties` and every array's `items` are there, references
    are written out, `required` names only what there is, and nothing exotic is left."""
    if not isinstance(original, dict):
        return dict(EMPTY)
    root = cast("dict[str, Any]", original)
    made = _Repair(root).object(root, 0)
    return made if len(msgspec.json.encode(made)) <= MOST_BYTES else dict(EMPTY)


class _Repair:
    def __init__(self, root: Schema) -> None:
        self._root = root
        self._left = 2_000
        """Schemas that may still be written out: references can multiply."""

    def object(self, schema: Schema, depth: int) -> dict[str, Any]:
        """A schema of an object, with the properties of all branches it may have."""
        properties: dict[str, Any] = {}
        required: list[str] = []
        for one in self._branches(schema, depth):
            for name, inner in as_object(one.get("properties")).items():
                properties.setdefault(str(name), self.any(inner, depth + 1))
        for name in as_list(self._target(schema).get("required")):
            if isinstance(name, str) and name in properties and name not in required:
                required.append(name)
        made = _described(schema) | {"type": "object", "properties": properties}
        if required:
            made["required"] = required
        if isinstance(additional := schema.get("additionalProperties"), bool):
            made["additionalProperties"] = additional
        return made

    def any(self, given: Any, depth: int) -> dict[str, Any]:
        self._left -= 1
        if not isinstance(given, dict) or depth > DEPTH or self._left < 0:
            return {}
        schema = self._target(cast("Schema", given))
        kind = _kind(schema)
        if kind == "object" or (kind is None and isinstance(schema.get("properties"), dict)):
            return self.object(schema, depth)
        made = {k: v for k, v in schema.items() if k in _KEPT and _sound(k, v)}
        if kind is not None:
            made["type"] = kind
        if _speaks_of(kind, "array") or (kind is None and "items" in schema):
            items = schema.get("items")
            made |= {"type": kind or "array", "items": self.any(items, depth + 1)}
        for word in ("anyOf", "oneOf") if kind is None else ():
            if branches := as_list(schema.get(word)):
                made["anyOf"] = [self.any(one, depth + 1) for one in branches[:20]]
                break
        return made

    def _branches(self, schema: Schema, depth: int) -> Iterator[Schema]:
        target = self._target(schema)
        yield target
        for word in _UNIONS if depth <= DEPTH else ():
            for one in as_list(target.get(word)):
                self._left -= 1
                if isinstance(one, dict) and self._left > 0:
                    yield from self._branches(cast("Schema", one), depth + 1)

    def _target(self, schema: Schema) -> Schema:
        """What a reference within the schema stands for, its own description kept."""
        target = schema
        for _ in range(DEPTH):
            reference = target.get("$ref")
            if not isinstance(reference, str):
                break
            target = as_object(self._at(reference))
        return {**target, **_described(schema)} if target is not schema else schema

    def _at(self, reference: str) -> Any:
        place: Any = self._root
        if not reference.startswith("#"):
            return None
        for word in filter(None, reference[1:].split("/")):
            key = word.replace("~1", "/").replace("~0", "~")
            place = cast("Schema", place).get(key) if isinstance(place, dict) else None
        return place


def _described(schema: Schema) -> dict[str, Any]:
    text = schema.get("description")
    return {"description": text} if isinstance(text, str) else {}


def _kind(schema: Schema) -> Any:
    """The type, or the types, that are ones; None where there are none."""
    kind = schema.get("type")
    if isinstance(kind, list):
        known = [k for k in cast("list[Any]", kind) if isinstance(k, str) and k in _TYPES]
        return known[0] if len(known) == 1 else known or None
    return kind if isinstance(kind, str) and kind in _TYPES else None


def _speaks_of(kind: Any, word: str) -> bool:
    return kind == word or (isinstance(kind, list) and word in kind)


def _sound(key: str, value: Any) -> bool:
    match key:
        case "enum":
            return bool(as_list(value))
        case "description" | "title" | "format":
            return isinstance(value, str)
        case "minimum" | "maximum" | "minLength" | "maxLength" | "minItems" | "maxItems":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "examples":
            return isinstance(value, list)
        case _:
            return True

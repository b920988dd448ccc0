"""The OpenAPI document, made from the route table: what is not in the table is not in the API."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, inspect

from shipmate import __version__
from shipmate.handlers.errors import PROBLEM, Problem
from shipmate.handlers.route import Endpoint
from shipmate.protocol import AnyBlock, AnyEvent, Block

_REF = "#/components/schemas/{name}"
_UNIONS = {"AnyEvent": AnyEvent, "AnyBlock": AnyBlock}
_ON_EVERY_KEPT_BLOCK = ("id", "pos", "seq", "at", "session")
_SECURITY = {
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "shipmate-8765",
        "description": "Set by /api/auth/exchange; its name ends with the server's port.",
    },
    "header": {"type": "apiKey", "in": "header", "name": "X-Shipmate-Token"},
    "bearer": {"type": "http", "scheme": "bearer"},
}


def describe(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """OpenAPI 3.1, events included: an event stream's answer refers to `AnyEvent`."""
    table = [one for one in endpoints if one.path.startswith("/api/")]
    types = _types(table)
    schemas, components = msgspec.json.schema_components(
        [*types, *_UNIONS.values()], ref_template=_REF
    )
    for name, union in zip(_UNIONS, schemas[len(types) :], strict=True):
        components[name] = union
    _require_what_is_always_there(types, components)
    schema_of = dict(zip(types, schemas, strict=False))
    paths: dict[str, dict[str, Any]] = {}
    for one in table:
        operation = _operation(one, schema_of, components)
        paths.setdefault(one.path, {})[one.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "shipmate", "version": __version__},
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": _SECURITY,
        },
    }


def _types(table: Iterable[Endpoint]) -> list[Any]:
    types: dict[Any, None] = {Problem: None}
    for one in table:
        types |= dict.fromkeys(t for t in (one.body, one.query, one.answer) if t is not None)
    return list(types)


def _operation(
    one: Endpoint, schema_of: Mapping[Any, Any], components: Mapping[str, Any]
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.description.partition("\n")[0],
        "description": one.description,
        "tags": [one.path.split("/")[2]],
        "x-scope": one.scope,
        "security": [] if one.scope == "public" else [{"cookie": [], "header": []}, {"bearer": []}],
        "responses": {
            str(one.status if one.answer or one.stream else 204): _success(one, schema_of),
            "default": {
                "description": "What is wrong, where, and what to do.",
                "content": {PROBLEM: {"schema": schema_of[Problem]}},
            },
        },
    }
    if one.deprecated:
        operation["deprecated"] = True
    if parameters := [*_path_parameters(one.path), *_query_parameters(one, schema_of, components)]:
        operation["parameters"] = parameters
    if one.body is not None:
        content = {"application/json": {"schema": schema_of[one.body]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _success(one: Endpoint, schema_of: Mapping[Any, Any]) -> dict[str, Any]:
    if one.stream:
        named = {"$ref": _REF.format(name="AnyEvent")}
        schema = named if one.answer is AnyEvent else schema_of[one.answer]
        return {
            "description": "Events until the end.",
            "content": {"text/event-stream": {"schema": schema}},
        }
    if one.answer is None:
        return {"description": "Done."}
    return {
        "description": "Done.",
        "content": {"application/json": {"schema": schema_of[one.answer]}},
    }


def _path_parameters(path: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"\{(\w+)\}", path)
    ]


def _query_parameters(
    one: Endpoint, schema_of: Mapping[Any, Any], components: Mapping[str, Any]
) -> list[dict[str, Any]]:
    if one.query is None:
        return []
    schema = components[schema_of[one.query]["$ref"].rpartition("/")[2]]
    return [
        {"name": name, "in": "query", "required": name in schema["required"], "schema": kind}
        for name, kind in schema["properties"].items()
    ]


def _require_what_is_always_there(types: Iterable[Any], components: dict[str, Any]) -> None:
    """A struct that writes its defaults has every field in every answer, and a block that left
    the server has been kept; msgspec's schema only tells what a reader may leave out."""
    for cls in _structs(types):
        if (schema := components.get(cls.__name__)) is not None:
            schema["required"] = sorted({*schema["required"], *_always(cls)})


def _always(cls: type[msgspec.Struct]) -> Iterable[str]:
    if issubclass(cls, Block):
        return _ON_EVERY_KEPT_BLOCK
    config = cls.__struct_config__
    if config.omit_defaults or config.forbid_unknown_fields:
        return ()
    fields = msgspec.structs.fields(cls)
    return [field.encode_name for field in fields if field.default is not UNSET]


def _structs(types: Iterable[Any]) -> set[type[msgspec.Struct]]:
    """Every struct that is reached from `types`."""
    found: set[type[msgspec.Struct]] = set()
    todo: list[Any] = list(inspect.multi_type_info([*types, AnyEvent]))
    while todo:
        kind = todo.pop()
        if isinstance(kind, inspect.StructType):
            if kind.cls in found:
                continue
            found.add(kind.cls)
            todo += [field.type for field in kind.fields]
        else:
            todo += _inside(kind)
    return found


def _inside(kind: inspect.Type) -> list[inspect.Type]:
    match kind:
        case inspect.UnionType(types=types):
            return list(types)
        case inspect.TupleType(item_types=types):
            return list(types)
        case inspect.DictType(value_type=value):
            return [value]
        case _:
            item = getattr(kind, "item_type", None)
            return [item] if isinstance(item, inspect.Type) else []

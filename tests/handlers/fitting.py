"""What an endpoint would take: a path, and the least body that fits its declaration."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import inspect

from shipmate.handlers.route import Endpoint


def target(one: Endpoint, **names: str) -> str:
    """The path with its parameters filled in; `x` where none is given."""
    return re.sub(r"\{(\w+)(?::path)?\}", lambda found: names.get(found[1], "x"), one.path)


def body_of(one: Endpoint, **fields: Any) -> dict[str, Any]:
    """Every required field, and those of `fields` that the body has."""
    return {} if one.body is None else fitting(one.body, fields)


def query_of(one: Endpoint, **fields: Any) -> dict[str, Any]:
    return {} if one.query is None else fitting(one.query, fields)


def fitting(kind: type[msgspec.Struct], fields: Mapping[str, Any]) -> dict[str, Any]:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    made = {f.encode_name: _value(f.type) for f in info.fields if f.required}
    known = {f.encode_name for f in info.fields}
    return made | {name: value for name, value in fields.items() if name in known}


def _value(kind: inspect.Type) -> Any:
    match kind:
        case inspect.BoolType():
            return True
        case inspect.IntType(ge=least):
            return least or 1
        case inspect.LiteralType(values=values):
            return values[0]
        case inspect.UnionType(types=types):
            return _value(types[0])
        case inspect.StructType(cls=cls):
            return fitting(cls, {})
        case inspect.DictType():
            return {}
        case inspect.VarTupleType() | inspect.ListType():
            return []
        case _:
            return "x"

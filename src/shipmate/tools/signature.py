"""The arguments of a tool and their schema, from the signature of its function."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast, get_type_hints

import msgspec


def arguments_of(function: Callable[..., Any]) -> type[msgspec.Struct]:
    hints = get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    fields = [
        (p.name, hints[p.name]) if p.default is p.empty else (p.name, hints[p.name], p.default)
        for p in parameters
    ]
    return msgspec.defstruct(
        function.__name__, fields, kw_only=True, rename="camel", forbid_unknown_fields=True
    )


def schema_of(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """The schema whole, without references, as every provider accepts it."""
    (schema,), components = msgspec.json.schema_components([arguments], ref_template="{name}")
    return _inlined(schema, components)


def _inlined(schema: Any, components: Mapping[str, Any]) -> Any:
    match schema:
        case {"$ref": str(name)}:
            return _inlined(components[name], components)
        case dict():
            pairs = cast("dict[str, Any]", schema).items()
            made = {
                k: _inlined(v, components)
                for k, v in pairs
                if k != "title" or not isinstance(v, str)
            }
            if all(isinstance(word, str) for word in made.get("enum", (None,))):
                made.setdefault("type", "string")  # some providers want it beside `enum`
            return made
        case list():
            return [_inlined(item, components) for item in cast("list[Any]", schema)]
        case _:
            return schema

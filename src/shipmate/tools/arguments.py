"""From what a model wrote to the arguments of a tool: tolerant of spelling, never of meaning."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, TypeAlias, cast

import msgspec

from shipmate.tools.tool import Tool, ToolError

Schema: TypeAlias = Mapping[str, Any]

_FAMILIES = (
    (
        *("path", "filepath", "file", "filename", "absolutepath"),
        *("directory", "folder", "dir", "dirpath"),
    ),
    ("startline", "offset", "linestart", "fromline"),
    ("endline", "lineend", "toline"),
    ("url", "urls", "uri", "link", "links", "address"),
    ("query", "pattern", "regex", "search"),
    ("isregexp", "isregex", "regexp"),
    ("includepattern", "include", "glob"),
    ("maxresults", "limit", "maxcount"),
    ("content", "contents", "filetext", "text"),
    ("oldstring", "oldstr", "oldtext"),
    ("newstring", "newstr", "newtext"),
    ("command", "cmd"),
    ("timeoutseconds", "timeout"),
    ("backgroundid", "id"),
)
"""Spellings that mean the same parameter, without case, `_` and `-`."""
_JSON_TYPES: dict[type, frozenset[str]] = {
    bool: frozenset({"boolean"}),
    int: frozenset({"integer", "number"}),
    float: frozenset({"number"}),
    str: frozenset({"string"}),
    list: frozenset({"array"}),
    dict: frozenset({"object"}),
    type(None): frozenset({"null"}),
}
_JOINTS = str.maketrans("", "", "_- ")
_FENCE = re.compile(r"```[a-z]*\s*\n(.*)\n\s*```", re.DOTALL)
_FAULT = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<where>.*)`)?", re.DOTALL)
_FIELD = re.compile(r"Object (?P<fault>missing required|contains unknown) field `(?P<name>.*)`")


def parse_arguments(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Parameter names to values for `tool.run` and `tool.judge`.

    Strictly as the schema says first; then with other spellings of the names; then, where the
    schema wants something else than a string, a string that holds JSON is read (reports STR-31),
    one string is a list of one, and 2.0 is 2. A parameter that is a string is never parsed.
    Raises `ToolError`.
    """
    _no_halves(tool, arguments)
    fitted = dict(arguments)
    fault = ""
    for parse in (None, False, True):
        if parse is not None:
            fitted = _fitted(fitted, tool.parameters, parse=parse)
        if tool.fits is not None:
            if not (fault := tool.fits(fitted)):
                return fitted
            continue
        try:
            made = msgspec.convert(fitted, tool.arguments)
        except msgspec.ValidationError as error:
            fault = str(error)
        else:
            return {name: getattr(made, name) for name in made.__struct_fields__}
    raise ToolError(_explained(tool, fault))


def requiring(*names: str) -> Callable[[Tool], Tool]:
    """Parameters that a tool's schema requires, although a call without them is understood."""

    def require(tool: Tool) -> Tool:
        required = [*tool.parameters.get("required", ()), *names]
        return replace(tool, parameters={**tool.parameters, "required": required})

    return require


def parse_raw(tool: Tool, raw: str) -> dict[str, Any]:
    """The object in arguments that were no JSON object when they came: empty text is `{}` and
    a code fence is taken off. Anything else is a `ToolError`: arguments are never guessed."""
    text = raw.strip()
    if fenced := _FENCE.fullmatch(text):
        text = fenced[1]
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        what = f"The arguments of {tool.name} are not a JSON object ({error}); nothing was done."
        raise ToolError(f"{what} Write them as plain JSON. {_example(tool)}") from error


def _no_halves(tool: Tool, arguments: Mapping[str, Any]) -> None:
    try:
        msgspec.json.encode(arguments)
    except UnicodeEncodeError as error:
        what = f"The arguments of {tool.name} hold half a surrogate pair ({error.reason})"
        raise ToolError(f"{what}; write the whole character.") from error


# --- fitting ------------------------------------------------------------------------------


def _fitted(value: dict[str, Any], schema: Schema, *, parse: bool) -> dict[str, Any]:
    """An object with its keys spelled as the schema does, and its values fitted."""
    properties: Mapping[str, Schema] = schema.get("properties", {})
    required = schema.get("required", ())
    fitted: dict[str, Any] = {}
    for key, item in _renamed(value, properties).items():
        wanted = properties.get(key, {})
        if item is None and key not in required and "null" not in _types(wanted):
            continue
        fitted[key] = _fit(item, wanted, parse=parse)
    return fitted


def _renamed(value: dict[str, Any], properties: Mapping[str, Schema]) -> dict[str, Any]:
    """Another spelling gives way to the right one; two values for one stay an error."""
    renamed = {key: item for key, item in value.items() if key in properties}
    for key, item in value.items():
        if key in properties:
            continue
        name = _meant(key, properties)
        if name in renamed:
            name = name if renamed[name] == item else key
        renamed[name] = item
    return renamed


def _meant(key: str, properties: Mapping[str, Schema]) -> str:
    plain = {_plain(name): name for name in properties}
    if _plain(key) in plain:
        return plain[_plain(key)]
    for family in _FAMILIES:
        if _plain(key) in family:
            return next((plain[word] for word in family if word in plain), key)
    return key


def _plain(name: str) -> str:
    return name.translate(_JOINTS).lower()


def _fit(value: Any, schema: Schema, *, parse: bool) -> Any:
    types = _types(schema)
    if parse and isinstance(value, str) and types and "string" not in types:
        value = _unquoted(value, types)
    if parse and isinstance(value, str) and (words := schema.get("enum")):
        return next((word for word in words if _plain(str(word)) == _plain(value)), value)
    if isinstance(value, float) and parse and "number" not in types and value.is_integer():
        return int(value)
    if parse and isinstance(value, str) and types == frozenset({"array"}):
        items = _branch(schema, "array").get("items", {})
        value = [value] if "string" in _types(items) else value
    if isinstance(value, dict):
        branch = _branch(schema, "object")
        return _fitted(cast("dict[str, Any]", value), branch, parse=parse)
    if isinstance(value, list):
        items = _branch(schema, "array").get("items", {})
        return [_fit(item, items, parse=parse) for item in cast("list[Any]", value)]
    return value


def _unquoted(value: str, types: frozenset[str]) -> Any:
    """What the JSON in a string says, if it is of a wanted type; else the string."""
    text = value.strip()
    text = text.lower() if text in {"True", "False"} else text
    try:
        parsed = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return value
    return parsed if _type_of(parsed) & types else value


def _type_of(value: Any) -> frozenset[str]:
    if isinstance(value, float) and value.is_integer():
        return frozenset({"number", "integer"})
    return _JSON_TYPES[type(value)]


def _types(schema: Schema) -> frozenset[str]:
    """The JSON types a schema allows; empty when it does not say."""
    found: set[str] = set()
    match schema.get("type"):
        case str(one):
            found.add(one)
        case list():
            found.update(cast("list[str]", schema["type"]))
        case _:
            for value in schema.get("enum", ()):
                found |= _type_of(value)
    for branch in _branches(schema):
        found |= _types(branch)
    return frozenset(found)


def _branches(schema: Schema) -> list[Schema]:
    return [*schema.get("anyOf", ()), *schema.get("oneOf", ())]


def _branch(schema: Schema, kind: str) -> Schema:
    """The part of a schema that speaks of objects, or of arrays."""
    return next((b for b in _branches(schema) if kind in _types(b)), schema)


# --- explaining ---------------------------------------------------------------------------


def _explained(tool: Tool, fault: str) -> str:
    """Which field is wrong, what was expected, and a correct call."""
    found = _FAULT.fullmatch(fault)
    what, where = (found["what"], found["where"] or "") if found else (fault, "")
    if field := _FIELD.fullmatch(what):
        name = f"{where}.{field['name']}" if where else field["name"]
        if field["fault"] == "missing required":
            what = f"`{name}` is missing"
        else:
            what = f"`{name}` is not a parameter{_near(tool, field['name'])}"
    elif where:
        what = f"`{where}`: {what[:1].lower()}{what[1:]}"
    return f"Nothing was done. {tool.name}: {what}. Parameters: {_listed(tool)}. {_example(tool)}"


def _near(tool: Tool, name: str) -> str:
    names: list[str] = list(tool.parameters.get("properties", {}))
    near = get_close_matches(name, names, 1)
    return f" (did you mean `{near[0]}`?)" if near else ""


def _listed(tool: Tool) -> str:
    required = tool.parameters.get("required", ())
    return ", ".join(
        f"{name} ({' or '.join(sorted(_types(schema))) or 'any'}"
        f"{', required' if name in required else ''})"
        for name, schema in tool.parameters.get("properties", {}).items()
    )


def _example(tool: Tool) -> str:
    example = tool.example or msgspec.json.encode(_sample(tool.parameters)).decode()
    return f"Example: {tool.name} {example}"


def _sample(schema: Schema) -> Any:
    """A smallest value that fits, for tools that declare no example."""
    if values := schema.get("enum"):
        return values[0]
    kinds = _types(schema)
    if "object" in kinds:
        branch = _branch(schema, "object")
        properties = branch.get("properties", {})
        return {name: _sample(properties.get(name, {})) for name in branch.get("required", ())}
    if "array" in kinds:
        return [_sample(_branch(schema, "array").get("items", {}))]
    return next(
        (v for k, v in {"integer": 1, "number": 1, "boolean": True}.items() if k in kinds), "..."
    )

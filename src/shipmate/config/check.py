"""Turns the tables of a TOML file into structs, and says of each mistake where it is."""

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

import msgspec

from shipmate.errors import ConfigError, did_you_mean

Place = tuple[str, ...]
S = TypeVar("S", bound=msgspec.Struct)


def checked(raw: Mapping[str, Any], kind: type[S], source: str) -> S:
    """`raw` as a struct, or a `ConfigError` with one line for each mistake, such as
    `config.toml: [server] prot: unknown setting; did you mean port?`"""
    problems = [f"{source}: {problem}" for problem in _problems(raw, kind, ())]
    if problems:
        raise ConfigError("\n".join(problems))
    return msgspec.convert(raw, kind)


def _problems(value: Any, kind: Any, place: Place) -> Iterator[str]:
    kind = _plain(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield from _table_problems(value, kind, place)
    elif origin is dict and isinstance(value, Mapping):
        for key, item in cast("Mapping[str, Any]", value).items():
            yield from _problems(item, arguments[1], (*place, key))
    elif origin is tuple and isinstance(value, list):
        for number, item in enumerate(cast("list[Any]", value), 1):
            yield from _problems(item, arguments[0], (*place, str(number)))
    else:
        yield from _value_problem(value, kind, place)


def _plain(kind: Any) -> Any:
    """Without `None` beside it: TOML has no null, so a struct or nothing is a struct."""
    if get_origin(kind) in (Union, UnionType):
        rest = [k for k in get_args(kind) if k is not type(None)]
        if len(rest) == 1:
            return rest[0]
    return kind


def _table_problems(value: Any, kind: type[msgspec.Struct], place: Place) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{_spell(place)}: expected {getattr(kind, 'EXPECTED', 'a table')}"
        return
    fields = {f.encode_name: f for f in msgspec.structs.fields(kind)}
    found = False
    for key, item in cast("Mapping[str, Any]", value).items():
        if key not in fields:
            problems = [_unknown(key, item, place, list(fields))]
        else:
            problems = list(_problems(item, fields[key].type, (*place, key)))
        found = found or bool(problems)
        yield from problems
    missing = [name for name, field in fields.items() if field.required and name not in value]
    yield from (f"{_spell((*place, name))}: missing" for name in missing)
    if not found and not missing:
        yield from _value_problem(value, kind, place)


def _unknown(key: str, item: Any, place: Place, known: list[str]) -> str:
    what = "unknown section" if not place and isinstance(item, Mapping) else "unknown setting"
    spelled = f"[{key}]" if what == "unknown section" else _spell((*place, key))
    return f"{spelled}: {what}{did_you_mean(key, known)}"


def _value_problem(value: Any, kind: Any, place: Place) -> Iterator[str]:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        if get_origin(kind) is Literal:
            choices = ", ".join(map(str, get_args(kind)))
            yield f"{_spell(place)}: must be one of {choices}; not {value!r}"
        else:
            reason = str(error)
            yield f"{_spell(place)}: {reason[:1].lower()}{reason[1:]}"


def _spell(place: Place) -> str:
    """`[providers.deepseek] base_url`, as the file shows it."""
    if not place:
        return "the file"
    *tables, last = place
    return f"[{'.'.join(tables)}] {last}" if tables else last

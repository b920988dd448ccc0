"""Changes a value in the text of `config.toml`, on tomlkit: imported when something is changed."""

import tomllib
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AbstractTable

from shipmate.config.document import Tables
from shipmate.errors import ConfigError


def edited(text: str, path: tuple[str, ...], value: Any, expected: Tables, file: Path) -> str:
    """The text with one value changed (None: removed). It is made sure that reading it gives
    `expected`, so that no edit of ours can damage what else stands in the file."""
    for edit in (_edited_in_place, _written_anew):
        try:
            result = edit(text, path, value, expected)
            if _lean(tomllib.loads(result)) == _lean(expected):
                return result
        except (TOMLKitError, tomllib.TOMLDecodeError, ValueError, LookupError, TypeError):
            continue
    raise ConfigError(f"{file} has a form that cannot be edited here; change it by hand.")


def _lean(tables: Tables) -> Tables:
    """Without empty tables: `[providers.a]` taken out leaves no `[providers]` behind."""
    pairs = {k: _lean(cast("Tables", v)) if isinstance(v, dict) else v for k, v in tables.items()}
    return {k: v for k, v in pairs.items() if v != {}}


def _edited_in_place(text: str, path: tuple[str, ...], value: Any, _expected: Tables) -> str:
    document = tomlkit.parse(text)
    _put(document, path, value, 1)
    return tomlkit.dumps(document)  # pyright: ignore[reportUnknownMemberType] - tomlkit leaves it open


def _written_anew(text: str, path: tuple[str, ...], _value: Any, expected: Tables) -> str:
    """For tables in a mixed order, where tomlkit errs: the one table (`section.name`) is taken
    out, its comments with it, and written again at the end; the rest stays as it is."""
    table = path[:2]
    kept: list[str] = []
    inside = False
    for line in text.split("\n"):
        if line.lstrip().startswith("["):
            inside = _header(line)[: len(table)] == table
        if not inside:
            kept.append(line)
    left = "\n".join(kept).rstrip("\n")
    section = expected.get(table[0], {})
    if table[-1] not in section and len(table) == 2:
        return left + "\n"
    fresh: Any = section if len(table) == 1 else {table[1]: section[table[1]]}
    anew = tomlkit.document()
    _put(anew, (table[0],), fresh, 1)
    written = tomlkit.dumps(anew)  # pyright: ignore[reportUnknownMemberType] - tomlkit leaves it open
    return f"{left}\n\n{written}"


def _header(line: str) -> tuple[str, ...]:
    """`[a.b]` or `[[a.b]]` as its names; none when the line is no header."""
    try:
        tables: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    names: list[str] = []
    while isinstance(tables, dict) and tables:
        name, tables = next(iter(cast("Tables", tables).items()))
        names.append(name)
    return tuple(names)


def _put(table: MutableMapping[str, Any], path: tuple[str, ...], value: Any, depth: int) -> None:
    head, *rest = path
    if rest:
        if head not in table:
            if value is None:
                return
            table[head] = tomlkit.table()
        _put(table[head], tuple(rest), value, depth + 1)
    elif value is None:
        table.pop(head, None)
    elif isinstance(value, dict) and isinstance(table.get(head), MutableMapping):
        _merge(table[head], cast("Tables", value), depth + 1)
    else:
        table[head] = _item(value, depth)


def _merge(table: MutableMapping[str, Any], value: Tables, depth: int) -> None:
    for key in [k for k in table if k not in value]:
        del table[key]
    for key, item in value.items():
        if key not in table or table[key] != item:
            _put(table, (key,), item, depth)


def _item(value: Any, depth: int) -> Any:
    """`[section.name]` and `[[section.name.list]]` as tables, what is deeper in braces."""
    if isinstance(value, dict):
        return _table(cast("Tables", value), depth)
    items = cast("list[Any]", value) if isinstance(value, list) else []
    if depth == 3 and items and all(isinstance(item, dict) for item in items):
        tables = tomlkit.aot()
        for item in items:
            tables.append(_table(item, 2))  # pyright: ignore[reportUnknownMemberType] - tomlkit leaves it open
        return tables
    return cast("Any", tomlkit.item(cast("Any", value)))


def _table(value: Tables, depth: int) -> AbstractTable:
    inline = depth >= 3
    table: AbstractTable = tomlkit.inline_table() if inline else tomlkit.table()
    for key, item in value.items():
        table.append(key, item if inline else _item(item, depth + 1))
    return table

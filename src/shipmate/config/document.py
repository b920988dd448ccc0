"""`config.toml` as text, and as the tables it stands for."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

import msgspec

from shipmate.errors import ConfigError

Tables: TypeAlias = dict[str, Any]


def read(file: Path) -> str:
    """The text of the file, empty when there is none yet. Line ends stay as they are."""
    try:
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: not UTF-8 at byte {error.start}; save it as UTF-8.") from error
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror or error}.") from error


def parse(text: str, file: Path) -> Tables:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: not TOML: {error}.") from None


def plain(value: Any) -> Any:
    """A value as TOML has it: structs as tables, what is absent left out."""
    built = msgspec.to_builtins(value, str_keys=True)
    if isinstance(built, dict):
        pairs = cast("Tables", built).items()
        return {k: plain(v) for k, v in pairs if v is not None}
    if isinstance(built, (list, tuple)):
        return [plain(item) for item in cast("Sequence[Any]", built)]
    return built


def with_value(tables: Tables, path: tuple[str, ...], value: Any) -> Tables:
    """The tables with the value at `path`, or without it when it is None; the argument stays."""
    head, *rest = path
    result = dict(tables)
    if value is None and head not in tables:
        return result
    if rest:
        inner = result.get(head, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"{head} is a value, so {'.'.join(path)} cannot be set.")
        result[head] = with_value(cast("Tables", inner), tuple(rest), value)
    elif value is None:
        result.pop(head, None)
    else:
        result[head] = value
    return result

"""Checks that the documentation names every tool, event, endpoint, setting and command.

The names come from the code's own tables, so that nothing can be added without its words.
"""

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import click
from msgspec import inspect
from typer.main import get_command

from shipmate import protocol, tools
from shipmate.cli.commands import app
from shipmate.config.settings import Settings
from shipmate.handlers.table import ENDPOINTS

DOCS = Path(__file__).resolve().parent.parent / "docs"


def tool_names() -> Iterator[str]:
    for module in pkgutil.iter_modules(tools.__path__, "shipmate.tools."):
        for tool in getattr(importlib.import_module(module.name), "TOOLS", ()):
            yield f"`{tool.name}`"


def event_types() -> Iterator[str]:
    for event in get_args(protocol.AnyEvent):
        yield f"`{event.__struct_config__.tag}`"


def endpoints() -> Iterator[str]:
    for endpoint in ENDPOINTS:
        yield f"`{endpoint.method} {endpoint.path}`"


def structs(kind: inspect.Type) -> Iterator[type[Any]]:
    """The sections that stand under a setting, whatever they are packed into."""
    match kind:
        case inspect.StructType():
            yield kind.cls
        case inspect.DictType(value_type=inner) | inspect.VarTupleType(item_type=inner):
            yield from structs(inner)
        case inspect.UnionType(types=types):
            for one in types:
                yield from structs(one)
        case _:
            return


def settings(section: type[Any] = Settings) -> Iterator[str]:
    info = inspect.type_info(section)
    for field in info.fields if isinstance(info, inspect.StructType) else ():
        yield f"`{field.encode_name}`"
        for inner in structs(field.type):
            yield from settings(inner)


def commands(command: click.Command | None = None, path: str = "shipmate") -> Iterator[str]:
    here = command or get_command(app)
    if isinstance(here, click.Group):
        for name, inner in here.commands.items():
            yield from commands(inner, f"{path} {name}")
        return
    yield f"`{path}`"
    for option in here.params:
        yield from (f"`{spelling}" for spelling in option.opts if spelling.startswith("--"))


def configuration() -> Iterator[str]:
    yield from settings()
    yield from commands()


SOURCES: dict[str, Callable[[], Iterator[str]]] = {
    "tools.md": tool_names,
    "protocol.md": event_types,
    "api.md": endpoints,
    "configuration.md": configuration,
}
"""Page of the documentation to what it has to contain."""


def missing() -> Iterator[str]:
    for page, names in SOURCES.items():
        file = DOCS / page
        text = file.read_text("utf-8") if file.is_file() else ""
        wanted = list(dict.fromkeys(names()))
        if not wanted:
            yield f"docs/{page}: the code names nothing that belongs there"
        yield from (f"docs/{page}: {name} is missing" for name in wanted if name not in text)


def main() -> int:
    problems = list(missing())
    print("\n".join(problems) or "complete")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

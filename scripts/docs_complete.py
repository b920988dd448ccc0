"""Checks that the documentation names every tool, event, endpoint, setting and command.

The names come from the code's own tables, so that nothing can be added without its words.
"""

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

from shipmate import protocol, tools

DOCS = Path(__file__).resolve().parent.parent / "docs"


def tool_names() -> Iterator[str]:
    for module in pkgutil.iter_modules(tools.__path__, "shipmate.tools."):
        for tool in getattr(importlib.import_module(module.name), "TOOLS", ()):
            yield f"`{tool.name}`"


def event_types() -> Iterator[str]:
    for event in get_args(protocol.AnyEvent):
        yield f"`{event.__struct_config__.tag}`"


SOURCES: dict[str, Callable[[], Iterator[str]]] = {
    "tools.md": tool_names,
    "protocol.md": event_types,
}
"""Page of the documentation to what it has to contain."""


def missing() -> Iterator[str]:
    for page, names in SOURCES.items():
        file = DOCS / page
        text = file.read_text("utf-8") if file.is_file() else ""
        wanted = list(names())
        if not wanted:
            yield f"docs/{page}: the code names nothing that belongs there"
        yield from (f"docs/{page}: {name} is missing" for name in wanted if name not in text)


def main() -> int:
    problems = list(missing())
    print("\n".join(problems) or "complete")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

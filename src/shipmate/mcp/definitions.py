"""What a server says of its tools, read leniently: one bad tool does not spoil the list."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from shipmate.llm.tokens import estimate_tokens
from shipmate.mcp.foreign import as_object
from shipmate.mcp.naming import wire_name
from shipmate.mcp.schemas import repaired
from shipmate.tools.output import clean

MOST_TOOLS = 5_000
"""Of one server."""
DESCRIPTION = 8_000
"""Characters of a description that are shown to a model."""

_canonical = msgspec.json.Encoder(order="deterministic").encode


class Definition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a tool is: what the user accepts, and what a change of is shown."""

    name: str
    """As the server calls it."""
    title: str = ""
    description: str = ""
    schema: Any = None
    """As the server sent it."""

    @property
    def hash(self) -> str:
        return hashlib.sha256(_canonical(self)).hexdigest()


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool that a server lists, made ready."""

    definition: Definition
    wire: str
    hash: str
    parameters: Mapping[str, Any] = field(repr=False)
    """The repaired schema."""
    tokens: int = 0
    """About what it takes in a request."""

    @property
    def name(self) -> str:
        return self.definition.name


def listed(server: str, raw: Iterable[Any]) -> tuple[list[Listed], list[str]]:
    """The tools in the order of the server, each once, and what was wrong with the others."""
    made: dict[str, Listed] = {}
    problems: list[str] = []
    for one in raw:
        found = _definition(one)
        if isinstance(found, str):
            problems.append(found)
        elif found.name in made:
            if found != made[found.name].definition:
                problems.append(f"{found.name!r} is listed twice; the first one counts")
        elif len(made) >= MOST_TOOLS:
            problems.append(f"there are more than {MOST_TOOLS:,} tools; the rest is left out")
            break
        else:
            made[found.name] = _ready(server, found)
    return list(made.values()), problems


def _definition(raw: Any) -> Definition | str:
    if not isinstance(raw, dict):
        return f"a tool is not an object but {type(raw).__name__}"
    tool = cast("dict[str, Any]", raw)
    name = tool.get("name")
    if not isinstance(name, str) or not name.strip():
        return f"a tool has no name: {str(tool)[:80]}"
    inner = as_object(tool.get("annotations"))
    return Definition(
        name=clean(name),
        title=_text(tool.get("title")) or _text(inner.get("title")),
        description=_text(tool.get("description")),
        schema=tool.get("inputSchema"),
    )


def _text(value: Any) -> str:
    return clean(value).strip() if isinstance(value, str) else ""


def _ready(server: str, definition: Definition) -> Listed:
    wire = wire_name(server, definition.name)
    parameters = repaired(definition.schema)
    text = f"{wire}{description(definition)}{msgspec.json.encode(parameters).decode()}"
    return Listed(definition, wire, definition.hash, parameters, 8 + estimate_tokens(text))


def kept(tools: Mapping[str, Definition]) -> dict[str, bytes]:
    """Definitions as they are kept."""
    return {name: _canonical(one) for name, one in tools.items()}


def read(rows: Mapping[str, bytes]) -> dict[str, Definition]:
    return {name: msgspec.json.decode(row, type=Definition) for name, row in rows.items()}


def description(definition: Definition) -> str:
    """What a model reads: the description, else the title or the name, within bounds."""
    text = definition.description or definition.title or definition.name
    return text if len(text) <= DESCRIPTION else f"{text[:DESCRIPTION]} [cut]"


def differences(before: Definition, after: Definition) -> dict[str, tuple[str, str]]:
    """Which parts changed: before and after, as text."""
    pairs = {
        "title": (before.title, after.title),
        "description": (before.description, after.description),
        "schema": (_pretty(before.schema), _pretty(after.schema)),
    }
    return {part: pair for part, pair in pairs.items() if pair[0] != pair[1]}


def _pretty(schema: Any) -> str:
    return msgspec.json.format(_canonical(schema), indent=2).decode()

"""The document describes every route, and the events."""

import re
from pathlib import Path
from typing import Any, cast

import msgspec

from shipmate.handlers.openapi import describe
from shipmate.handlers.table import ENDPOINTS
from tests.handlers.house import whole

DOCUMENT: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(describe(ENDPOINTS)))
SCHEMAS = DOCUMENT["components"]["schemas"]


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value)
        found = {pairs["$ref"]} if isinstance(pairs.get("$ref"), str) else set[str]()
        return found.union(*(references(item) for item in pairs.values()))
    if isinstance(value, list):
        return set[str]().union(*(references(item) for item in cast("list[Any]", value)))
    return set()


def test_every_route_is_described_with_its_scope_and_words() -> None:
    for one in ENDPOINTS:
        if not one.path.startswith("/api/"):
            continue
        operation = DOCUMENT["paths"][one.path][one.method.lower()]
        assert operation["x-scope"] == one.scope
        assert operation["summary"], one.path
        assert set(re.findall(r"\{(\w+)\}", one.path)) <= {
            p["name"] for p in operation.get("parameters", []) if p["in"] == "path"
        }


def test_operation_names_are_unique() -> None:
    names = [one.name for one in ENDPOINTS]
    assert len(names) == len(set(names))


def test_every_reference_leads_somewhere() -> None:
    assert references(DOCUMENT) <= {f"#/components/schemas/{name}" for name in SCHEMAS}


def test_the_events_are_a_named_union() -> None:
    assert SCHEMAS["AnyEvent"]["discriminator"]["mapping"]["tool_result"].endswith("ToolResult")
    assert set(SCHEMAS["Message"]["required"]) == {"type", "id", "pos", "seq", "at", "session"}


def test_what_an_answer_always_holds_is_required() -> None:
    assert "title" in SCHEMAS["SessionRow"]["required"]
    assert "token" not in SCHEMAS["TokenRow"]["required"]


async def test_it_is_served(tmp_path: Path) -> None:
    async with whole(tmp_path) as house:
        answer = await house.call("GET", "/api/openapi.json")
    assert answer.json == DOCUMENT

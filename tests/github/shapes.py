"""GitHub's own description of what it answers: its examples, and whether an answer fits it."""

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any, cast

from jsonschema import Draft202012Validator

FILE = Path(__file__).with_name("shapes.json")


@cache
def described() -> dict[str, Any]:
    """Made by `scripts/github_shapes.py` from `@octokit/openapi`."""
    return json.loads(FILE.read_text("utf-8"))


@cache
def operation(method: str, path: str) -> dict[str, Any]:
    return next(o for o in described()["operations"] if (o["method"], o["path"]) == (method, path))


def example(method: str, path: str) -> Any:
    """GitHub's own example of an answer, to be changed at will."""
    return _completed(copy.deepcopy(operation(method, path)["example"]))


def _completed(value: Any) -> Any:
    """With what GitHub's description requires and its own examples lack."""
    if isinstance(value, list):
        return [_completed(one) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value)
        if "requested_teams" in pairs:
            pairs["requested_teams"] = []
        for one in (pairs, pairs.get("source") or {}):
            if "default_branch" in one and "permissions" in one:
                one.setdefault("language", "Python")
    return cast("Any", value)


@cache
def _validator(schema: str) -> Draft202012Validator:
    return Draft202012Validator(_plain({**json.loads(schema), "components": _components()}))


@cache
def _components() -> Any:
    return described()["components"]


def _plain(value: Any) -> Any:
    """OpenAPI 3.0 writes `nullable: true` where JSON Schema writes a second type."""
    if isinstance(value, list):
        return [_plain(one) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    pairs = cast("dict[str, Any]", value)
    made = {k: _plain(v) for k, v in pairs.items() if k != "nullable"}
    return {"anyOf": [made, {"type": "null"}]} if pairs.get("nullable") else made


def faults(schema: Any, value: Any) -> list[str]:
    """Where a value does not fit a schema of the description."""
    check: Any = _validator(json.dumps(schema, sort_keys=True))
    found = check.iter_errors(value)
    return [f"{error.json_path}: {error.message[:200]}" for error in found]

"""Makes `tests/github/shapes.json`: of GitHub's own OpenAPI description what the fake answers with.

usage: python -m scripts.github_shapes FOLDER     (in the clone)

FOLDER is where `npm pack @octokit/openapi` was unpacked. The package has 400 MB; of each operation
that shipmate asks for, its parameters, the schema of its answer and GitHub's own example are kept.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

MADE = Path(__file__).resolve().parents[1] / "tests" / "github" / "shapes.json"
REPO = "/repos/{owner}/{repo}"
OPERATIONS = {
    "get": (
        REPO,
        f"{REPO}/issues",
        f"{REPO}/issues/{{issue_number}}",
        f"{REPO}/issues/{{issue_number}}/comments",
        f"{REPO}/labels",
        f"{REPO}/pulls",
        f"{REPO}/pulls/{{pull_number}}",
        f"{REPO}/pulls/{{pull_number}}/files",
        f"{REPO}/pulls/{{pull_number}}/reviews",
        f"{REPO}/pulls/{{pull_number}}/comments",
        f"{REPO}/commits/{{ref}}/check-runs",
        f"{REPO}/commits/{{ref}}/status",
        "/search/issues",
    ),
    "post": (f"{REPO}/issues/{{issue_number}}/comments", f"{REPO}/pulls"),
}
DROPPED = frozenset(
    {"description", "externalDocs", "title", "x-github-breaking-changes", "examples"}
)
ERRORS = ("basic-error", "validation-error")


def lean(value: Any, *, named: bool = False) -> Any:
    """Without prose. `named`: the keys are names of properties, all of which are kept."""
    if isinstance(value, list):
        return [lean(one) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    pairs = cast("dict[str, Any]", value)
    kept = {k: v for k, v in pairs.items() if named or k not in DROPPED | {"example"}}
    return {k: lean(v, named=k == "properties" and not named) for k, v in kept.items()}


def referred(value: Any) -> set[str]:
    """Names of the schemas that a schema refers to."""
    if isinstance(value, list):
        return set[str]().union(*map(referred, cast("list[Any]", value)))
    if not isinstance(value, dict):
        return set()
    pairs = cast("dict[str, Any]", value)
    name = pairs.get("$ref")
    mine = {name.rpartition("/")[2]} if isinstance(name, str) else set[str]()
    return mine.union(*map(referred, pairs.values()))


def operation(document: Mapping[str, Any], method: str, path: str) -> dict[str, Any]:
    told = document["paths"][path][method]
    status = "201" if method == "post" else "200"
    content = told["responses"][status]["content"]["application/json"]
    ((_, example), *_) = content["examples"].items()
    return {
        "method": method,
        "path": path,
        "status": int(status),
        "parameters": sorted(parameter_names(document, told)),
        "body": lean(
            told.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        ),
        "schema": lean(content["schema"]),
        "example": resolved(document, example),
    }


def resolved(document: Mapping[str, Any], example: Any) -> Any:
    """The value of an example, which may be named, and may name another one."""
    while isinstance(example, dict) and ("$ref" in example or "value" in example):
        told = cast("dict[str, Any]", example)
        if "value" in told:
            example = told["value"]
        else:
            example = document["components"]["examples"][told["$ref"].rpartition("/")[2]]
    return cast("Any", example)


def parameter_names(document: Mapping[str, Any], told: Mapping[str, Any]) -> list[str]:
    names: list[str] = []
    for one in told.get("parameters", ()):
        if "$ref" in one:
            one = document["components"]["parameters"][one["$ref"].rpartition("/")[2]]  # noqa: PLW2901
        if one["in"] == "query":
            names.append(one["name"])
    return names


def main(folder: Path) -> None:
    file = folder / "package" / "generated" / "api.github.com.json"
    document = json.loads(file.read_text("utf-8"))
    made = [operation(document, m, p) for m, paths in OPERATIONS.items() for p in paths]
    schemas: dict[str, Any] = {}
    wanted = referred([one["schema"] for one in made]) | set(ERRORS)
    while missing := wanted - set(schemas):
        schemas |= {name: lean(document["components"]["schemas"][name]) for name in missing}
        wanted = referred(list(schemas.values())) | wanted
    version = json.loads((folder / "package" / "package.json").read_text("utf-8"))["version"]
    shapes = {
        "from": f"@octokit/openapi {version} (MIT), api.github.com",
        "operations": made,
        "components": {"schemas": dict(sorted(schemas.items()))},
    }
    MADE.write_text(json.dumps(shapes, indent=None, separators=(",", ":")) + "\n", "utf-8")
    size = MADE.stat().st_size
    print(f"{MADE.name}: {size:,} bytes, {len(made)} operations, {len(schemas)} schemas")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

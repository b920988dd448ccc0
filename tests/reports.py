"""Public bug reports with what is right (`tests/cases/reports.jsonl`)."""

import json
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "cases"


def cases(name: str) -> list[dict[str, Any]]:
    """The cases of one file."""
    lines = (CASES / f"{name}.jsonl").read_text("utf-8").strip().split("\n")
    return [json.loads(line) for line in lines]


def reports(area: str) -> dict[str, dict[str, Any]]:
    """Id to report, of one area: edit, history, read-search, security, shell, stream, ..."""
    return {case["id"]: case for case in cases("reports") if case["area"] == area}

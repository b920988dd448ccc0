"""Public bug reports with what is right (`tests/cases/reports.jsonl`)."""

import json
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "cases"


def reports(area: str) -> dict[str, dict[str, Any]]:
    """Id to report, of one area: edit, history, read-search, security, shell, stream, ..."""
    lines = (CASES / "reports.jsonl").read_text("utf-8").strip().split("\n")
    return {case["id"]: case for case in map(json.loads, lines) if case["area"] == area}

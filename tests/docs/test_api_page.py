"""Each row of api.md names all that its endpoint takes."""

import msgspec
import pytest

from shipmate.handlers.route import Endpoint
from shipmate.handlers.table import ENDPOINTS
from tests.docs.pages import ROOT

ROWS = [
    row for row in (ROOT / "docs/api.md").read_text("utf-8").split("\n") if row.startswith("| `")
]
TAKES = [e for e in ENDPOINTS if e.body or e.query]


@pytest.mark.parametrize("endpoint", TAKES, ids=lambda e: f"{e.method} {e.path}")
def test_the_row_names_each_field(endpoint: Endpoint) -> None:
    start = f"| `{endpoint.method} {endpoint.path}` | "
    [row] = [row for row in ROWS if row.startswith(start)]
    takes = row.removeprefix(start).partition(" | ")[0]
    if takes == "the same":  # as the row before
        row = ROWS[ROWS.index(row) - (2 if endpoint.path.endswith("/test") else 1)]
    for kind in filter(None, (endpoint.body, endpoint.query)):
        for field in msgspec.structs.fields(kind):
            assert f"`{field.encode_name}`" in row or f"`{field.encode_name}=" in row

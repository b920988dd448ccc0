"""At least 60 hostile requests to every route: none is let in, none breaks the server."""

from pathlib import Path

import pytest

from shipmate.handlers.table import ENDPOINTS
from tests.board import BOARD
from tests.handlers.hostile import attack
from tests.handlers.house import whole


@pytest.mark.safety
async def test_no_hostile_request_is_let_in(tmp_path: Path) -> None:
    async with whole(tmp_path) as house:
        counts = await attack(house, ENDPOINTS)
    wrong = len(counts.let_in) + len(counts.broken)
    BOARD.put("hostile requests", counts.requests, wrong, f"{counts.routes} routes")
    assert counts.let_in == []
    assert counts.broken == []
    assert counts.least >= 60

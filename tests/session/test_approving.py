"""Many approvals, tampered with (`tests.session.approving`)."""

from pathlib import Path

import pytest

from tests.board import BOARD
from tests.session.approving import CHANGES, changed_meanwhile, clicked

CHANGED, CLICKED = 500, 1_000
"""As often as is claimed."""
pytestmark = [pytest.mark.safety, pytest.mark.timeout(3_600)]


async def test_what_changed_before_it_ran_is_refused(tmp_path: Path, in_full: bool) -> None:
    count = CHANGED if in_full else 2 * len(CHANGES)
    tally = await changed_meanwhile(tmp_path, count)
    BOARD.put("approvals changed before they ran", count, count - tally["refused"])
    assert tally == {"refused": count}


async def test_each_approval_runs_exactly_once_however_often_it_is_clicked(
    tmp_path: Path, in_full: bool
) -> None:
    count = CLICKED if in_full else 25
    tally = await clicked(tmp_path, count)
    BOARD.put("approvals clicked twice and late", count, count - tally["once"])
    assert tally == {"once": count}

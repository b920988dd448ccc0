"""Many approvals, tampered with (`tests.session.approving`)."""

from pathlib import Path

from tests.session.approving import CHANGES, changed_meanwhile, clicked

ROUNDS = 2


async def test_what_changed_before_it_ran_is_refused(tmp_path: Path) -> None:
    count = ROUNDS * len(CHANGES)
    assert await changed_meanwhile(tmp_path, count) == {"refused": count}


async def test_each_approval_runs_exactly_once_however_often_it_is_clicked(tmp_path: Path) -> None:
    assert await clicked(tmp_path, 25) == {"once": 25}

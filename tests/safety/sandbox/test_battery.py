"""The battery, on both means and as every kind of user there is."""

import os
import pwd
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from shipmate.safety.sandbox.room import Means
from tests.board import BOARD
from tests.safety.sandbox.as_user import as_user
from tests.safety.sandbox.attempts import groups
from tests.safety.sandbox.battery import Row, battery, table
from tests.safety.sandbox.unconfined import shown

MEANS: tuple[Means, ...] = ("bubblewrap", "landlock")
ENOUGH = {"bubblewrap": 95, "landlock": 75}
pytestmark = [pytest.mark.safety, pytest.mark.timeout(1800)]
ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root can be other users")


def held(means: Means, rows: list[Row], whose: str) -> None:
    """All that is claimed; and what is not claimed is no more than what safety.md names."""
    claimed = [row for row in rows if row.expected]
    open_ = len(rows) - len(claimed)
    note = f"{open_} more are not claimed to be held" if open_ else ""
    wrong = sum(not row.held for row in claimed)
    BOARD.put(f"sandbox, {means}, {whose}", len(claimed), wrong, note)
    assert [row for row in rows if row.expected and not row.held] == [], table(rows)
    assert sum(row.held for row in rows) >= ENOUGH[means], table(rows)


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that every user can enter, which those of pytest are not."""
    with tempfile.TemporaryDirectory(prefix="shipmate-user-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def someone() -> Iterator[int]:
    """An ordinary user with a home, made for these tests."""
    name = f"shipmate-{os.getpid()}"
    subprocess.run(["/usr/sbin/useradd", "--create-home", name], check=True)
    try:
        yield pwd.getpwnam(name).pw_uid
    finally:
        subprocess.run(["/usr/sbin/userdel", "--remove", name], check=True, capture_output=True)


@pytest.mark.parametrize("means", MEANS)
def test_nothing_gets_out_of_ones_own_projects(means: Means) -> None:
    held(means, battery(means, os.getuid()), "own projects")


@ROOT
@pytest.mark.parametrize("means", MEANS)
def test_nothing_gets_out_of_anothers_project_that_root_serves(means: Means, someone: int) -> None:
    held(means, battery(means, someone), "root serves another's")


@ROOT
@pytest.mark.parametrize("means", MEANS)
def test_nothing_gets_out_where_an_ordinary_user_serves(
    means: Means, someone: int, folder: Path
) -> None:
    held(means, as_user("battery", [means], folder, someone), "an ordinary user")


def test_each_attempt_gets_through_where_nothing_holds_it(request: pytest.FixtureRequest) -> None:
    """But for those that say why it is not tried, or that some kernels hold by themselves."""
    if os.getuid() == 0:
        uid, folder = request.getfixturevalue("someone"), request.getfixturevalue("folder")
        rows = as_user("unconfined", [], folder, uid)
    else:
        rows = shown(os.getuid())
    kept = sum(bool(one.not_shown) for _, group in groups() for one in group)
    nowhere = [row for row in rows if row.held and not row.expected]
    BOARD.put("sandbox, attempts without one", len(rows), len(nowhere), f"{kept} more not tried")
    assert nowhere == [], table(nowhere)

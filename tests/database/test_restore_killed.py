"""`restore` is cut off anywhere: there is a whole database, the old one or the new one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shipmate.database.backups import back_up
from shipmate.database.sqlite import SqliteStore
from shipmate.database.store import SessionFilter
from shipmate.faults import KILL_AT
from tests.database.aged import filled

RESTORE = """
import sys
from pathlib import Path
from shipmate.database.restoring import restore
restore(Path(sys.argv[1]), Path(sys.argv[2]))
"""
WRITE = """
import asyncio, os, sys
from pathlib import Path
from shipmate.database.sqlite import SqliteStore
from tests.database.aged import row

async def main(path):
    store = await SqliteStore.open(path)
    made = await store.create_session(row())
    await store.write(made.id, row={"title": "in the log"})
    os._exit(0)  # so that it stays there

asyncio.run(main(Path(sys.argv[1])))
"""
ROOT = Path(__file__).resolve().parents[2]


def ran(script: str, *arguments: Path, **extra: str) -> int:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **extra}
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], env=environment, check=False
    ).returncode


async def titles(path: Path) -> list[str]:
    store = await SqliteStore.open(path)
    found = [one.title for one in await store.sessions(SessionFilter())]
    await store.close()
    return found


@pytest.mark.parametrize("point", ["restore.kept", "restore.log_gone", "restore.replaced"])
async def test_killed_in_a_restore_there_is_the_old_database_or_the_new_one(
    tmp_path: Path, point: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "sessions.db"
    await filled(path, 1, 1)
    backup = back_up(path, "manual")
    assert ran(WRITE, path) == 0
    assert Path(f"{path}-wal").stat().st_size > 0
    assert ran(RESTORE, path, backup, **{KILL_AT: point}) == -9
    there = await titles(path)
    assert ("in the log" in there) == (point != "restore.replaced")
    assert "may be lost" not in caplog.text
    assert ran(RESTORE, path, backup) == 0
    assert "in the log" not in await titles(path)

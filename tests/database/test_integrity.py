"""Damage is found and told; a server never starts on it silently."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from shipmate.database.integrity import damage
from shipmate.database.sqlite import SqliteStore
from shipmate.errors import StorageError
from shipmate.protocol import User
from tests.database.aged import content, filled, of_version_1, row

FLIPS = 150


async def test_every_flipped_bit_is_found_or_harmless(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    await filled(path, sessions=10)
    whole, before = path.read_bytes(), content(path)
    dice = random.Random(36)
    found = 0
    for _ in range(FLIPS):
        raw = bytearray(whole)
        raw[dice.randrange(len(raw))] ^= 1 << dice.randrange(8)
        path.write_bytes(raw)
        if damage(path, full=True):
            found += 1
        else:
            assert content(path) == before
    assert found > FLIPS // 3  # the rest fell on free space, or on what is not content


async def test_a_broken_structure_is_told_at_the_start_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    await filled(path)
    raw = bytearray(path.read_bytes())
    raw[3 * 4096 : 3 * 4096 + 100] = bytes(100)
    path.write_bytes(raw)
    with pytest.raises(StorageError, match="was left as it is") as told:
        await SqliteStore.open(path)
    assert told.value.code == "damaged"
    assert path.read_bytes() == bytes(raw)


@pytest.mark.parametrize("what", ["-wal", "-shm", "both"])
async def test_without_its_log_a_database_opens_and_says_what_may_be_lost(
    tmp_path: Path, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    path, killed = tmp_path / "a" / "sessions.db", tmp_path / "b" / "sessions.db"
    (session,) = await filled(path, 1)
    store = await SqliteStore.open(path)
    await store.write(session, [User(text="in the log")])
    shutil.copytree(path.parent, killed.parent)  # as a kill would leave it
    await store.close()
    for extra in ("-wal", "-shm"):
        if what in (extra, "both"):
            Path(f"{killed}{extra}").unlink()
    again = await SqliteStore.open(killed)
    left = len(await again.history(session))
    await again.close()
    log_is_gone = what != "-shm"
    assert left == (40 if log_is_gone else 41)
    assert ("may be lost" in caplog.text) is log_is_gone
    caplog.clear()
    await (await SqliteStore.open(killed)).close()
    assert "may be lost" not in caplog.text


@pytest.fixture
def as_nobody() -> Iterator[None]:
    """Root may write everything; be somebody else for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
async def test_a_database_that_may_only_be_read_is_refused_clearly(
    request: pytest.FixtureRequest,
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await filled(folder / "sessions.db", 1)
        (folder / "sessions.db").chmod(0o444)
        folder.chmod(0o555)
        request.getfixturevalue("as_nobody")
        with pytest.raises(StorageError, match="permissions"):
            await SqliteStore.open(folder / "sessions.db")
        if os.getuid() == 0:
            os.seteuid(0)
        folder.chmod(0o755)


KILLED = """
import os, signal, sys
from pathlib import Path
from shipmate.database import migrations, opening, sqlite_engine
left = int(sys.argv[2])
plain = sqlite_engine.connect

def trace(statement):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)

def connect(path):
    db = plain(path)
    db.set_trace_callback(trace)
    return db

opening.connect = connect
opening.prepare(Path(sys.argv[1]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills")
@pytest.mark.timeout(120)
async def test_a_kill_at_any_statement_of_the_start_leaves_old_or_new(tmp_path: Path) -> None:
    killed = 0
    for point in range(0, 120, 2):
        path = tmp_path / str(point) / "sessions.db"
        path.parent.mkdir()
        of_version_1(path)
        command = [sys.executable, "-c", KILLED, str(path), str(point)]
        status = subprocess.run(command, check=False).returncode
        if status == 0:
            break
        assert status == -signal.SIGKILL
        killed += 1
        with sqlite3.connect(path) as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
        db.close()
        assert version == 1 or list((path.parent / "backups").glob("migration-*.db"))
        store = await SqliteStore.open(path)
        assert len(await store.history("old")) == 1
        await store.close()
        assert damage(path, full=True) == ""
    else:
        pytest.fail("the start did not come to its end")
    assert killed > 5


async def test_a_damaged_block_does_not_break_the_others(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "sessions.db")
    session = (await store.create_session(row())).id
    await store.write(session, [User(id="a", text="one"), User(id="b", text="two")])
    broken = b'{"type":"user","id":"a'
    await store.execute(
        lambda db: db.execute("UPDATE blocks SET body = ? WHERE id = 'a'", (broken,)).rowcount
    )
    assert [block.id for block in await store.history(session)] == ["b"]
    assert [kept.pos for kept in await store.window(session)] == [2]
    await store.close()
    assert "the content of a of" in damage(tmp_path / "sessions.db", full=True)

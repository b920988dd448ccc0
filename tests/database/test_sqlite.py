"""What is SQLite's own: its file, its locks, its disk, its indexes."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shipmate.database.connection import Connection
from shipmate.database.sqlite import SqliteStore
from shipmate.errors import StorageError
from shipmate.protocol import (
    SessionRow,
    User,
    new_id,
)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path / "sessions.db")
    yield store
    await store.close()


def fresh() -> SessionRow:
    return SessionRow(id=new_id(), agent="assistant", provider="scripted/demo", project="demo")


async def test_what_was_written_is_there_after_opening_again(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "sessions.db")
    session = (await store.create_session(fresh())).id
    await store.write(session, [User(text="hi")])
    epoch = store.epoch
    await store.close()
    again = await SqliteStore.open(tmp_path / "sessions.db")
    assert again.epoch == epoch
    assert [b.pos for b in await again.history(session)] == [1]
    await again.close()


async def test_a_newer_database_is_refused_with_a_clear_message(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    await (await SqliteStore.open(path)).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(StorageError, match="version 99"):
        await SqliteStore.open(path)


async def test_a_locked_database_is_told_and_nothing_is_half_written(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = (await store.create_session(fresh())).id
    await store.execute(lambda db: db.execute("PRAGMA busy_timeout=50"))
    assert store.file
    other = sqlite3.connect(store.file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match="locked"):
        await store.write(session, [User(text="hi")])
    other.execute("COMMIT")
    other.close()
    await store.write(session, [User(text="again")])
    assert [b.pos for b in await store.history(session)] == [1]


async def test_a_full_disk_is_told_and_the_next_write_works(store: SqliteStore) -> None:
    session = (await store.create_session(fresh())).id
    pages = await store.execute(lambda db: db.execute("PRAGMA page_count").fetchone()[0])
    await store.execute(lambda db: db.execute(f"PRAGMA max_page_count={pages + 2}"))
    with pytest.raises(StorageError, match="disk is full"):
        await store.write(session, [User(text="x" * 100_000)])
    await store.execute(lambda db: db.execute("PRAGMA max_page_count=1000000"))
    await store.write(session, [User(text="fits")])
    assert [b.seq for b in await store.history(session)] == [1]


async def test_what_is_acknowledged_is_synced_to_the_disk_and_streamed_text_is_not(
    store: SqliteStore,
) -> None:
    """FM013: 2 is FULL, which syncs each commit; 1 is NORMAL (sqlite.org/pragma.html)."""
    modes: list[int] = []

    def note(db: Connection) -> None:
        modes.append(db.execute("PRAGMA synchronous").fetchone()[0])

    await store.execute(note)
    await store._writer.run(note, durable=False)  # pyright: ignore[reportPrivateUsage]
    assert modes == [2, 1]


async def test_a_window_of_a_session_of_any_length_is_found_by_an_index(store: SqliteStore) -> None:
    """FM041: nothing is read but what is shown."""
    for tail in ("AND seq > 5 ORDER BY seq LIMIT 9", "AND pos < 5 ORDER BY pos DESC LIMIT 9"):
        query = f"EXPLAIN QUERY PLAN SELECT body FROM blocks WHERE session = 'x' {tail}"
        plan = await store.read(lambda db, query=query: db.execute(query).fetchall())
        told = " ".join(str(step[-1]) for step in plan)
        assert "SEARCH blocks USING" in told
        assert "TEMP B-TREE" not in told

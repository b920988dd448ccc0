"""Stores of both kinds: what holds for every one is tried on each."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shipmate.database.postgres import PostgresStore
from shipmate.database.sql_store import SqlStore
from shipmate.database.sqlite import SqliteStore


@pytest.fixture(params=["sqlite", "postgres"])
async def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SqlStore]:
    store: SqlStore
    if request.param == "sqlite":
        store = await SqliteStore.open(tmp_path / "sessions.db")
    else:
        store = await PostgresStore.open(request.getfixturevalue("postgres"))
    yield store
    await store.close()

"""The store on SQLite: one file."""

import asyncio
import contextlib
from pathlib import Path

from shipmate.database.opening import mark_closed, prepare
from shipmate.database.sql_store import SqlStore
from shipmate.database.sqlite_engine import SqliteEngine
from shipmate.errors import StorageError


class SqliteStore(SqlStore):
    def __init__(self, path: Path, epoch: str) -> None:
        super().__init__(SqliteEngine(path), epoch, path)
        self.path = path

    @classmethod
    async def open(cls, path: Path) -> "SqliteStore":
        """Open the database, make it if it is not there, bring it up to date."""
        return cls(path, await asyncio.to_thread(prepare, path))

    async def close(self) -> None:
        with contextlib.suppress(StorageError):  # then only the mark stays
            await self.execute(mark_closed)
        await super().close()

"""The store on SQLite: one file, one writer thread, readers beside it."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from shipmate.database import rows
from shipmate.database.migrations import migrate
from shipmate.database.store import Kept, LiveText, SessionFilter, Written
from shipmate.database.writer import Writer, connect, explain
from shipmate.protocol import AnyBlock, SessionRow, decode_block

T = TypeVar("T")
READERS = 2


class SqliteStore:
    """Implements `database.store.Store`. Made by `open`, inside a running event loop."""

    def __init__(self, path: Path, epoch: str) -> None:
        self.path = path
        self.epoch = epoch
        self._writer = Writer(path)
        self._readers = ThreadPoolExecutor(READERS, "database-reader")
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []

    @classmethod
    async def open(cls, path: Path) -> "SqliteStore":
        """Open the database, make it if it is not there, bring it up to date."""
        return cls(path, await asyncio.to_thread(_prepare, path))

    async def close(self) -> None:
        await self._writer.close()
        self._readers.shutdown()
        for connection in self._connections:
            connection.close()

    async def execute(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do `work` in a transaction of the writer, for the other tables of this room."""
        return await self._writer.run(work)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do `work` on a reader's connection, off the event loop's thread."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        db: sqlite3.Connection | None = getattr(self._local, "db", None)
        try:
            if db is None:
                db = self._local.db = connect(self.path)
                self._connections.append(db)
            return work(db)
        except sqlite3.Error as error:
            raise explain(error) from error

    async def create_session(self, row: SessionRow) -> SessionRow:
        # Not durable by itself: the first message that follows makes it so with its own.
        return await self._writer.run(lambda db: rows.insert_session(db, row), durable=False)

    async def session(self, session: str) -> SessionRow:
        return await self.read(lambda db: rows.read_session(db, session))

    async def sessions(self, wanted: SessionFilter) -> list[SessionRow]:
        return await self.read(lambda db: rows.list_sessions(db, wanted))

    async def delete_session(self, session: str) -> None:
        def delete(db: sqlite3.Connection) -> None:
            if not db.execute("DELETE FROM sessions WHERE id = ?", (session,)).rowcount:
                raise rows.unknown(session)

        await self._writer.run(delete)

    async def write(
        self,
        session: str,
        blocks: Sequence[AnyBlock] = (),
        *,
        row: dict[str, Any] | None = None,
        durable: bool = True,
    ) -> Written:
        return await self._writer.run(
            lambda db: rows.write_blocks(db, session, blocks, row or {}), durable=durable
        )

    async def change(
        self,
        session: str,
        block: str,
        revise: Callable[[AnyBlock], AnyBlock],
        *,
        row: dict[str, Any] | None = None,
    ) -> Written:
        def change(db: sqlite3.Connection) -> Written:
            revised = revise(rows.read_block(db, session, block))
            return rows.write_blocks(db, session, (revised,), row or {})

        return await self._writer.run(change)

    async def block(self, session: str, block: str) -> AnyBlock:
        return await self.read(lambda db: rows.read_block(db, session, block))

    async def history(self, session: str) -> list[AnyBlock]:
        kept = await self.read(lambda db: rows.read_blocks(db, "ORDER BY pos", session))
        return [decode_block(k.json) for k in kept]

    async def changes(self, session: str, after: int, limit: int = 1000) -> list[Kept]:
        tail = "AND seq > ? ORDER BY seq LIMIT ?"
        return await self.read(lambda db: rows.read_blocks(db, tail, session, after, limit))

    async def window(self, session: str, before: int = 0, limit: int = 100) -> list[Kept]:
        tail = "AND (? = 0 OR pos < ?) ORDER BY pos DESC LIMIT ?"
        values = (session, before, before, limit)
        kept = await self.read(lambda db: rows.read_blocks(db, tail, *values))
        return kept[::-1]

    def append_text(self, session: str, message: str, text: str, reasoning: str) -> None:
        statement = (
            "INSERT INTO live_text (session, message, text, reasoning) "
            "SELECT id, ?, ?, ? FROM sessions WHERE id = ?"
        )
        self._writer.post(lambda db: db.execute(statement, (message, text, reasoning, session)))

    def drop_text(self, session: str, message: str) -> None:
        statement = "DELETE FROM live_text WHERE session = ? AND message = ?"
        self._writer.post(lambda db: db.execute(statement, (session, message)))

    async def live_texts(self) -> list[LiveText]:
        query = "SELECT session, message, text, reasoning FROM live_text ORDER BY part"
        parts = await self.read(lambda db: db.execute(query).fetchall())
        texts: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
        for session, message, text, reasoning in parts:
            said, thought = texts.setdefault((session, message), ([], []))
            said.append(text)
            thought.append(reasoning)
        return [LiveText(s, m, "".join(t), "".join(r)) for (s, m), (t, r) in texts.items()]


def _prepare(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        db = connect(path)
        try:
            migrate(db)
            return db.execute("SELECT value FROM meta WHERE key = 'epoch'").fetchone()[0]
        finally:
            db.close()
    except sqlite3.Error as error:
        raise explain(error) from error

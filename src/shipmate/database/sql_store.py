"""The store in SQL that all engines understand: one writer thread, readers beside it."""

import asyncio
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from pathlib import Path
from typing import Any, TypeVar

from shipmate.database import counts, rows, searching, shown, usage
from shipmate.database.connection import Connection, Engine
from shipmate.database.queue import Revise, read_queue, read_waiting, revise_queue
from shipmate.database.rules import change_rule, delete_rule, insert_rules, read_rules
from shipmate.database.store import (
    Indexing,
    Kept,
    LiveText,
    Match,
    SearchFilter,
    SessionFilter,
    StateCount,
    View,
    Written,
)
from shipmate.database.usage import UsageRow
from shipmate.database.views import pending, read_view, read_window
from shipmate.database.writer import Writer
from shipmate.faults import point
from shipmate.llm.prices import Costs
from shipmate.llm.windows import Learned
from shipmate.protocol import AnyBlock, Pending, Queued, SessionRow, decode_kept
from shipmate.safety.rules.rule import Rule

T = TypeVar("T")
READERS = 2


class SqlStore:
    """Implements `database.store.Store`. Made inside a running event loop."""

    def __init__(self, engine: Engine, epoch: str, file: Path | None = None) -> None:
        self.epoch = epoch
        self.file = file
        """Where it is one file; else backups are the database's own business."""
        self._engine = engine
        self._writer = Writer(engine)
        self._readers = ThreadPoolExecutor(READERS, "database-reader")
        self._local = threading.local()
        self._connections: list[Connection] = []
        self._rules: Sequence[Rule] | None = None
        self._rule_changes = 0
        self._to_index = asyncio.Event()

    async def close(self) -> None:
        await self._writer.close()
        self._readers.shutdown()
        for connection in self._connections:
            connection.close()

    async def execute(self, work: Callable[[Connection], T]) -> T:
        """Do `work` in a transaction of the writer, for the other tables of this room."""
        return await self._writer.run(work)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Do `work` on a reader's connection, off the event loop's thread. All it reads stood at
        one moment."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)

    def _read(self, work: Callable[[Connection], T]) -> T:
        db: Connection | None = getattr(self._local, "db", None)
        try:
            if db is None:
                db = self._local.db = self._engine.connect()
                self._connections.append(db)
            self._engine.begin_to_read(db)
            try:
                return work(db)
            finally:
                self._engine.roll_back(db)  # nothing was written
        except self._engine.errors as error:
            raise self._engine.explain(error) from error

    async def create_session(self, row: SessionRow) -> SessionRow:
        # Not durable by itself: the first message that follows makes it so with its own.
        return await self._writer.run(lambda db: rows.insert_session(db, row), durable=False)

    async def fill_session(self, row: SessionRow, blocks: Sequence[tuple[str, Kept]]) -> SessionRow:
        filled = await self._writer.run(lambda db: rows.fill_session(db, row, blocks))
        self._to_index.set()
        return filled

    async def session(self, session: str) -> SessionRow:
        return await self.read(lambda db: rows.read_session(db, session))

    async def sessions_named(self, sessions: Collection[str]) -> dict[str, SessionRow]:
        return await self.read(lambda db: rows.read_sessions(db, sessions))

    async def sessions(self, wanted: SessionFilter) -> list[SessionRow]:
        return await self.read(lambda db: rows.list_sessions(db, wanted))

    async def delete_session(self, session: str) -> set[str]:
        point("delete.begun")
        files = await self._ruled(lambda db: shown.delete_session(db, session))
        point("delete.rows_gone")
        return await self.read(lambda db: shown.unused(db, files)) if files else files

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
        rules: Callable[[AnyBlock], Sequence[Rule]] | None = None,
    ) -> Written:
        def change(db: Connection) -> Written:
            rows.hold(db, session)
            revised = revise(rows.read_block(db, session, block))
            insert_rules(db, rules(revised) if rules else ())
            return rows.write_blocks(db, session, (revised,), row or {})

        return await (self._ruled(change) if rules else self._writer.run(change))

    async def block(self, session: str, block: str) -> AnyBlock:
        return await self.read(lambda db: rows.read_block(db, session, block))

    async def history(self, session: str) -> list[AnyBlock]:
        return await self._blocks(session, "ORDER BY pos")

    async def writing(self, session: str) -> list[AnyBlock]:
        said, wrote = "type = 'user'", "type = 'tool_result' AND instr(body, '\"written\":')"
        return await self._blocks(session, f"AND ({said} OR {wrote}) ORDER BY pos")

    async def _blocks(self, session: str, tail: str) -> list[AnyBlock]:
        kept = await self.read(lambda db: rows.read_blocks(db, tail, session))
        return [block for k in kept if (block := decode_kept(k.json)) is not None]

    async def changes(
        self, session: str, after: int, limit: int = 1000, size: int = 1 << 62
    ) -> list[Kept]:
        tail = "AND seq > ? ORDER BY seq LIMIT ?"
        values = (session, after, limit)
        return await self.read(lambda db: rows.read_blocks(db, tail, *values, size=size))

    async def window(self, session: str, before: int = 0, limit: int = 100) -> list[Kept]:
        return await self.read(lambda db: read_window(db, session, before, limit))

    async def view(self, session: str, before: int = 0, limit: int = 100) -> View:
        return await self.read(lambda db: read_view(db, session, before, limit))

    async def of_type(self, session: str, kind: str) -> list[Kept]:
        tail = "AND type = ? ORDER BY pos"
        return await self.read(lambda db: rows.read_blocks(db, tail, session, kind))

    async def queue(self, session: str) -> list[Queued]:
        return await self.read(lambda db: read_queue(db, session))

    async def waiting_queues(self) -> list[str]:
        return await self.read(read_waiting)

    async def change_queue(self, session: str, revise: Revise) -> list[Queued]:
        return await self._writer.run(lambda db: revise_queue(db, session, revise))

    async def pending(self) -> list[tuple[SessionRow, list[Pending]]]:
        return await self.read(pending)

    async def rules(self) -> Sequence[Rule]:
        while self._rules is None:
            changes = self._rule_changes
            found = await self.read(read_rules)
            if changes == self._rule_changes:
                self._rules = found
        return self._rules

    async def add_rule(self, rule: Rule) -> Rule:
        return await self._ruled(lambda db: insert_rules(db, (rule,))[0])

    async def change_rule(self, rule: str, revise: Callable[[Rule], Rule]) -> Rule:
        return await self._ruled(lambda db: change_rule(db, rule, revise))

    async def remove_rule(self, rule: str) -> None:
        await self._ruled(lambda db: delete_rule(db, rule))

    async def _ruled(self, work: Callable[[Connection], T]) -> T:
        """Do what changes rules: they are read anew after it."""
        try:
            return await self._writer.run(work)
        finally:
            self._rules = None
            self._rule_changes += 1

    async def costs(self, session: str) -> Costs:
        return await self.read(lambda db: usage.costs(db, session))

    async def usage(
        self, session: str = "", days: int = 30, *, owner: str | None = None
    ) -> list[UsageRow]:
        since = usage.days_ago(days - 1)
        return await self.read(lambda db: usage.listed(db, session, since, owner))

    async def shows(self, file: str, seen_by: str) -> bool:
        return await self.read(lambda db: shown.shows(db, file, seen_by))

    async def learned(self) -> dict[str, Learned]:
        query = "SELECT * FROM learned"
        found = await self.read(lambda db: db.execute(query).fetchall())
        return {model: Learned(*told) for model, *told in found}

    async def keep_learned(self, model: str, learned: Learned) -> None:
        def keep(db: Connection) -> None:
            db.execute("DELETE FROM learned WHERE model = ?", (model,))
            values = (model, *astuple(learned))
            db.execute("INSERT INTO learned VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)

        await self._writer.run(keep)

    async def search(self, wanted: SearchFilter) -> list[Match]:
        return await self.read(lambda db: searching.matches(db, wanted, self._engine.find))

    async def search_titles(self, wanted: SearchFilter) -> list[Match]:
        return await self.read(lambda db: searching.titles(db, wanted, self._engine.find))

    async def search_sessions(self, wanted: SearchFilter) -> list[Match]:
        find = self._engine.find
        return await self.read(lambda db: searching.newest_of_sessions(db, wanted, find))

    async def blocks(self, wanted: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Kept]:
        return await self.read(lambda db: rows.read_several(db, wanted))

    async def indexing(self) -> Indexing | None:
        return await self.read(searching.indexing)

    async def to_index(self) -> None:
        await self._to_index.wait()
        self._to_index.clear()

    async def index_piece(self) -> bool:
        return await self._writer.run(searching.index_piece, durable=False)

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

    async def states(
        self, *, owner: str | None = None, seen_by: str | None = None
    ) -> list[StateCount]:
        return await self.read(lambda db: counts.states(db, owner, seen_by))

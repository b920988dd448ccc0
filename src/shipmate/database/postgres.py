"""The store on PostgreSQL. What is ours lies in the first schema of the search path."""

import asyncio
from collections.abc import Generator
from contextlib import closing, contextmanager

from shipmate.database.connection import Connection
from shipmate.database.integrity import HASHED, DamagedError, row_hash
from shipmate.database.migrations import check_known, scripts
from shipmate.database.postgres_engine import PostgresConnection, PostgresEngine, place
from shipmate.database.sql_store import SqlStore
from shipmate.protocol import new_id

PART = 1000
"""Rows that are read at a time."""
_LOCK = 0x5411_B0A7
"""Whoever brings a database up to date holds this advisory lock meanwhile."""


class PostgresStore(SqlStore):
    @classmethod
    async def open(cls, url: str) -> "PostgresStore":
        """Open the database, make its tables if they are not there, bring them up to date."""
        epoch = await asyncio.to_thread(_prepare, url)
        return cls(PostgresEngine(url), epoch)


@contextmanager
def looked_into(url: str) -> Generator[PostgresConnection]:
    """A connection for as long as the context lasts."""
    engine = PostgresEngine(url)
    try:
        with closing(engine.connect()) as db:
            yield db
    except engine.errors as error:
        raise engine.explain(error) from error


def _prepare(url: str) -> str:
    """Bring it up to date, all in one transaction, one server at a time; its epoch."""
    with looked_into(url) as db:
        db.execute("BEGIN")
        db.execute("SELECT pg_advisory_xact_lock(?)", (_LOCK,))
        _migrate(db)
        db.execute("COMMIT")
        return db.execute("SELECT value FROM meta WHERE key = 'epoch'").fetchone()[0]


def _migrate(db: Connection) -> None:
    steps = scripts("postgres")
    have = _version(db)
    check_known(have, steps[-1][0])
    for number, text in steps:
        if number > have:
            db.execute(text)
    meta = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO"
    db.execute(f"{meta} UPDATE SET value = excluded.value", ("version", str(steps[-1][0])))
    db.execute(f"{meta} NOTHING", ("epoch", new_id()))


def _version(db: Connection) -> int:
    """Number of the last migration that was applied; 0 in an empty database."""
    if not is_there(db, "meta"):
        return 0
    return int(db.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()[0])


def is_there(db: Connection, table: str) -> bool:
    query = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = ?"
    return db.execute(query, (table,)).fetchone() is not None


def condition(url: str, *, full: bool) -> str:
    """What and where it is, in one line; `DamagedError` when a row is not as it was written.
    `full` looks at every row."""
    with looked_into(url) as db:
        server = db.execute("SHOW server_version").fetchone()[0]
        there = is_there(db, "meta")
        if there and full:
            check_content(db)
    looked = "every row is whole" if full else "to look at every row: --integrity"
    held = looked if there else "empty; its tables are made at the first start"
    return f"PostgreSQL {server} at {place(url)}: {held}"


def check_content(db: Connection) -> None:
    """Raise `DamagedError` when a row is not as it was written. Reads a part at a time."""
    for table, columns in HASHED.items():
        name = f"whole_{table}"
        db.execute(f"DECLARE {name} CURSOR WITH HOLD FOR SELECT hash, {columns} FROM {table}")  # noqa: S608 - fixed names
        while rows := db.execute(f"FETCH {PART} FROM {name}").fetchall():
            for kept, *values in rows:
                if kept and row_hash(*values) != kept:
                    raise DamagedError(
                        f"The content of {values[0]!r} in {table} is not as it was written."
                    )
        db.execute(f"CLOSE {name}")

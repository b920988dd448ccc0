"""Everything of a SQLite database into an empty one on PostgreSQL, in one transaction."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from shipmate.database.connection import Connection
from shipmate.database.integrity import damage
from shipmate.database.postgres import PART, check_content, looked_into
from shipmate.database.sqlite_engine import connect, explain
from shipmate.errors import ConflictError, StorageError

_FIRST = ("sessions", "indexed")
"""Other tables refer to their rows."""
_GENERATED = {"live_text": "part", "unindexed": "number"}
"""Numbers that the database draws itself: after the move it goes on behind the highest."""


def move(file: Path, url: str, told: Callable[[str, int], None]) -> dict[str, int]:
    """Copy all rows of a file, which stays as it is, and check what has arrived; the rows by
    table. Both are of this version. `told`: how many rows of a table are there so far."""
    if wrong := damage(file, full=True):
        raise StorageError(f"{file} is damaged and was not moved: {wrong}")
    try:
        with closing(connect(file)) as source, looked_into(url) as target:
            return _move(source, target, told)
    except sqlite3.Error as error:
        raise explain(error) from error


def _move(
    source: sqlite3.Connection, target: Connection, told: Callable[[str, int], None]
) -> dict[str, int]:
    source.execute("BEGIN")
    target.execute("BEGIN")
    tables = _tables(target)
    for table in tables:
        if table != "meta" and _count(target, table):
            raise ConflictError("The PostgreSQL database is not empty: nothing was moved.")
    target.execute("DELETE FROM meta WHERE key = 'epoch'")
    counts = {table: _copy(source, target, table, told) for table in tables}
    target.execute("COMMIT")
    check_content(target)
    for table, expected in counts.items():
        if _count(target, table) < expected:
            raise StorageError(f"Not all rows of {table} have arrived; empty the database again.")
    return counts


def _tables(db: Connection) -> list[str]:
    query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    names = sorted(name for (name,) in db.execute(query))
    return [*_FIRST, *(name for name in names if name not in _FIRST)]


def _selected(table: str) -> str:
    return "rowid, *" if table == "search" else "*"  # FTS5 keeps it apart


def _count(db: Connection, table: str) -> int:
    return db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - a table's name


def _copy(
    source: sqlite3.Connection,
    target: Connection,
    table: str,
    told: Callable[[str, int], None],
) -> int:
    own = " WHERE key = 'epoch'" if table == "meta" else ""
    found = source.execute(f"SELECT {_selected(table)} FROM {table}{own}")  # noqa: S608 - a table's name
    columns = ", ".join(f'"{column[0]}"' for column in found.description)
    marks = ", ".join("?" * len(found.description))
    statement = f"INSERT INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608 - names of columns
    done = 0
    while rows := found.fetchmany(PART):
        target.executemany(statement, rows)
        done += len(rows)
        told(table, done)
    if column := _GENERATED.get(table):
        highest = f"SELECT max({column}) FROM {table}"  # noqa: S608 - fixed names
        last = target.execute(highest).fetchone()[0]
        if last is not None:
            place = "pg_get_serial_sequence(?, ?)"
            target.execute(f"SELECT setval({place}, ?)", (table, column, last))
    return done

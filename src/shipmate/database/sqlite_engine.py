"""SQLite as an engine: one file, its write-ahead log, what its errors mean."""

import contextlib
import sqlite3
from pathlib import Path
from typing import cast

from shipmate.database.connection import Connection
from shipmate.database.finding import Finder, Fts5
from shipmate.database.integrity import DamagedError, add_functions
from shipmate.database.journal import file_system_of, journal_on
from shipmate.errors import StorageError

BUSY_SECONDS = 5.0


def connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    db.execute(f"PRAGMA journal_mode={journal_on(file_system_of(path.parent.resolve()))}")
    db.execute("PRAGMA foreign_keys=ON")
    db.execute("PRAGMA synchronous=NORMAL")
    add_functions(db)
    return db


_MEANINGS = {
    "FULL": "The disk is full: nothing more can be saved. Free some space.",
    "BUSY": "The database is locked by another program. Try again in a moment.",
    "LOCKED": "The database is locked by another program. Try again in a moment.",
    "READONLY": "The database cannot be written: check the permissions of the data folder and of "
    "sessions.db in it, and whether the disk is mounted read-only.",
    "CANTOPEN": "The database cannot be opened: check the data folder and its permissions.",
    "IOERR": "The disk refused to read or write: it is full or failing. Free some space, or look "
    "into the system's log.",
}
_DAMAGED = frozenset({"CORRUPT", "NOTADB"})


def explain(error: Exception) -> StorageError:
    """What happened, in words a person can act on."""
    name = getattr(error, "sqlite_errorname", "") or ""
    kind = name.removeprefix("SQLITE_").partition("_")[0]
    if kind in _DAMAGED:
        return DamagedError(f"The database is damaged: {error}. See: shipmate doctor --integrity.")
    return StorageError(_MEANINGS.get(kind) or f"The database failed: {error}.")


class SqliteEngine:
    find: Finder = Fts5()
    errors: type[Exception] = sqlite3.Error

    def __init__(self, path: Path) -> None:
        self._path = path

    def connect(self) -> sqlite3.Connection:
        return connect(self._path)

    def begin(self, db: Connection, *, durable: bool) -> None:
        db.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
        db.execute("BEGIN IMMEDIATE")

    def begin_to_read(self, db: Connection) -> None:
        db.execute("BEGIN")

    def roll_back(self, db: Connection) -> None:
        if cast(sqlite3.Connection, db).in_transaction:
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")

    def is_lost(self, error: Exception) -> bool:
        return isinstance(error, sqlite3.OperationalError)

    def is_again(self, error: Exception) -> bool:
        return False

    def explain(self, error: Exception) -> StorageError:
        return explain(error)

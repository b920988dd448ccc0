"""Numbered migrations, applied in order and never edited once released."""

import sqlite3
from collections.abc import Sequence
from importlib import resources

from shipmate.errors import StorageError
from shipmate.faults import point
from shipmate.protocol import new_id


def scripts(engine: str = "") -> list[tuple[int, str]]:
    """Number and text of each migration, in order: SQLite's, or those of an engine's folder."""
    files = [f for f in (resources.files(__name__) / engine).iterdir() if f.name.endswith(".sql")]
    return sorted((int(f.name.split("_")[0]), f.read_text("utf-8")) for f in files)


def version_of(db: sqlite3.Connection) -> int:
    """Number of the last migration that was applied; 0 for a new file."""
    return db.execute("PRAGMA user_version").fetchone()[0]


def check_version(db: sqlite3.Connection) -> None:
    """Refuse a database of a newer version: writing to it could lose what it holds."""
    check_known(version_of(db), scripts()[-1][0])


def check_known(have: int, known: int) -> None:
    if have > known:
        raise StorageError(
            f"The database has version {have}, this shipmate knows up to {known}. "
            "Start the newer shipmate that wrote it, or restore a backup."
        )


def is_older(db: sqlite3.Connection) -> bool:
    """It holds something, and `migrate` would change its form."""
    return 0 < version_of(db) < scripts()[-1][0]


def migrate(db: sqlite3.Connection, known: Sequence[tuple[int, str]] = ()) -> None:
    """Bring the database up to date, a transaction a migration: one that is cut off leaves
    nothing of itself. `known`: those to apply, else all there are."""
    check_version(db)
    have = version_of(db)
    for number, text in known or scripts():
        if number > have:
            point("migration.begun")
            db.executescript(f"BEGIN IMMEDIATE;{text};PRAGMA user_version={number};COMMIT;")
            point("migration.done")
    db.execute("INSERT OR IGNORE INTO meta VALUES ('epoch', ?)", (new_id(),))

"""Numbered migrations, applied in order and never edited once released."""

import sqlite3
from importlib import resources

from shipmate.errors import StorageError
from shipmate.protocol import new_id


def scripts() -> list[tuple[int, str]]:
    """Number and text of each migration, in order."""
    files = [f for f in resources.files(__name__).iterdir() if f.name.endswith(".sql")]
    return sorted((int(f.name.split("_")[0]), f.read_text("utf-8")) for f in files)


def migrate(db: sqlite3.Connection) -> None:
    """Bring the database up to date, a transaction a migration.

    A database of a newer version is refused: writing to it could lose what it holds.
    """
    have = db.execute("PRAGMA user_version").fetchone()[0]
    known = scripts()
    if have > known[-1][0]:
        raise StorageError(
            f"The database has version {have}, this shipmate knows up to {known[-1][0]}. "
            "Start the newer shipmate that wrote it, or restore a backup."
        )
    for number, text in known:
        if number > have:
            db.executescript(f"BEGIN IMMEDIATE;{text};PRAGMA user_version={number};COMMIT;")
    db.execute("INSERT OR IGNORE INTO meta VALUES ('epoch', ?)", (new_id(),))

"""Puts another database in the place of the present one, which is kept. Nobody may have it open:
the caller holds the data directory."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from shipmate.database.backups import BESIDE, copy, put_aside
from shipmate.database.integrity import damage
from shipmate.database.migrations import check_version, migrate
from shipmate.database.salvage import Salvaged, salvage
from shipmate.database.sqlite_engine import connect, explain
from shipmate.errors import ShipmateError, StorageError
from shipmate.faults import point
from shipmate.protocol import new_id

_ACCESS = ("users", "sign_ins", "api_tokens")


@dataclass(frozen=True, slots=True)
class Restored:
    sessions: int
    blocks: int
    kept: Path | None
    """Where the database that was there before is now."""


def restore(database: Path, backup: Path) -> Restored:
    """Put a copy of `backup` in place. Refuses what is damaged, foreign or of a newer version.
    Who may call stays as it is: a token that was revoked since does not come back."""
    if not backup.is_file():
        raise ShipmateError(f"There is no file {backup}.")
    if wrong := damage(backup, full=True):
        raise ShipmateError(f"{backup} is damaged and was not restored: {wrong}.")

    whole = database.exists() and not damage(database, full=True)

    def make(target: Path) -> None:
        copy(backup, target)
        with closing(connect(target)) as db:
            _check_ours(db, backup)
            migrate(db)  # one of before there were users must not be without them
            if whole:
                _fold_log(database)
                _take_access(db, database)

    return _replace(database, make)


def rescue(database: Path) -> tuple[Restored, Salvaged]:
    """Make a new database of all rows that can still be read, and put it in place."""
    if not database.exists():
        raise ShipmateError(f"There is no database {database}.")
    found: list[Salvaged] = []
    restored = _replace(database, lambda target: found.append(salvage(database, target)))
    return restored, found[0]


def _replace(database: Path, make: Callable[[Path], object]) -> Restored:
    """`make` the new one, give it an epoch of its own, keep the old one, change places."""
    fresh = database.with_name(f"{database.name}.new")
    try:
        _remove(fresh)
        make(fresh)
        sessions, blocks = _finish(fresh)
        kept = put_aside(database)
        point("restore.kept")
        for extra in BESIDE:  # or they would be taken for those of the new one
            Path(f"{database}{extra}").unlink(missing_ok=True)
        point("restore.log_gone")
        fresh.replace(database)
        point("restore.replaced")
    except sqlite3.Error as error:
        raise explain(error) from error
    except OSError as error:
        raise StorageError(f"{database} could not be replaced: {error}.") from error
    finally:
        _remove(fresh)
    return Restored(sessions, blocks, kept)


def _check_ours(db: sqlite3.Connection, backup: Path) -> None:
    names = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    if not {"meta", "sessions", "blocks"} <= names:
        raise ShipmateError(f"{backup} is no database of shipmate.")
    check_version(db)


def _take_access(db: sqlite3.Connection, present: Path) -> None:
    """Users, sign-ins and tokens of the present database, in place of those of the backup."""
    db.execute("ATTACH ? AS present", (str(present),))
    try:
        db.execute("BEGIN IMMEDIATE")
        for table in _ACCESS:
            both = _columns(db, "main", table) & _columns(db, "present", table)
            if not both:  # of a version before there were users
                continue
            names = ", ".join(sorted(both))
            db.execute(f"DELETE FROM main.{table}")  # noqa: S608 - fixed names
            db.execute(
                f"INSERT INTO main.{table} ({names}) SELECT {names} FROM present.{table}"  # noqa: S608
            )
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
        db.execute("DETACH present")


def _columns(db: sqlite3.Connection, schema: str, table: str) -> set[str]:
    return {str(row[1]) for row in db.execute(f"PRAGMA {schema}.table_info({table})")}


def _finish(fresh: Path) -> tuple[int, int]:
    """A new epoch, so that every client takes a fresh snapshot; one file; how much is in it."""
    with closing(connect(fresh)) as db:
        db.execute("INSERT OR REPLACE INTO meta VALUES ('epoch', ?)", (new_id(),))
        sessions = db.execute("SELECT count(*) FROM sessions").fetchone()[0]
        blocks = db.execute("SELECT count(*) FROM blocks").fetchone()[0]
        db.execute("PRAGMA journal_mode=DELETE")
    return sessions, blocks


def _fold_log(database: Path) -> None:
    """Bring what is in the write-ahead log into the database: it may still be needed, when this
    process is ended before the new one is in place."""
    with closing(connect(database)) as db:
        db.execute("DELETE FROM meta WHERE key = 'open'")  # no log is missed from now on
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _remove(file: Path) -> None:
    for extra in ("", *BESIDE, "-journal"):
        Path(f"{file}{extra}").unlink(missing_ok=True)

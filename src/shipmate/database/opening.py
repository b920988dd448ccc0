"""A database file is opened: looked at, backed up, brought up to date, marked as in use."""

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

from shipmate.database.backups import back_up, how_to_mend
from shipmate.database.connection import Connection
from shipmate.database.integrity import DamagedError, check_quickly
from shipmate.database.journal import is_logged
from shipmate.database.migrations import is_older, migrate
from shipmate.database.sqlite_engine import connect, explain

log = logging.getLogger(__name__)


def prepare(path: Path) -> str:
    """Open it once, look whether it is whole, bring it up to date; its epoch."""
    log_is_gone = is_logged(path) and not Path(f"{path}-wal").exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with closing(connect(path)) as db:
            check_quickly(db)
            if is_older(db):
                back_up(path, "migration")
            migrate(db)
            _mark_open(db, warn=log_is_gone)
            return db.execute("SELECT value FROM meta WHERE key = 'epoch'").fetchone()[0]
    except sqlite3.Error as error:
        told = explain(error)
        if isinstance(told, DamagedError):
            raise _damaged(path, str(error)) from error
        raise told from error
    except (DamagedError, UnicodeDecodeError) as error:  # SQLite's own words quote the file
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, why: str) -> DamagedError:
    return DamagedError(
        f"The database {path} is damaged and was left as it is: {why} {how_to_mend(path)}"
    )


def _mark_open(db: sqlite3.Connection, *, warn: bool) -> None:
    """Note in the file itself that it is in use. When that stands there and the write-ahead log
    is gone, somebody removed what was not yet in the file."""
    if warn and db.execute("SELECT 1 FROM meta WHERE key = 'open'").fetchone():
        log.warning(
            "The last writes to the database may be lost: its write-ahead log (sessions.db-wal) "
            "was removed while it was needed. What was written before is there."
        )
    db.execute("INSERT OR IGNORE INTO meta VALUES ('open', '1')")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def mark_closed(db: Connection) -> None:
    db.execute("DELETE FROM meta WHERE key = 'open'")

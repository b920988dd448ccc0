"""Which store: PostgreSQL where it is configured, else the file of the data directory."""

import sqlite3
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

from shipmate.database.sql_store import SqlStore
from shipmate.database.sqlite import SqliteStore
from shipmate.errors import ConfigError


async def open_store(url: str, file: Path) -> SqlStore:
    """The store at a URL, or in a file where the URL is empty."""
    if not url:
        return await SqliteStore.open(file)
    check_driver()
    # psycopg takes 60 ms: not for who has no PostgreSQL
    from shipmate.database.postgres import PostgresStore

    return await PostgresStore.open(url)


def has_users(url: str, file: Path) -> bool:
    """Whether somebody can sign in with a password there; the database may not be there yet, or be
    of a version without users."""
    query = "SELECT 1 FROM users WHERE disabled = 0"
    if not url:
        try:
            with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as db:
                return db.execute(query).fetchone() is not None
        except sqlite3.Error:
            return False
    check_driver()
    from shipmate.database.postgres import is_there, looked_into

    with looked_into(url) as db:
        return is_there(db, "users") and db.execute(query).fetchone() is not None


def check_driver() -> None:
    if find_spec("psycopg") is None:
        raise ConfigError(
            "server.database names PostgreSQL, whose driver is not installed: "
            "pip install 'shipmate[postgres]'."
        )

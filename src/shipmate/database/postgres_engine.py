"""PostgreSQL as an engine: its connection behind ours, what frames a transaction, its errors.

psycopg is of the extra `[postgres]`, and imported only where a database of this kind is named.
"""

import contextlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, cast
from urllib.parse import urlsplit

import psycopg
from psycopg import errors

from shipmate.database.connection import Connection, Cursor
from shipmate.database.finding import Finder, TsQuery
from shipmate.errors import StorageError

CONNECT_SECONDS = 10
_LOST = (errors.OperationalError, errors.InterfaceError)
_AGAIN = (errors.SerializationFailure, errors.DeadlockDetected)
_HINTS: dict[type[Exception], str] = {
    errors.DiskFull: "The database's disk is full: nothing more can be saved. Free some space.",
    errors.TooManyConnections: "The database has no connection left: raise its max_connections, "
    "or end other programs.",
    errors.InsufficientPrivilege: "The database's user may not do that: it must own its schema.",
    errors.ReadOnlySqlTransaction: "The database is read-only: server.database must name the "
    "primary.",
}


@lru_cache(maxsize=512)
def translated(statement: str) -> str:
    """Our `?` as psycopg's `%s`. No statement of ours holds a `?` or `%` that means itself."""
    return statement.replace("?", "%s")


def value(given: Any) -> Any:
    """As PostgreSQL takes it: flags are numbers, text has no NUL."""
    if isinstance(given, bool):
        return int(given)
    if isinstance(given, str) and "\0" in given:
        return given.replace("\0", "\ufffd")
    return given


class PostgresConnection:
    """A psycopg connection that takes our statements."""

    def __init__(self, raw: "psycopg.Connection[Any]") -> None:
        self.raw = raw

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Cursor:
        # Without values nothing is bound, so several statements may stand in one.
        bound = [value(one) for one in values] or None
        return cast(Cursor, self.raw.execute(translated(statement).encode(), bound))

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> Cursor:
        cursor = self.raw.cursor()
        bound = [[value(one) for one in row] for row in rows]
        cursor.executemany(translated(statement).encode(), bound)
        return cast(Cursor, cursor)

    def close(self) -> None:
        self.raw.close()


def open_connection(url: str) -> "psycopg.Connection[Any]":
    raw = psycopg.connect(
        url, autocommit=True, connect_timeout=CONNECT_SECONDS, application_name="shipmate"
    )
    raw.execute("SET client_min_messages = warning")
    return raw


class PostgresEngine:
    find: Finder = TsQuery()
    errors: type[Exception] = psycopg.Error

    def __init__(self, url: str) -> None:
        self.url = url

    def connect(self) -> PostgresConnection:
        return PostgresConnection(open_connection(self.url))

    def begin(self, db: Connection, *, durable: bool) -> None:
        self._begin(db, "BEGIN")
        if not durable:
            db.execute("SET LOCAL synchronous_commit = off")

    def begin_to_read(self, db: Connection) -> None:
        self._begin(db, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def _begin(self, db: Connection, statement: str) -> None:
        """A connection that was lost while nothing was done is made anew, once."""
        ours = cast(PostgresConnection, db)
        try:
            ours.execute(statement)
        except _LOST:
            ours.raw.close()
            ours.raw = open_connection(self.url)
            ours.execute(statement)

    def roll_back(self, db: Connection) -> None:
        with contextlib.suppress(psycopg.Error):
            db.execute("ROLLBACK")

    def is_lost(self, error: Exception) -> bool:
        return isinstance(error, _LOST)

    def is_again(self, error: Exception) -> bool:
        return isinstance(error, _AGAIN)

    def explain(self, error: Exception) -> StorageError:
        for kind, hint in _HINTS.items():
            if isinstance(error, kind):
                return StorageError(hint)
        told = str(error).strip().split("\n")[0]
        if isinstance(error, _LOST):
            return StorageError(
                f"The database at {place(self.url)} cannot be reached: {told}. It is tried again "
                "with the next request."
            )
        return StorageError(f"The database failed: {told}.")


def place(url: str) -> str:
    """Host, port and name of a database, without its user and password."""
    parts = urlsplit(url)
    host = parts.hostname or "this machine"
    return f"{host}{f':{parts.port}' if parts.port else ''}{parts.path}"

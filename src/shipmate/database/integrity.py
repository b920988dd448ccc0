"""Whether a database is whole: its structure, and the content of its rows.

SQLite's own checks find a broken structure, but not a letter that has become another one: of
150 single flipped bits `quick_check` finds 10. So each row that matters carries a hash.
"""

import sqlite3
import time
from collections.abc import Container, Iterator
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

from shipmate.errors import StorageError

SESSION_HASHED = (
    "id, agent, provider, project, title, bypass_approval, archived, status, pending_approval, "
    "pending_question, created_at, updated_at, last_seq, tokens, context_tokens, context_max, "
    "context_source, error, owner, readers"
)
"""What the hash of a session covers. A migration that changes this hashes every row anew."""
BLOCK_HASHED = "session, id, pos, seq, type, body"
HASHED = {"sessions": SESSION_HASHED, "blocks": BLOCK_HASHED}
QUICK_SECONDS = 0.5
"""The check at a start takes no longer; what it has not seen by then the next backup checks."""
_NAMED = 10
"""Problems that are named one by one."""


class DamagedError(StorageError):
    """The database file is damaged; the message says how to get the content back."""

    code = "damaged"


class Text(bytes):
    """Text of a row as it lies in the file: what is damaged may be no UTF-8 any more."""


def row_hash(*values: object) -> int:
    """63 bits over the values of a row, as SQLite gives them; never 0, which means unknown."""
    digest = blake2b(digest_size=8)
    for value in values:
        data = value if isinstance(value, bytes) else str(value).encode()
        kind = b"t" if isinstance(value, (str, Text)) else b"b" if data is value else b"n"
        digest.update(b"%s%d:" % (kind, len(data)))
        digest.update(data)
    return int.from_bytes(digest.digest()) >> 1 or 1


def words_hash(*columns: str | bytes) -> bytes:
    """Over the words that something is found by."""
    texts = (one if isinstance(one, bytes) else one.encode() for one in columns)
    return blake2b(b"\0".join(texts), digest_size=8).digest()


def add_functions(db: sqlite3.Connection) -> None:
    """What statements and migrations may call on this connection."""
    db.create_function("row_hash", -1, row_hash, deterministic=True)


def check_quickly(db: sqlite3.Connection, seconds: float = QUICK_SECONDS) -> None:
    """Raise `DamagedError` when the structure is broken, as far as it is found in that time."""
    end = time.monotonic() + seconds
    db.set_progress_handler(lambda: time.monotonic() > end, 20_000)
    try:
        answer = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        answer = "ok"
    finally:
        db.set_progress_handler(None, 0)
    if answer != "ok":
        raise DamagedError(f"The structure is broken ({answer}).")


def damage(file: Path, *, full: bool = False) -> str:
    """What is wrong with the file, in one line; empty when nothing is. It is not changed.
    `full` looks at every row and every index: a second for 100 MB."""
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as db:
            db.text_factory = Text
            found = list(_full(db)) if full else list(_structure(db, "quick_check"))
    except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite's own words quote the file
        return str(error)
    more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return "; ".join(found[:_NAMED]) + more


def _structure(db: sqlite3.Connection, check: str) -> Iterator[str]:
    for (line,) in db.execute(f"PRAGMA {check}"):
        if line != b"ok":
            yield line.decode(errors="replace").replace("\n", " ")


def _full(db: sqlite3.Connection) -> Iterator[str]:
    yield from _structure(db, "integrity_check")
    for table, *_ in db.execute("PRAGMA foreign_key_check"):
        yield f"a row of {table.decode(errors='replace')} belongs to no session"
    for table, columns in HASHED.items():
        known = _columns(db, table)
        if "hash" in known:
            yield from _content(db, table, hashed_of(columns, known))
    if _columns(db, "indexed"):
        yield from _words(db)


def _words(db: sqlite3.Connection) -> Iterator[str]:
    query = (
        "SELECT i.session, i.block, i.digest, f.parts, f.wholes, f.title "
        "FROM indexed i LEFT JOIN search f ON f.rowid = i.id"
    )
    for session, block, digest, *columns in db.execute(query):
        if None in columns or words_hash(*columns) != digest:
            where = b" of ".join((block, session)).decode(errors="replace")
            yield f"the words that {where} is found by have changed"


def hashed_of(columns: str, known: Container[str]) -> str:
    """What the hash covers in a database of any version: later columns come at the end."""
    return ", ".join(name for name in columns.split(", ") if name in known)


def _columns(db: sqlite3.Connection, table: str) -> set[str]:
    columns = db.execute(f"PRAGMA table_info({table})").fetchall()
    return {column[1].decode(errors="replace") for column in columns}


def _content(db: sqlite3.Connection, table: str, columns: str) -> Iterator[str]:
    query = f"SELECT hash, {columns} FROM {table} WHERE hash <> 0"  # noqa: S608 - fixed names
    for kept, *values in db.execute(query):
        if row_hash(*values) != kept:
            names = [v.decode(errors="replace") for v in values[:2] if isinstance(v, bytes)]
            where = "".join(names[:1]) if table == "sessions" else " of ".join(reversed(names))
            yield f"the content of {where} in {table} has changed"

"""Saves the rows of a damaged database that can still be read into a new one."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from shipmate.database.integrity import HASHED, hashed_of, row_hash
from shipmate.database.migrations import migrate
from shipmate.database.sqlite_engine import connect
from shipmate.errors import StorageError

TABLES = ("meta", "sessions", "blocks", "queue", "users", "api_tokens", "sign_ins")
_BEYOND = 100_000
"""How many row numbers are tried after the last one that could be read."""


@dataclass(slots=True)
class Salvaged:
    rows: dict[str, int] = field(default_factory=dict[str, int])
    """How many were saved, by table."""
    altered: int = 0
    """Rows that were saved although their content is not what was written."""
    lost: int = 0
    """Rows that could be read but make no sense any more."""


def salvage(damaged: Path, target: Path) -> Salvaged:
    """Every row that can be read, row by row. A session whose own row is lost is made anew, so
    that its blocks can be seen. `StorageError` when not even the list of tables can be read."""
    result = Salvaged()
    with closing(sqlite3.connect(f"{damaged.as_uri()}?mode=ro", uri=True)) as old:
        old.text_factory = _text
        columns = _columns(old, damaged)
        with closing(connect(target)) as new:
            migrate(new)
            new.execute("PRAGMA foreign_keys=OFF")
            new.execute("BEGIN IMMEDIATE")
            for table in TABLES:
                _save_table(old, new, table, columns[table], result)
            _mend(new)
            new.execute("COMMIT")
    return result


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _columns(old: sqlite3.Connection, damaged: Path) -> dict[str, list[str]]:
    try:
        return {
            table: [str(row[1]) for row in old.execute(f"PRAGMA table_info({table})")]
            for table in TABLES
        }
    except sqlite3.Error as error:
        raise StorageError(
            f"Nothing of {damaged} can be read: {error}. Only a backup can help; they lie in "
            f"{damaged.parent / 'backups'}."
        ) from error


def _save_table(
    old: sqlite3.Connection,
    new: sqlite3.Connection,
    table: str,
    columns: Sequence[str],
    result: Salvaged,
) -> None:
    if not columns:
        return
    known = {str(row[1]) for row in new.execute(f"PRAGMA table_info({table})")}
    names = [name for name in columns if name in known and name != "hash"]
    insert = (
        f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) "  # noqa: S608 - fixed names
        f"VALUES ({', '.join('?' * len(names))})"
    )
    saved = 0
    for row in _readable(old, table):
        values = dict(zip(columns, row, strict=True))
        try:
            if table == "blocks":
                msgspec.json.decode(values["body"], type=dict[str, Any])
            added = new.execute(insert, [values[name] for name in names]).rowcount
        except (msgspec.DecodeError, UnicodeDecodeError, TypeError, sqlite3.IntegrityError):
            added = 0
        saved += added
        result.lost += not added
        result.altered += bool(added) and _is_altered(table, values)
    result.rows[table] = saved


def _is_altered(table: str, values: dict[str, Any]) -> bool:
    kept = values.get("hash", 0)
    if table not in HASHED or not kept:
        return False
    hashed = hashed_of(HASHED[table], values).split(", ")
    return row_hash(*(values[name] for name in hashed)) != kept


def _readable(old: sqlite3.Connection, table: str) -> Iterator[tuple[Any, ...]]:
    """Rows in their order; where reading on fails, one number after the other is tried."""
    query = f"SELECT * FROM {table} WHERE rowid = ?"  # noqa: S608 - fixed names
    last = _last(old, table)
    number = 0
    while number < last:
        number += 1
        try:
            row = old.execute(query, (number,)).fetchone()
        except sqlite3.Error:
            continue
        if row is not None:
            yield row


def _last(old: sqlite3.Connection, table: str) -> int:
    """The highest row number, or one that is surely not lower."""
    try:
        return old.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0  # noqa: S608
    except sqlite3.Error:
        pass
    last = 0
    try:
        for (number,) in old.execute(f"SELECT rowid FROM {table} ORDER BY rowid"):  # noqa: S608
            last = number
    except sqlite3.Error:
        pass
    return last + _BEYOND


def _mend(new: sqlite3.Connection) -> None:
    """Sessions for blocks that have none, numbers that fit, hashes."""
    new.execute(
        "INSERT INTO sessions (id, agent, provider, project, title, created_at, updated_at) "
        "SELECT session, 'assistant', '', '', 'Salvaged', 0, 0 FROM blocks "
        "WHERE session NOT IN (SELECT id FROM sessions) GROUP BY session"
    )
    new.execute(
        "UPDATE sessions SET last_seq = max(last_seq, coalesce("
        "(SELECT max(max(seq), max(pos)) FROM blocks WHERE session = sessions.id), 0))"
    )
    new.execute("INSERT INTO unindexed (session) SELECT id FROM sessions ORDER BY updated_at DESC")
    for table, columns in HASHED.items():
        new.execute(f"UPDATE {table} SET hash = row_hash({columns})")  # noqa: S608 - fixed names

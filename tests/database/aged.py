"""Databases for tests: filled, damaged, of an earlier version."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shipmate.database.migrations import migrate, scripts
from shipmate.database.sqlite import SqliteStore
from shipmate.database.sqlite_engine import connect
from shipmate.protocol import Message, SessionRow, User, new_id


def row(title: str = "", **fields: Any) -> SessionRow:
    return SessionRow(
        id=new_id(), agent="assistant", provider="scripted/demo", project="p", title=title, **fields
    )


async def filled(path: Path, sessions: int = 5, blocks: int = 40) -> list[str]:
    """Ids of the sessions; the store is closed, all is in the one file."""
    store = await SqliteStore.open(path)
    made: list[str] = []
    for number in range(sessions):
        made.append((await store.create_session(row(f"Session {number}"))).id)
        said = [
            User(text=f"q{n} " * 20) if n % 2 else Message(text="a " * 90) for n in range(blocks)
        ]
        await store.write(made[-1], said)
    await store.close()
    return made


def content(path: Path) -> dict[str, list[Any]]:
    """All that a person could miss."""
    db = sqlite3.connect(path)
    try:
        return {
            table: db.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3").fetchall()
            for table in ("sessions", "blocks")
        }
    finally:
        db.close()


def of_version_1(path: Path, fill: Callable[[sqlite3.Connection], object] | None = None) -> None:
    """A database as the first migration left it, with one session."""
    db = connect(path)
    migrate(db, scripts()[:1])
    db.execute(
        "INSERT INTO sessions (id, agent, provider, project, title, created_at, updated_at, "
        "last_seq) VALUES ('old', 'assistant', 'a/b', 'p', 'Old', 1, 1, 1)"
    )
    body = b'{"type":"user","session":"old","id":"u","pos":1,"seq":1,"at":1,"text":"hi"}'
    db.execute("INSERT INTO blocks VALUES ('old', 'u', 1, 1, 'user', ?)", (body,))
    if fill:
        fill(db)
    db.close()

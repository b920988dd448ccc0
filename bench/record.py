"""What it takes to keep one block, in this process, beside SQLite alone."""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.client import median
from bench.figures import Figure
from bench.rows import Bench
from shipmate.database.sqlite import SqliteStore
from shipmate.protocol import Message, SessionRow

TIMES = 300
TEXT = "A paragraph as models write them, of about two hundred characters. " * 3


async def milliseconds(work: Callable[[], Awaitable[object]]) -> float:
    took: list[float] = []
    for _ in range(TIMES):
        began = time.perf_counter()
        await work()
        took.append((time.perf_counter() - began) * 1000)
    return median(took)


def sqlite_alone(file: Path, synchronous: str) -> float:
    """One insert a transaction, in the way the store configures it."""
    db = sqlite3.connect(file, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute(f"PRAGMA synchronous={synchronous}")
    db.execute("CREATE TABLE IF NOT EXISTS kept (id INTEGER PRIMARY KEY, json BLOB)")
    took: list[float] = []
    for _ in range(TIMES):
        began = time.perf_counter()
        db.execute("INSERT INTO kept (json) VALUES (?)", (TEXT.encode(),))
        took.append((time.perf_counter() - began) * 1000)
    db.close()
    return median(took)


async def record(bench: Bench) -> list[Figure]:
    """A block of ordinary size; synced to the disk (what a person or a tool acted on) or not."""
    store = await SqliteStore.open(bench.place.folder / "record.db")
    row = SessionRow(id="s", agent="assistant", provider="bench/quick", project="bench")
    await store.create_session(row)
    try:
        loose = await milliseconds(lambda: store.write("s", [Message(text=TEXT)], durable=False))
        synced = await milliseconds(lambda: store.write("s", [Message(text=TEXT)]))
    finally:
        await store.close()
    alone = bench.place.folder / "alone.db"
    normal, full = [
        await asyncio.to_thread(sqlite_alone, alone, mode) for mode in ("NORMAL", "FULL")
    ]
    return [
        Figure("one block kept (beside it: SQLite alone)", loose, "ms", 0.5, normal),
        Figure("… synced to the disk", synced, "ms", full + 0.5, full),
    ]

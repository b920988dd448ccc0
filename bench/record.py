"""What it takes to keep one block, in this process, beside SQLite alone."""

import sqlite3
import time
from pathlib import Path

from bench.client import median
from bench.figures import Figure
from bench.rows import Bench
from shipmate.database.sqlite import SqliteStore
from shipmate.protocol import Message, SessionRow

TIMES = 300
TEXT = "A paragraph as models write them, of about two hundred characters. " * 3


def timed(took: list[float], began: float) -> None:
    took.append((time.perf_counter() - began) * 1000)


def open_alone(file: Path, synchronous: str) -> sqlite3.Connection:
    """One insert a transaction, in the way the store configures it."""
    db = sqlite3.connect(file, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute(f"PRAGMA synchronous={synchronous}")
    db.execute("CREATE TABLE IF NOT EXISTS kept (id INTEGER PRIMARY KEY, json BLOB)")
    return db


async def beside(store: SqliteStore, alone: sqlite3.Connection, *, durable: bool) -> list[float]:
    """Median milliseconds of the store and of SQLite, in turn, as disks have moods."""
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(TIMES):
        began = time.perf_counter()
        await store.write("s", [Message(text=TEXT)], durable=durable)
        timed(ours, began)
        began = time.perf_counter()
        alone.execute("INSERT INTO kept (json) VALUES (?)", (TEXT.encode(),))
        timed(theirs, began)
    return [median(ours), median(theirs)]


async def record(bench: Bench) -> list[Figure]:
    """A block of ordinary size; synced to the disk (what a person or a tool acted on) or not."""
    folder = bench.place.folder
    store = await SqliteStore.open(folder / "record.db")
    row = SessionRow(id="s", agent="assistant", provider="bench/quick", project="bench")
    await store.create_session(row)
    normal, full = [open_alone(folder / f"{mode}.db", mode) for mode in ("NORMAL", "FULL")]
    try:
        loose, loose_alone = await beside(store, normal, durable=False)
        synced, synced_alone = await beside(store, full, durable=True)
    finally:
        await store.close()
        normal.close()
        full.close()
    return [
        Figure("one block kept (beside it: SQLite alone)", loose, "ms", 0.5, loose_alone),
        Figure("… synced to the disk", synced, "ms", synced_alone + 0.5, synced_alone),
    ]

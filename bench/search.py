"""Words looked for among 100,000 messages, beside a bare query of the index in the same run."""

import asyncio
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlencode

from msgspec import structs

from bench.client import Target, get
from bench.figures import Figure
from bench.processes import ROOT
from bench.product import shipmate, signed_in
from bench.rows import Bench
from shipmate.database.searching import index_piece
from shipmate.database.sqlite import SqliteStore
from shipmate.database.store import Kept
from shipmate.protocol import Message, SessionRow, User, encode
from shipmate.session.searching import index_all

SESSIONS, EACH = 200, 500
BEGAN = 1_700_000_000_000
_dice = random.Random(7)  # noqa: S311 - no secret
_LETTERS = "etaoinshrdlucmfw"
WORDS = ["".join(_dice.choices(_LETTERS, k=_dice.randint(2, 9))) for _ in range(20_000)]
OFTEN = [1 / (place + 1) for place in range(len(WORDS))]
"""How often words are used, as in languages."""
SIGNS = [chr(0x4E00 + place) for place in range(3_000)]


def text() -> str:
    words = " ".join(_dice.choices(WORDS, OFTEN, k=_dice.choice((10, 30, 60, 120))))
    chinese = "".join(_dice.choices(SIGNS, OFTEN[: len(SIGNS)], k=40))
    return f"{words} {chinese if _dice.random() < 0.3 else ''}"


def queries() -> list[dict[str, str]]:
    """What people type: a word while it is typed, two, a phrase, Chinese, with filters."""
    made: list[dict[str, str]] = []
    for _ in range(40):
        one, two = _dice.choices(WORDS[:5000], OFTEN[:5000], k=2)
        rare = _dice.choice(WORDS)
        sign = "".join(_dice.choices(SIGNS, OFTEN[: len(SIGNS)], k=2))
        made += [{"q": q} for q in (one, one[:3], f"{one} {two}", f'"{one} {two}"', rare)]
        made += [{"q": q} for q in (sign, sign[0], f"{one}:{two}", f"{one} {sign}")]
        made += [{"q": one, "role": "user"}, {"q": one, "project": "rare"}]
        made += [{"q": one, "order": "newest"}]
    return made


def block(session: str, place: int, at: int) -> tuple[str, Kept]:
    made = Message(text=text()) if place % 2 else User(text=text())
    made = structs.replace(made, id=f"b{place}", session=session, pos=place, seq=place, at=at)
    return made.id, Kept(place, place, str(made.__struct_config__.tag), encode(made))


async def fill(file: Path) -> None:
    store = await SqliteStore.open(file)
    for number in range(SESSIONS):
        project = "rare" if number % 50 == 0 else "bench"
        row = SessionRow(
            id=f"s{number}",
            agent="assistant",
            provider="bench/quick",
            project=project,
            title=text(),
        )
        at = BEGAN + number * 1_000_000
        blocks = [block(row.id, place, at + place) for place in range(1, EACH + 1)]
        await store.fill_session(row, blocks)
    await index_all(store)
    await store.close()


async def taken(target: Target, path: str) -> float:
    began = time.perf_counter()
    status, body = await get(target, path)
    if status != 200:
        raise SystemExit(f"{path}: {status} {body[:200]!r}")
    return (time.perf_counter() - began) * 1000


def bare(file: Path, asked: list[dict[str, str]]) -> list[float]:
    took: list[float] = []
    query = "SELECT rowid FROM search WHERE search MATCH ? ORDER BY rowid DESC LIMIT 20"
    with sqlite3.connect(file) as db:
        for one in asked:
            words = str(one["q"]).replace('"', "").replace(":", " ").split()
            match = " ".join(f'"{word}"' for word in words)
            began = time.perf_counter()
            db.execute(query, (match,)).fetchall()
            took.append((time.perf_counter() - began) * 1000)
    db.close()
    return took


def p95(took: list[float]) -> float:
    return sorted(took)[int(len(took) * 0.95)]


def rebuilt(file: Path) -> float:
    """Seconds to index a tenth of it, as for what was there before."""
    tenth = "SELECT id FROM sessions LIMIT 20"
    with sqlite3.connect(file, isolation_level=None) as db:
        db.execute("PRAGMA foreign_keys=ON")
        db.execute(f"DELETE FROM indexed WHERE session IN ({tenth})")  # noqa: S608 - fixed words
        db.execute(f"INSERT INTO unindexed (session) {tenth}")
        began = time.perf_counter()
        more = True
        while more:
            db.execute("BEGIN IMMEDIATE")
            more = index_piece(db)
            db.execute("COMMIT")
        took = time.perf_counter() - began
    db.close()
    return took


async def search(bench: Bench) -> list[Figure]:
    """100,000 messages in 200 sessions."""
    data = bench.place.prepare("search")
    file = data / "sessions.db"
    filling = (sys.executable, "-m", "bench.search", str(file))
    await asyncio.to_thread(subprocess.run, filling, cwd=ROOT, check=True)
    asked = queries()
    with shipmate(bench.place, data) as started:
        target = signed_in(started, data).target
        messages: list[float] = []
        sessions: list[float] = []
        for one in asked:
            messages.append(await taken(target, f"/api/agent/search?{urlencode(one)}"))
            plain = {"q": one["q"]}
            sessions.append(await taken(target, f"/api/agent/search/sessions?{urlencode(plain)}"))
    alone = await asyncio.to_thread(bare, file, asked)
    again = await asyncio.to_thread(rebuilt, file)
    return [
        Figure("100,000 messages searched, p95", p95(messages), "ms", 20),
        Figure("… in bare queries of the index", p95(messages) / p95(alone), "×", 200),
        Figure("… their sessions, p95", p95(sessions), "ms", 20),
        Figure("10,000 messages indexed afterwards", again, "s", 10),
    ]


if __name__ == "__main__":
    asyncio.run(fill(Path(sys.argv[1])))

"""What lies on disk: the list, the end of a long session, following from a place, the start
after a kill."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from msgspec import structs

from bench.client import Target, get, median, open_to, request
from bench.figures import Figure
from bench.processes import ROOT
from bench.product import relay, shipmate, signed_in
from bench.rows import Bench, seconds_to_page
from shipmate.database.sqlite import SqliteStore
from shipmate.database.store import Kept
from shipmate.protocol import Message, SessionRow, User, encode

SESSIONS = 1000
RUNNING = 50
"""Of them, when the server is killed."""
LONG = 10_000
TIMES = 50
INDEXED_S = 300.0
SESSION_PATH = "/api/agent/sessions"
ANSWER = "A paragraph as models write them, of about two hundred characters. " * 6


def block(session: str, place: int) -> tuple[str, Kept]:
    made = Message(text=ANSWER) if place % 2 else User(text=ANSWER[:80])
    made = structs.replace(made, id=f"b{place}", session=session, pos=place, seq=place, at=1)
    return made.id, Kept(place, place, str(made.__struct_config__.tag), encode(made))


async def fill(file: Path) -> None:
    """Fill a database, and die as a server does that is killed."""
    store = await SqliteStore.open(file)
    for number in range(SESSIONS):
        row = SessionRow(
            id=f"s{number}",
            agent="assistant",
            provider="bench/quick",
            project="bench",
            title=f"Session {number} and what it is about",
        )
        count = 20 if number else LONG
        await store.fill_session(row, [block(row.id, place) for place in range(1, count + 1)])
        if number and number <= RUNNING:
            await store.write(row.id, row={"status": "running"})
            store.append_text(row.id, "live", "cut off", "")
    os.kill(os.getpid(), signal.SIGKILL)


async def indexed(target: Target) -> None:
    """Wait until the words of what was filled in are indexed, which happens beside all else."""
    until = time.monotonic() + INDEXED_S
    while True:
        status, body = await get(target, "/api/agent/search?q=paragraph&limit=1")
        if status == 200 and b'"indexing":null' in body:
            return
        if time.monotonic() > until:
            raise SystemExit(f"what was filled in is not indexed after {INDEXED_S:.0f} s")
        await asyncio.sleep(0.1)


async def timed(target: Target, path: str, word: bytes, times: int) -> float:
    """Median milliseconds of a GET on a connection of its own, whose answer has that word so
    often."""
    took: list[float] = []
    for _ in range(TIMES):
        began = time.perf_counter()
        status, body = await get(target, path)
        took.append((time.perf_counter() - began) * 1000)
        if status != 200 or body.count(word) != times:
            raise SystemExit(f"{path}: {status} {body[:200]!r}")
    return median(took)


async def resume(target: Target) -> float:
    """From the request to what changed since, and the row."""
    took: list[float] = []
    for _ in range(TIMES):
        reader, writer = await open_to(target)
        began = time.perf_counter()
        writer.write(request(target, "GET", f"{SESSION_PATH}/s0/events?after={LONG - 20}"))
        await reader.readuntil(b"event: session\n")
        took.append((time.perf_counter() - began) * 1000)
        writer.close()
    return median(took)


async def ready(bench: Bench, data: Path) -> float:
    """Seconds from the command to the page, after a kill."""
    with shipmate(bench.place, data) as server:
        return await seconds_to_page(server)


async def stored(bench: Bench) -> list[Figure]:
    """A data directory with a thousand sessions."""
    data = bench.place.prepare("stored")
    filling = (sys.executable, "-m", "bench.stored", str(data / "sessions.db"))
    await asyncio.to_thread(subprocess.run, filling, cwd=ROOT, check=False)
    again = await ready(bench, data)
    with relay(bench.place) as server:
        bare = await seconds_to_page(server)
    with shipmate(bench.place, data) as started:
        server = signed_in(started, data)
        await indexed(server.target)
        listed = await timed(server.target, f"{SESSION_PATH}?limit=1000", b'"last_seq":', SESSIONS)
        window = await timed(server.target, f"{SESSION_PATH}/s0?limit=100", b'"type":', 100)
        resumed = await resume(server.target)
    return [
        Figure("1,000 sessions listed", listed, "ms", 15),
        Figure("the end of 10,000 messages opened", window, "ms", 20),
        Figure("following from a place", resumed, "ms", 5),
        Figure("ready after kill -9, 1,000 sessions", again, "s", 2, bare),
    ]


if __name__ == "__main__":
    asyncio.run(fill(Path(sys.argv[1])))

"""What is measured, in groups that can be run alone. Goals are those of the specification."""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.client import Heard, get, listen, median, percentile
from bench.figures import Figure
from bench.product import Place, Server, relay, shipmate, signed_in

STARTS = 5
IDLE_SECONDS = 5.0
CROWD = 100
MEMORY = Path("/dev/shm")  # noqa: S108 - a folder in memory, where there is one


@dataclass(frozen=True)
class Bench:
    """Both servers, running, beside each other."""

    place: Place
    product: Server
    relay: Server

    def both(self) -> Iterator[Server]:
        yield self.product
        yield self.relay


async def start(bench: Bench) -> list[Figure]:
    """From the command to the page, and the first round of a new process."""
    pages: list[list[float]] = [[], []]
    rounds: list[float] = []
    for number in range(STARTS):
        data = bench.place.prepare(f"start-{number}")
        with shipmate(bench.place, data) as server:
            pages[0].append(await seconds_to_page(server))
            asking = signed_in(server, data)
            heard = await listen(asking.target, "quick")
            rounds.append((heard.ended - heard.posted) / 1000)
        with relay(bench.place) as server:
            pages[1].append(await seconds_to_page(server))
    mine, bare = map(median, pages)
    return [
        Figure("start to the page", mine, "s", 1.2, bare),
        Figure("… in starts of the relay", mine / bare, "×", 2),
        Figure("first round of a new process", median(rounds), "ms", 100),
    ]


async def seconds_to_page(server: Server) -> float:
    status, body = await get(server.target, "/")
    took = time.monotonic() - server.process.started
    if status != 200 or b"<!doctype html" not in body.lower():
        raise SystemExit(f"no page at {server.target.url}: {status} {body[:200]!r}")
    return took


async def rest(bench: Bench) -> list[Figure]:
    """Nobody asks anything; one round was run before."""
    usage: list[float] = []
    for server in bench.both():
        await listen(server.target, "quick")
    for server in bench.both():
        before = server.process.cpu()
        await asyncio.sleep(IDLE_SECONDS)
        usage.append((server.process.cpu() - before) / IDLE_SECONDS * 100)
    mine, bare = (server.process.memory() for server in bench.both())
    return [
        Figure("memory at rest", mine, "MB", 85, bare),
        Figure("processor at rest", usage[0], "%", 0.2, usage[1]),
    ]


async def request(bench: Bench) -> list[Figure]:
    """From the POST to the provider's request, in new sessions and running ones in turn. The
    message is synced to the disk before it is sent; the second figure is without a disk."""
    mine, bare = [await to_provider(server) for server in bench.both()]
    figures = [Figure("POST to the provider's request", mine, "ms", 5, bare)]
    if MEMORY.is_dir():
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            place = Place(Path(folder), bench.place.provider)
            data = place.prepare("data")
            with shipmate(place, data) as server:
                without = await to_provider(signed_in(server, data))
        figures.append(Figure("… with the data in memory, not on this disk", without, "ms", 5))
    return figures


async def to_provider(server: Server) -> float:
    waits: list[float] = []
    session = ""
    for number in range(60):
        heard = await listen(server.target, "quick", session if number % 2 else "")
        session = heard.session
        waits.append((int(heard.text.split()[0]) - heard.posted) / 1000)
    return median(waits[10:])


async def latency(bench: Bench) -> list[Figure]:
    """One token every 20 ms, to one client."""
    mine, bare = [
        (await listen(server.target, "rate-50-200")).latencies() for server in bench.both()
    ]
    return [
        Figure("a token to the client, p50", median(mine), "ms", 2, median(bare)),
        Figure("… p99", percentile(mine, 0.99), "ms", 25, percentile(bare, 0.99)),
    ]


async def tools(bench: Bench) -> list[Figure]:
    """A loop of `read_file`: from the end of a reply to the next request."""
    early: list[float] = []
    late: list[float] = []
    for _ in range(3):
        heard = await listen(bench.product.target, "tools-500")
        gaps = [int(gap) / 1000 for gap in heard.text.split()]
        early += gaps[10:30]
        late += gaps[480:500]
    return [
        Figure("one step of a tool loop", median(early), "ms", 6),
        Figure("step 500 in steps 20", median(late) / median(early), "×", 1.3),
    ]


@dataclass(frozen=True)
class Flat:
    """A stream as fast as it goes."""

    a_second: float
    micros: float
    """CPU of the server, a token."""
    bytes: float
    """Of the deltas, a token."""


async def flat_out(server: Server, tokens: int, times: int) -> Flat:
    rates: list[float] = []
    sizes: list[float] = []
    before = server.process.cpu()
    for _ in range(times):
        heard = await listen(server.target, f"flat-{tokens}")
        if len(heard.text) != tokens * 4:
            raise SystemExit(f"{len(heard.text) // 4} of {tokens} tokens came")
        rates.append(tokens / (heard.ended - heard.posted) * 1e6)
        sizes.append(heard.delta_bytes / tokens)
    spent = (server.process.cpu() - before) / times / tokens * 1e6
    return Flat(median(rates), spent, median(sizes))


async def flat(bench: Bench) -> list[Figure]:
    """One session, 20,000 tokens at once, kept and resumable."""
    mine = await flat_out(bench.product, 20_000, 5)
    bare = await flat_out(bench.relay, 20_000, 5)
    short = await flat_out(bench.product, 2_000, 20)
    return [
        Figure("20,000 tokens flat out", mine.a_second, "/s", 60_000, bare.a_second, at_least=True),
        Figure("… processor a token", mine.micros, "µs", 16, bare.micros),
        Figure("… of that for 2,000", mine.micros / short.micros, "×", 1.2),
        Figure("… bytes a token, joined", mine.bytes, "", 12, bare.bytes),
    ]


async def single(bench: Bench) -> list[Figure]:
    """Bytes of a delta that carries one token of four letters."""
    mine, bare = [await listen(server.target, "plain-50-200") for server in bench.both()]
    sizes = [heard.delta_bytes / len(heard.texts) for heard in (mine, bare)]
    return [Figure("bytes of a single delta", sizes[0], "", 90, sizes[1])]


async def crowd(bench: Bench) -> list[Figure]:
    """A hundred sessions, each 50 tokens a second for 10 seconds."""
    results = [await together(server) for server in bench.both()]
    mine, bare = results
    return [
        Figure("100 sessions: tokens lost", mine.lost, "", 0, bare.lost),
        Figure("… p50", percentile(mine.waits, 0.5), "ms", 25, percentile(bare.waits, 0.5)),
        Figure("… p99", percentile(mine.waits, 0.99), "ms", 25, percentile(bare.waits, 0.99)),
        Figure("… cores", mine.cores, "", 0.7, bare.cores),
        Figure("… memory after it", mine.memory, "MB", 200, bare.memory),
    ]


@dataclass(frozen=True)
class Crowd:
    waits: list[float]
    lost: int
    cores: float
    memory: float


async def together(server: Server) -> Crowd:
    async def one(number: int) -> Heard:
        await asyncio.sleep(number / 100)  # people do not all press Enter at once
        return await listen(server.target, "rate-50-500")

    before, began = server.process.cpu(), time.monotonic()
    heard = await asyncio.gather(*map(one, range(CROWD)))
    cores = (server.process.cpu() - before) / (time.monotonic() - began)
    waits = [wait for each in heard for wait in each.latencies()]
    return Crowd(waits, CROWD * 500 - len(waits), cores, server.process.memory())


GROUPS: dict[str, Callable[[Bench], Awaitable[list[Figure]]]] = {
    "start": start,
    "rest": rest,
    "request": request,
    "latency": latency,
    "tools": tools,
    "flat": flat,
    "single": single,
    "crowd": crowd,
}

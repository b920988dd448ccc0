"""The page in Chromium: what it weighs, what a long session and a fast stream cost it."""

import asyncio
import os
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from bench.browser import FRAMES, KEYS, Meter, weight
from bench.client import percentile
from bench.figures import Figure
from bench.rows import Bench
from bench.stored import block
from shipmate.database.sqlite import SqliteStore
from shipmate.protocol import SessionRow
from tests.cli.server import Served, served

MODEL = "bench/paper-1000-20000"
LENGTHS = (2_000, 10_000)
TYPED = "what a person writes while the answer is still coming in, without a pause. " * 2


async def fill(file: Path) -> None:
    """A session of each length, and an empty database around them."""
    store = await SqliteStore.open(file)
    for length in LENGTHS:
        row = SessionRow(
            id=f"s{length}", agent="assistant", provider=MODEL, project="bench", title="Long"
        )
        await store.fill_session(row, [block(row.id, place) for place in range(1, length + 1)])
    await store.close()


async def web(bench: Bench) -> list[Figure]:
    """Figures of the specification's `ui` table."""
    data = bench.place.prepare("web")
    await fill(data / "sessions.db")
    return await asyncio.to_thread(browse, data)


def browse(data: Path) -> list[Figure]:
    chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    with served(data) as server, sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        figures = [*empty(browser, server)]
        for length in LENGTHS:
            figures += long(browser, server, length)
        figures += streamed(browser, server)
        browser.close()
    return figures


def visit(browser: Browser, server: Served, place: str) -> tuple[Page, Meter]:
    """A signed-in browser's first look at a place, from the empty tab on."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.goto(server.api("POST", "/api/auth/link")["url"])
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    page.goto("about:blank")
    meter = Meter(page)
    page.goto(f"{server.url}/{place}")
    return page, meter


def empty(browser: Browser, server: Served) -> list[Figure]:
    page, meter = visit(browser, server, "")
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    took = meter.seconds("TaskDuration") * 1000
    weighed = weight(page, server)
    page.context.close()
    return [
        Figure("JavaScript at start, compressed", weighed.script, "kB", 150),
        Figure("CSS at start, compressed", weighed.style, "kB", 25),
        Figure("processor to an empty page", took, "ms", 300),
    ]


def long(browser: Browser, server: Served, length: int) -> list[Figure]:
    page, meter = visit(browser, server, f"#/s/s{length}")
    expect(page.locator("[data-kind=message]").last).to_be_visible()
    took = meter.seconds("TaskDuration") * 1000
    page.wait_for_function("document.fonts.status === 'loaded'")
    nodes = meter.nodes()
    page.context.close()
    name = f"{length:,} messages"
    return [
        Figure(f"processor to {name}", took, "ms", 400),
        Figure(f"DOM nodes, {name}", nodes, "", 1_500),
    ]


def streamed(browser: Browser, server: Served) -> list[Figure]:
    """20,000 tokens at 1,000 a second at the end of a long session, typed into meanwhile."""
    page, meter = visit(browser, server, f"#/s/s{LENGTHS[0]}")
    box = page.get_by_role("textbox", name="Message")
    box.fill("Go on")
    box.press("Control+Enter")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(page.locator("[data-kind=message]").last).to_be_visible()
    page.evaluate(FRAMES)
    script = meter.seconds("ScriptDuration")
    box.evaluate(KEYS)
    box.press_sequentially(TYPED, delay=60)
    typed: str = box.input_value()
    frames = int(page.evaluate("window.frames_"))
    spent = (meter.seconds("ScriptDuration") - script) * 1000
    expect(page.get_by_role("button", name="Stop")).to_have_count(0, timeout=120_000)
    keys: list[float] = page.evaluate("window.keys_")
    figures = [
        Figure("script a frame at 1,000 tokens/s", spent / max(frames, 1), "ms", 4),
        Figure("typing meanwhile: characters lost", len(TYPED) - len(typed), "", 0),
        Figure("typing meanwhile, p95", percentile(keys, 0.95), "ms", 100),
        Figure("memory after 20,000 tokens", meter.heap(), "MB", 60),
    ]
    page.context.close()
    return figures

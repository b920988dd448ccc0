"""What is said survives: a server killed in mid-sentence, lines cut, long sessions."""

import asyncio
import re
import signal
import threading
from collections.abc import Callable, Generator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from shipmate.database.sqlite import SqliteStore
from shipmate.protocol import AnyBlock, Message, SessionRow, User, new_id
from tests.cli.server import served
from tests.e2e.conftest import Desk
from tests.e2e.cutting import Cutter, cutter
from tests.provider import Answer, text_reply

GONE = "Failed to load resource"
LONG = 2000
WORDS = [f"word{n} " for n in range(80)]


def eventually(page: Page, holds: Callable[[], bool]) -> None:
    """Wait until the browser shows what no locator can say."""
    for _ in range(200):
        if holds():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it never came true")


def test_a_server_killed_in_mid_sentence_leaves_the_text_and_a_way_on(desk: Desk) -> None:
    desk.provider.queue(Answer(text_reply(*WORDS), split=200, delay=0.1, after="hang"))
    desk.say("Count")
    text = desk.page.locator("[data-kind=message] .md")
    expect(text).to_contain_text("word9 ")
    desk.expected.append(GONE)
    desk.server.end(signal.SIGKILL)
    port = urlsplit(desk.server.url).port
    data = desk.data
    with served(data, "--port", str(port)) as desk.server:
        ended = desk.page.get_by_role("region", name="The round was interrupted")
        expect(ended).to_be_visible()
        expect(text).to_contain_text("word0 word1 word2 ")
        expect(desk.page.get_by_text("Cut off here")).to_be_visible()
        desk.provider.queue(text_reply("And all of it."))
        ended.get_by_role("button", name="Resume").click()
        expect(desk.page.get_by_text("And all of it.")).to_be_visible()
        expect(ended).to_have_count(0)
        desk.page.reload()
        expect(desk.page.get_by_text("And all of it.")).to_be_visible()


def test_a_second_tab_in_mid_sentence_shows_all_and_both_end_alike(desk: Desk) -> None:
    rest = threading.Event()
    answer = Answer(text_reply(*WORDS), split=200, delay=0.06, gate=rest, free=6000)
    desk.provider.queue(answer)
    desk.say("Count")
    text = desk.page.locator("[data-kind=message] .md")
    expect(text).to_contain_text("word9 ")
    other = desk.page.context.new_page()
    other.goto(desk.page.url)
    second = other.locator("[data-kind=message] .md")
    expect(second).to_contain_text("word0 word1 word2 ")
    rest.set()
    for page, shown in ((desk.page, text), (other, second)):
        expect(page.locator("[data-kind=foot]")).to_be_visible()
        expect(shown).to_have_text("".join(WORDS).strip())
    other.close()


@pytest.fixture
def line() -> Generator[Cutter]:
    with cutter() as server:
        yield server


def test_a_stream_that_is_cut_again_and_again_loses_and_doubles_nothing(
    desk: Desk, line: Cutter, browser: Browser
) -> None:
    context = browser.new_context(proxy={"server": line.url})
    page = context.new_page()
    page.goto(desk.server.api("POST", "/api/auth/link")["url"])
    page.get_by_role("radio", name=re.compile("Demo")).check()
    rest = threading.Event()
    answer = Answer(text_reply(*WORDS), split=200, delay=0.06, gate=rest, free=6000)
    desk.provider.queue(answer)
    page.get_by_role("textbox", name="Message").fill("Count")
    page.keyboard.press("Control+Enter")
    text = page.locator("[data-kind=message] .md")
    for word in ("word5 ", "word20 ", "word50 "):
        expect(text).to_contain_text(word)
        line.cut_next()
    rest.set()
    expect(page.locator("[data-kind=foot]")).to_be_visible()
    expect(text).to_have_text("".join(WORDS).strip())
    assert line.cuts >= 3
    context.close()


def in_a_thread(what: Callable[[], None]) -> None:
    """Playwright holds this thread's event loop."""
    thread = threading.Thread(target=what)
    thread.start()
    thread.join()


@pytest.fixture
def long(desk: Desk) -> Generator[Desk]:
    """The server again, with a session of LONG messages: question and answer by turns."""
    assert desk.server.end() == 0
    data = desk.data

    async def fill() -> None:
        store = await SqliteStore.open(data / "sessions.db")
        row = SessionRow(
            id=new_id(), agent="assistant", provider="fake/m", project="demo", title="Long"
        )
        await store.create_session(row)
        turns: list[AnyBlock] = []
        for n in range(LONG // 2):
            turns += [User(text=f"question {n}"), Message(text=f"answer **{n}**\n\n- a\n- b")]
        await store.write(row.id, turns)
        await store.close()

    in_a_thread(lambda: asyncio.run(fill()))
    desk.expected.append(GONE)
    with served(data, "--port", str(urlsplit(desk.server.url).port)) as desk.server:
        yield desk


def first_in_view(log: Locator) -> tuple[str, float]:
    """The text of the highest bubble in view and its place in pixels."""
    found = log.evaluate(
        """log => {
          const top = log.getBoundingClientRect().top;
          const all = [...log.querySelectorAll(".bubble")]
            .map(e => [e.textContent, e.getBoundingClientRect().top - top])
            .filter(([, y]) => y > 0 && y < log.clientHeight).sort((a, b) => a[1] - b[1]);
          return all[0] ?? ["", 0];
        }"""
    )
    return found[0], found[1]


def test_a_long_session_opens_at_its_end_and_older_pages_load_without_a_jump(long: Desk) -> None:
    page = long.page
    page.get_by_role("link", name=re.compile("^Long")).click()
    log = page.get_by_role("log")
    expect(page.locator(".bubble").last).to_have_text(re.compile(f"question {LONG // 2 - 1}$"))
    expect(page.locator(".bubble").last).to_be_in_viewport()
    assert page.evaluate("document.querySelectorAll('*').length") <= 1500
    height: int = log.evaluate("e => e.scrollHeight")
    log.hover()
    page.mouse.wheel(0, -400)
    expect(page.get_by_role("button", name="Jump to latest")).to_be_visible()
    log.evaluate("e => e.scrollTo(0, 500)")
    eventually(page, lambda: first_in_view(log)[0] != "")
    name, place = first_in_view(log)
    eventually(page, lambda: log.evaluate("e => e.scrollHeight") > height + 500)
    page.evaluate("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
    assert first_in_view(log)[0] == name
    assert abs(first_in_view(log)[1] - place) <= 2
    first = page.locator(".bubble", has_text=re.compile("question 0$"))

    def at_the_start() -> bool:
        log.evaluate("e => e.scrollTo(0, 0)")
        return first.is_visible()

    eventually(page, at_the_start)
    assert page.evaluate("document.querySelectorAll('*').length") <= 1500

"""Many tabs of one browser: one stream for all, one state in all, one sign-in for all."""

import re
import threading
from collections.abc import Generator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import Desk
from tests.e2e.cutting import Cutter, cutter
from tests.provider import Answer, call_reply, text_reply

TABS = 8
WORDS = [f"word{n} " for n in range(240)]
WRITE = call_reply(("write_file", {"path": "new.txt", "content": "x\n"}))


@dataclass
class Tabs:
    """A browser with one signed-in tab, whose lines to the server are counted."""

    pages: list[Page]
    line: Cutter

    @property
    def first(self) -> Page:
        return self.pages[0]

    def say(self, text: str) -> None:
        self.first.get_by_role("textbox", name="Message").fill(text)
        self.first.keyboard.press("Control+Enter")

    def more(self, count: int) -> None:
        for _ in range(count):
            page = self.first.context.new_page()
            page.goto(self.first.url)
            self.pages.append(page)

    def streams(self, count: int) -> None:
        """Wait until so many event streams are open."""
        for _ in range(300):
            if len(self.line.streams) == count:
                return
            self.first.wait_for_timeout(50)
        raise AssertionError(f"{len(self.line.streams)} streams are open, not {count}")


@pytest.fixture
def tabs(desk: Desk, browser: Browser) -> Generator[Tabs]:
    with cutter() as line:
        context = browser.new_context(proxy={"server": line.url})
        page = context.new_page()
        page.set_default_timeout(45_000)
        page.goto(desk.server.api("POST", "/api/auth/link")["url"])
        page.get_by_role("radio", name=re.compile("Demo")).check()
        yield Tabs([page], line)
        context.close()


def test_eight_tabs_have_one_stream_and_agree_in_mid_sentence_and_on_approvals(
    desk: Desk, tabs: Tabs
) -> None:
    rest = threading.Event()
    answer = Answer(text_reply(*WORDS), split=250, delay=0.05, gate=rest, free=4000)
    desk.provider.queue(answer)
    tabs.say("Count")
    expect(tabs.first.locator("[data-kind=message] .md")).to_contain_text("word5 ")
    tabs.more(TABS - 1)
    for page in tabs.pages:
        expect(page.locator("[data-kind=message] .md")).to_contain_text("word0 word1 word2 ")
    tabs.streams(1)
    assert tabs.first.locator("[data-kind=foot]").count() == 0  # it is still being said
    rest.set()
    for page in tabs.pages:
        expect(page.locator("[data-kind=foot]")).to_be_visible()
        expect(page.locator("[data-kind=message] .md")).to_have_text("".join(WORDS).strip())

    desk.provider.queue(WRITE, text_reply("Written."))
    tabs.say("Write a file")
    for page in tabs.pages:
        expect(page.locator("section.card")).to_be_visible()
    tabs.pages[3].locator("section.card").get_by_role("button", name="Approve").click()
    for page in tabs.pages:
        expect(page.locator("section.card")).to_have_count(0)
        expect(page.get_by_text("Written.")).to_be_visible()
    assert len(tabs.line.streams) == 1


def test_the_stream_goes_on_when_the_tab_that_opened_it_is_closed(desk: Desk, tabs: Tabs) -> None:
    desk.provider.queue(text_reply("Hello."))
    tabs.say("Hi")
    expect(tabs.first.get_by_text("Hello.")).to_be_visible()
    tabs.more(1)
    expect(tabs.pages[1].get_by_text("Hello.")).to_be_visible()
    tabs.pages.pop(0).close()
    desk.provider.queue(text_reply("Still here."))
    tabs.say("And now?")
    expect(tabs.first.get_by_text("Still here.")).to_be_visible()


def test_signing_out_and_in_reaches_every_tab(desk: Desk, tabs: Tabs) -> None:
    desk.provider.queue(text_reply("Hello."))
    tabs.say("Hi")
    expect(tabs.first.get_by_text("Hello.")).to_be_visible()
    tabs.more(2)
    for page in tabs.pages:
        expect(page.get_by_text("Hello.")).to_be_visible()
    tabs.first.evaluate(
        "() => fetch('/api/auth/sign-out', {method: 'POST', headers:"
        " {'X-Shipmate-Token': localStorage.getItem('shipmate.token')}})"
    )
    for page in tabs.pages:
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        expect(page.get_by_text("What you have typed is kept.")).to_be_visible()
    last = tabs.pages[2]
    link = desk.server.api("POST", "/api/auth/link")["url"]
    last.get_by_role("textbox", name="Link or token").fill(link)
    last.keyboard.press("Enter")
    for page in tabs.pages:
        expect(page.get_by_role("heading", name="Sign in")).to_have_count(0)
    desk.provider.queue(text_reply("You are."))
    tabs.say("Am I in again?")
    for page in tabs.pages:
        expect(page.get_by_text("You are.")).to_be_visible()

"""Bug reports of other pages, tried on ours (`tests/cases/reports.jsonl`, area `ui`)."""

import re
import threading
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import Desk
from tests.provider import Answer, call_reply, chunk, sse, text_reply

TOOLS = '"tools":'
PARAGRAPHS = [
    f"Paragraph {n} says what it has to say, in a line or two of text.\n\n" for n in range(60)
]


def answer(desk: Desk, *texts: str) -> None:
    desk.provider.queue(Answer(text_reply(*texts), when=TOOLS))


def log(page: Page) -> Locator:
    return page.get_by_role("log")


def flowing(desk: Desk, pieces: list[str]) -> threading.Event:
    """A long answer, then one that flows in slowly once the event is set."""
    answer(desk, *PARAGRAPHS)
    desk.say("First")
    desk.done()
    go = threading.Event()
    body = sse(*(chunk({"content": piece}) for piece in pieces), chunk(finish="stop"))
    desk.provider.queue(Answer(body, split=200, delay=0.01, gate=go, when=TOOLS))
    desk.say("Second")
    return go


def top(page: Page) -> float:
    return float(log(page).evaluate("e => e.scrollTop"))


def come_to_rest(page: Page) -> None:
    """Wait until what a key or a wheel has set in motion stands still: a browser scrolls softly."""
    log(page).evaluate(
        """async e => {
            for (let still = 0, was = NaN; still < 20; ) {
                was = e.scrollTop;
                await new Promise(requestAnimationFrame);
                still = e.scrollTop === was ? still + 1 : 0;
            }
        }"""
    )


def left(page: Page) -> float:
    """Pixels below what is in view."""
    return float(log(page).evaluate("e => e.scrollHeight - e.clientHeight - e.scrollTop"))


@pytest.mark.parametrize("way", ["wheel", "key"])
def test_uix_03_the_view_stays_where_the_reader_went_and_follows_again_at_the_end(
    desk: Desk, way: str
) -> None:
    page = desk.page
    go = flowing(desk, PARAGRAPHS)
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    if way == "wheel":
        log(page).hover()
        page.mouse.wheel(0, -600)
    else:
        log(page).focus()
        page.keyboard.press("PageUp")
    expect(page.get_by_role("button", name=re.compile("^Jump to latest"))).to_be_visible()
    marked = page.get_by_text("Paragraph 55 says").first
    expect(marked).to_be_attached()
    come_to_rest(page)
    before = marked.evaluate("e => e.getBoundingClientRect().top")
    go.set()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    after = marked.evaluate("e => e.getBoundingClientRect().top")
    assert abs(after - before) <= 2
    page.get_by_role("button", name=re.compile("^Jump to latest")).click()
    expect(page.get_by_role("button", name=re.compile("^Jump to latest"))).to_have_count(0)
    page.wait_for_function(
        "e => e.scrollHeight - e.clientHeight - e.scrollTop < 3", arg=log(page).element_handle()
    )


def test_uix_03_at_the_end_the_view_follows(desk: Desk) -> None:
    go = flowing(desk, PARAGRAPHS)
    go.set()
    expect(desk.page.get_by_text("Paragraph 59 says").last).to_be_in_viewport()
    desk.done()
    assert left(desk.page) < 100


WIDE = {
    "letters": "a" * 100_000,
    "address": "https://example.org/" + "x" * 2_000,
    "table": "|" + "|".join(f"column {n}" for n in range(200)) + "|\n|" + "---|" * 200
    + "\n|" + "|".join(str(n) for n in range(200)) + "|",
    "zalgo": "z" + "\u0300\u0301\u0302\u0323" * 300,
}  # fmt: skip


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_uix_06_what_is_wide_scrolls_in_its_own_box_and_buttons_stay(
    desk: Desk, width: int
) -> None:
    page = desk.page
    page.set_viewport_size({"width": width, "height": 800})
    path = "/".join(["folder"] * 60) + ".txt"
    desk.provider.queue(
        Answer(call_reply(("write_file", {"path": path, "content": "x" * 10_000})), when=TOOLS)
    )
    desk.say("\n\n".join(WIDE.values())[:3_900])
    approve = page.get_by_role("button", name="Approve", exact=True)
    expect(approve).to_be_in_viewport()
    answer(desk, "\n\n".join(WIDE.values()) + "\n\n```text\n" + "line\n" * 5_000 + "```")
    come_to_rest(page)
    page.get_by_role("button", name="Deny", exact=True).click()
    desk.done()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert log(page).evaluate("e => e.scrollWidth <= e.clientWidth")
    for name in ("Send", "Message"):
        expect(
            page.get_by_label(name, exact=True).or_(page.get_by_role("button", name=name)).first
        ).to_be_in_viewport()


def test_uix_10_each_block_has_the_direction_of_its_words_and_code_has_its_own(desk: Desk) -> None:
    arabic = "شغّل `npm run dev` الآن"
    answer(
        desk, f"{arabic}\n\n中文的一段，夹着 `代码`。\n\n```sh\nnpm run dev # شغّل\n```\n\nEnglish."
    )
    desk.say(arabic)
    desk.done()
    said = desk.page.locator("[data-kind=message]").last
    directions: list[Any] = said.locator("p").evaluate_all(
        "all => all.map(p => getComputedStyle(p).direction)"
    )
    assert directions == ["rtl", "ltr", "ltr"]
    assert (
        desk.page.locator(".bubble [dir]").evaluate("e => getComputedStyle(e).direction") == "rtl"
    )
    assert said.locator("pre code").evaluate("e => getComputedStyle(e).direction") == "ltr"


def test_a_million_characters_pasted_are_a_chip_and_arrive_whole(desk: Desk) -> None:
    page = desk.page
    page.get_by_role("textbox", name="Message").evaluate(
        """box => {
          const data = new DataTransfer();
          data.setData("text/plain", "0123456789".repeat(100_000));
          const kind = {clipboardData: data, bubbles: true, cancelable: true};
          box.dispatchEvent(new ClipboardEvent("paste", kind));
        }"""
    )
    expect(page.get_by_text("pasted.txt")).to_be_visible()
    answer(desk, "Read.")
    desk.say("Read this")
    expect(page.get_by_text("Read.")).to_be_visible()
    assert (
        desk.server.api("GET", f"/api/agent/sessions/{desk.row()['id']}")["blocks"][0]["text"]
        == "0123456789" * 100_000
    )
    page.get_by_role("button", name="pasted.txt").click()
    shown = page.get_by_role("group", name="pasted.txt")
    assert len(shown.inner_text()) == 50_000
    page.get_by_role("button", name="Show more: 950,000 characters follow").click()
    assert len(shown.inner_text()) == 100_000
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_result_of_ten_million_characters_is_shown_by_its_beginning(desk: Desk) -> None:
    (desk.project / "big.py").write_text("print('x' * 10_000_000)\n")
    command = {"command": "python3 big.py"}
    desk.provider.queue(Answer(call_reply(("shell_exec", command)), when=TOOLS))
    answer(desk, "Long.")
    desk.say("Print")
    desk.page.get_by_role("button", name="Approve", exact=True).click()
    expect(desk.page.get_by_text("Long.")).to_be_visible()
    desk.page.get_by_role("button", name=re.compile("shell_exec")).click()
    shown = desk.page.get_by_role("group", name="Result").inner_text()
    assert 1_000 < len(shown) <= 20_000


def test_a_stream_that_stalls_is_still_shown_and_can_be_stopped(desk: Desk) -> None:
    body = sse(chunk({"content": "The first half, "}), done=False)
    desk.provider.queue(Answer(body, after="hang", when=TOOLS))
    desk.say("Go")
    expect(desk.page.get_by_text("The first half,")).to_be_visible()
    desk.write("typed meanwhile")
    desk.page.get_by_role("button", name="Stop").click()
    expect(desk.page.get_by_text("The first half,")).to_be_visible()
    expect(desk.page.get_by_role("button", name="Stop")).to_have_count(0)
    expect(desk.page.get_by_role("textbox", name="Message")).to_have_value("typed meanwhile")

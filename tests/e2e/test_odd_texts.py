"""Texts that push, pull or break: wide, unbroken, right-to-left, joined, hostile in odd places."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import Desk
from tests.provider import call_reply, text_reply

FAMILY = "👨\u200d👩\u200d👧\u200d👦"
ZALGO = "Z\u0351\u036b\u0343\u036a" * 40
UNBROKEN = "a" * 10_000
LONG_PATH = "/".join(["folder-with-a-long-name"] * 17) + "/f.txt"
WIDE = "\n\n".join(
    [
        UNBROKEN,
        f"https://example.com/{'p' * 2000}",
        "|" + " head |" * 30 + "\n|" + "---|" * 30 + "\n|" + " cell |" * 30,
        f"# {ZALGO}",
        "```py\n" + f"x = '{'y' * 500}'\n" * 200 + "```",
    ]
)
HOSTILE = (
    "<img src=x onerror=window.__x=1><svg/onload=window.__x=1>"
    "<iframe srcdoc='<script>parent.__x=1</script>'></iframe>"
)
LINKS = "[a](javascript:window.__x=1) [b](JaVaScRiPt&#58;window.__x=1) [c](https://example.com/)"


def overflow(page: Page) -> list[str]:
    """What is wider than the screen, or makes the page or the thread scroll sideways."""
    return page.evaluate(
        """() => {
          const root = document.documentElement, log = document.querySelector(".log");
          const wide = [root, log].filter(e => e.scrollWidth > e.clientWidth)
            .map(e => e.className || "page");
          const out = [...document.querySelectorAll("button")]
            .filter(e => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1)
            .map(e => e.textContent.trim());
          return [...wide, ...out];
        }"""
    )


def scrolled_up_to(wanted: Locator, log: Locator) -> None:
    """Only what is near the screen is in the page."""
    for _ in range(100):
        if wanted.count():
            return
        log.evaluate(
            """e => {
              e.scrollBy(0, -300);
              return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
            }"""
        )
    expect(wanted).to_be_attached()


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_wide_and_unbroken_texts_scroll_in_their_own_boxes(desk: Desk, width: int) -> None:
    desk.page.set_viewport_size({"width": width, "height": 800})
    desk.provider.queue(
        call_reply(("write_file", {"path": LONG_PATH, "content": UNBROKEN}), text=WIDE)
    )
    desk.say(UNBROKEN)
    card = desk.page.locator("section.card")
    expect(card).to_be_visible()
    assert overflow(desk.page) == []
    for name in ("Approve", "Deny", "Deny with a reason"):
        button = card.get_by_role("button", name=name, exact=False).first
        button.scroll_into_view_if_needed()
        expect(button).to_be_in_viewport(ratio=1)
    log = desk.page.get_by_role("log")
    scrolled_up_to(log.locator("table"), log)
    log.evaluate("e => e.scrollTo(0, 0)")
    expect(desk.page.locator(".bubble")).to_be_in_viewport()
    assert overflow(desk.page) == []


def test_markup_stays_text_in_every_place_a_text_appears(desk: Desk) -> None:
    todo = {"todoList": [{"id": 1, "title": HOSTILE, "status": "in-progress"}]}
    (desk.project / "hostile.txt").write_text(HOSTILE + LINKS)
    desk.provider.queue(
        call_reply(("read_file", {"path": "hostile.txt"}), ("manage_todo_list", todo)),
        call_reply(("ask_user", {"question": LINKS, "options": [HOSTILE]}), text=LINKS),
    )
    desk.say(HOSTILE)
    thread = desk.page.get_by_role("log")
    expect(thread.locator("section.card")).to_be_visible()
    desk.server.api("PATCH", f"/api/agent/sessions/{desk.row()['id']}", {"title": HOSTILE})
    expect(desk.page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    thread.get_by_role("button", name=re.compile("read_file")).click()
    expect(thread.get_by_role("group", name="Result")).to_contain_text("onerror")
    expect(desk.page.locator("main :is(img, iframe, object, form[action], script)")).to_have_count(
        0
    )
    links = thread.locator(".md a")
    for link in links.all():
        if link.get_attribute("href"):
            expect(link).to_have_attribute("href", "https://example.com/")
            expect(link).to_have_attribute("rel", re.compile("noopener"))
        else:
            link.click()
    assert links.count() >= 1
    assert desk.page.evaluate("window.__x") is None


def test_arabic_with_code_and_joined_emoji_stay_whole(desk: Desk) -> None:
    arabic = "شغّل `npm run dev` الآن"
    desk.provider.queue(text_reply(f"{arabic}\n\nAnd in English."), text_reply(FAMILY * 100))
    desk.say(FAMILY * 100)
    desk.done()
    right, left = desk.page.locator(".md p").all()
    assert right.evaluate("e => getComputedStyle(e).direction") == "rtl"
    assert left.evaluate("e => getComputedStyle(e).direction") == "ltr"
    assert right.locator("code").evaluate("e => getComputedStyle(e).direction") == "ltr"
    title = desk.page.get_by_role("heading", level=1)
    expect(title).to_have_text(re.compile(f"^({FAMILY})+…$"))
    expect(desk.page.locator("main time")).to_have_attribute("title", re.compile(r"\d{4}"))
    assert overflow(desk.page) == []


def test_a_setting_makes_enter_send_and_composing_never_does(desk: Desk) -> None:
    page = desk.page
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("radio", name="Enter", exact=True).check()
    page.get_by_role("link", name="New chat").click()
    message = page.get_by_role("textbox", name="Message")
    message.focus()
    browser: Any = page.context.new_cdp_session(page)
    half = {"text": "nihao", "selectionStart": 5, "selectionEnd": 5}
    browser.send("Input.imeSetComposition", half)
    enter = {"type": "rawKeyDown", "key": "Process", "code": "Enter", "windowsVirtualKeyCode": 229}
    browser.send("Input.dispatchKeyEvent", enter)
    browser.send("Input.insertText", {"text": "你好"})
    expect(message).to_have_value("你好")
    message.press("Shift+Enter")
    message.press_sequentially("two")
    expect(message).to_have_value("你好\ntwo")
    assert desk.provider.seen == []
    message.press("Enter")
    expect(page.locator(".bubble")).to_contain_text("你好\ntwo")
    desk.done()
    assert "你好\\ntwo" in json.dumps(desk.provider.seen[0].messages, ensure_ascii=False)

"""The palette, the shortcuts, words found in a whole session, its outline, its plain page."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Desk
from tests.e2e.test_access import faults
from tests.e2e.test_sidebar import rows, talk
from tests.provider import text_reply


def imported(desk: Desk, rounds: int) -> str:
    """A session of so many rounds, much longer than what a page loads; its id."""
    blocks: list[dict[str, Any]] = []
    for n in range(1, rounds + 1):
        said = [
            ("user", f"u{n}", f"Question {n}"),
            ("message", f"m{n}", f"Answer {n}. " + "x " * 40),
        ]
        for kind, block, text in said:
            place = len(blocks) + 1
            blocks.append({"type": kind, "id": block, "text": text, "pos": place, "seq": place})
    talk(desk, "Short one")
    row = desk.row()
    document = {
        "shipmate": 1,
        "session": {**row, "title": "Long one"},
        "blocks": blocks,
        "files": {},
    }
    made = desk.server.api("POST", "/api/agent/sessions/import", {**document, "project": "demo"})
    return made["id"]


def at_row(desk: Desk, text: str) -> Locator:
    return desk.page.locator(".row").filter(has_text=re.compile(rf"\b{text}\b"))


def test_the_palette_goes_to_a_conversation_and_does_what_is_typed_by_keys_alone(
    desk: Desk,
) -> None:
    talk(desk, "Fix the login loop")
    talk(desk, "Slow start")
    page, keys = desk.page, desk.page.keyboard
    keys.press("Control+k")
    field = page.get_by_role("combobox", name="Search conversations and commands")
    expect(field).to_be_focused()
    assert faults(page) == []
    keys.type("lgin")
    expect(page.get_by_role("option").first).to_contain_text("Fix the login loop")
    keys.press("Enter")
    expect(page.get_by_role("heading", name="Fix the login loop", level=1)).to_be_visible()
    keys.press("Control+k")
    keys.type("theme dark")
    expect(page.get_by_role("option", selected=True)).to_have_text("Theme: Dark")
    keys.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    keys.press("Control+k")
    keys.type("qqq")
    expect(page.get_by_role("option")).to_have_text(["Search for “qqq”"])
    keys.press("Escape")
    expect(page.get_by_role("dialog", name="Go to or do…")).to_be_hidden()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("")


def test_a_question_mark_shows_the_shortcuts_and_is_a_letter_where_one_types(desk: Desk) -> None:
    box = desk.page.get_by_role("textbox", name="Message")
    box.press("?")
    expect(box).to_have_value("?")
    box.fill("")
    desk.page.get_by_role("link", name="Settings").focus()
    desk.page.keyboard.press("?")
    expect(desk.page.get_by_text("Go to a conversation, or do something")).to_be_visible()


def test_words_far_above_are_found_opened_and_marked(desk: Desk) -> None:
    session = imported(desk, 400)
    desk.open(f"#/s/{session}")
    page = desk.page
    expect(at_row(desk, "Question 400")).to_be_in_viewport()
    page.keyboard.press("Control+f")
    field = page.get_by_role("textbox", name="Find in the whole conversation")
    expect(field).to_be_focused()
    field.fill("question 7")
    expect(page.get_by_text("11 of 11")).to_be_visible()
    expect(at_row(desk, "Question 79")).to_be_in_viewport()
    assert faults(page) == []
    field.fill("answer 3.")
    expect(page.get_by_text("1 of 1")).to_be_visible()
    expect(at_row(desk, "Answer 3")).to_be_in_viewport()
    page.wait_for_function("CSS.highlights.get('found')?.size > 0")
    field.fill("no such words")
    expect(page.get_by_text("Not found")).to_be_visible()
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    assert page.evaluate("CSS.highlights.has('found')") is False


def test_the_second_ctrl_f_is_left_to_the_browser(desk: Desk) -> None:
    talk(desk, "Somewhere")
    page = desk.page
    page.evaluate(
        """addEventListener('keydown', (event) => {
        if (event.code === 'KeyF') window.taken = event.defaultPrevented
    })"""
    )
    page.keyboard.press("Control+f")
    expect(page.get_by_role("search")).to_be_visible()
    assert page.evaluate("window.taken") is True
    page.keyboard.press("Control+f")
    assert page.evaluate("window.taken") is False
    expect(page.get_by_role("search")).to_be_hidden()


def test_the_outline_leads_to_a_message_that_was_not_loaded(desk: Desk) -> None:
    session = imported(desk, 300)
    desk.open(f"#/s/{session}")
    expect(at_row(desk, "Question 300")).to_be_in_viewport()
    page = desk.page
    page.keyboard.press("Alt+o")
    outline = page.get_by_role("dialog", name="Your messages")
    expect(outline.get_by_role("listitem")).to_have_count(300)
    expect(outline.get_by_role("button", name="Question 300")).to_be_focused()
    assert faults(page) == []
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(at_row(desk, "Question 1")).to_be_in_viewport()


def test_a_conversation_opens_where_it_was_left(desk: Desk) -> None:
    session = imported(desk, 60)
    desk.open(f"#/s/{session}")
    expect(at_row(desk, "Question 60")).to_be_in_viewport()
    desk.page.keyboard.press("Alt+o")
    desk.page.get_by_role("button", name="Question 20 ").click()
    expect(at_row(desk, "Question 20")).to_be_in_viewport()
    rows(desk).filter(has_text="Short one").get_by_role("link").click()
    expect(desk.page.get_by_role("heading", name="Short one", level=1)).to_be_visible()
    rows(desk).filter(has_text="Long one").get_by_role("link").click()
    expect(at_row(desk, "Question 20")).to_be_in_viewport()
    expect(desk.page.get_by_role("button", name=re.compile("Jump to latest"))).to_be_visible()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_plain_page_opens_beside_this_one(desk: Desk, width: int) -> None:
    desk.page.set_viewport_size({"width": width, "height": 844})
    desk.provider.queue(text_reply("Well **said**."), text_reply("Print me"))
    desk.say("Say something to print")
    desk.done()
    desk.page.get_by_role("main").get_by_role(
        "button", name="Actions for this conversation"
    ).click()
    with desk.page.context.expect_page() as opened:
        desk.page.get_by_role("menuitem", name="Open as plain page").click()
    plain = opened.value
    expect(plain.get_by_text("Say something to print")).to_be_visible()
    expect(plain.get_by_role("heading", level=1)).to_be_visible()
    assert plain.evaluate("document.scripts.length") == 0
    plain.close()

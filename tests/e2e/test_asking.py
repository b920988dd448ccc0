"""Approvals, questions and the todo list: what a person decides, and how it is kept."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Desk
from tests.provider import call_reply, text_reply

WRITE = ("write_file", {"path": "new.txt", "content": "one\ntwo\u202e\n"})
REMOVE = ("shell_exec", {"command": "rm -rf build/ && echo gone"})


def test_a_write_shows_its_whole_diff_and_is_done_when_approved(desk: Desk) -> None:
    desk.provider.queue(call_reply(WRITE), text_reply("Written."))
    desk.say("Write a file")
    card = desk.page.locator("section.card")
    expect(card.get_by_role("heading")).to_contain_text("⚠️ Approval Request")
    expect(card).to_contain_text("new.txt")
    expect(card.get_by_role("group", name="Changes of new.txt")).to_contain_text("U+202E")
    expect(desk.page).to_have_title(re.compile(r"^\(1\) "))
    assert not (desk.project / "new.txt").exists()
    card.get_by_role("button", name="Approve").click()
    desk.done()
    assert (desk.project / "new.txt").read_text() == "one\ntwo\u202e\n"
    decided = desk.page.get_by_role("button", name=re.compile("Approval Request.*Approved"))
    expect(decided).to_be_visible()
    desk.page.reload()
    expect(decided).to_be_visible()
    decided.click()
    expect(desk.page.get_by_role("group", name="Changes of new.txt").first).to_contain_text("two")


def test_buttons_wait_half_a_second_so_that_a_stray_click_decides_nothing(desk: Desk) -> None:
    desk.page.clock.install()
    desk.provider.queue(call_reply(WRITE))
    desk.say("Write a file")
    approve = desk.page.get_by_role("button", name="Approve", exact=False).first
    expect(approve).to_be_visible()
    desk.page.clock.pause_at(desk.page.evaluate("Date.now() + 60_000"))
    desk.page.reload()
    expect(approve).to_have_attribute("aria-disabled", "true")
    approve.click(force=True)
    desk.page.clock.fast_forward(600)
    expect(approve).to_have_attribute("aria-disabled", "false")
    assert desk.row()["status"] == "waiting_approval"


def test_a_dangerous_command_is_red_and_no_button_is_the_default(desk: Desk) -> None:
    desk.provider.queue(call_reply(REMOVE), text_reply("I leave it."))
    desk.say("Clean up")
    card = desk.page.locator("section.card.danger")
    expect(card.get_by_role("heading")).to_contain_text("⚠️ Dangerous Command Warning")
    expect(card.get_by_role("group", name="Command")).to_have_text("rm -rf build/ && echo gone")
    expect(card.locator("button.primary")).to_have_count(0)
    card.get_by_role("button", name="Deny with a reason").click()
    card.get_by_role("textbox").fill("Keep the build.")
    card.get_by_role("button", name="Deny").click()
    desk.done()
    assert "Keep the build." in str(desk.provider.seen[1].messages)
    expect(desk.page.get_by_role("button", name=re.compile("Dangerous.*Denied"))).to_be_visible()


def test_a_and_d_decide_only_while_the_card_has_the_focus(desk: Desk) -> None:
    desk.provider.queue(call_reply(WRITE), text_reply("Not written."))
    desk.say("Write a file")
    card = desk.page.locator("section.card")
    expect(card.get_by_role("button", name="Approve")).to_have_attribute("aria-disabled", "false")
    desk.page.get_by_role("textbox", name="Message").press_sequentially("a dad")
    assert desk.row()["status"] == "waiting_approval"
    desk.page.keyboard.press("Alt+a")
    expect(card).to_be_focused()
    desk.page.keyboard.press("d")
    desk.done()
    assert not (desk.project / "new.txt").exists()


def test_a_blocked_command_is_a_grey_card_without_buttons(desk: Desk) -> None:
    blocked = ("shell_exec", {"command": "dd if=/dev/zero of=/dev/sda"})
    desk.provider.queue(call_reply(blocked), text_reply("It is blocked."))
    desk.say("Wipe it")
    desk.done()
    expect(desk.page.get_by_role("button", name=re.compile("blocked.*shell_exec"))).to_be_visible()
    expect(desk.page.locator("section.card")).to_have_count(0)


def test_with_the_bypass_a_write_is_not_asked_for_and_a_command_is(desk: Desk) -> None:
    desk.page.get_by_role("switch", name="Bypass").click()
    desk.provider.queue(call_reply(WRITE), call_reply(REMOVE), text_reply("Done."))
    desk.say("Write, then clean up")
    expect(desk.page.locator("section.card.danger")).to_be_visible()
    assert (desk.project / "new.txt").exists()
    expect(desk.page.get_by_text("Bypass on")).to_be_visible()
    expect(desk.page.get_by_role("switch", name="Bypass")).to_be_checked()


@pytest.mark.parametrize("free", [False, True])
def test_a_question_is_answered_by_a_button_or_in_words(desk: Desk, free: bool) -> None:
    question = ("ask_user", {"question": "Which **colour**?", "options": ["Red", "Blue"]})
    desk.provider.queue(call_reply(question), text_reply("Noted."))
    desk.say("Ask me")
    card = desk.page.locator("section.card")
    expect(card.locator("strong")).to_have_text("colour")
    if free:
        card.get_by_role("textbox").fill("Green")
        card.get_by_role("button", name="Answer").click()
    else:
        card.get_by_role("button", name="Blue").click()
    desk.done()
    expect(card).to_contain_text(f"Your answer: {'Green' if free else 'Blue'}")
    assert ("Green" if free else "Blue") in str(desk.provider.seen[1].messages)


def test_the_todo_list_counts_collapses_and_is_cleared(desk: Desk) -> None:
    todo = {
        "todoList": [
            {"id": 1, "title": "Read", "status": "completed"},
            {"id": 2, "title": "Write", "status": "in-progress"},
        ]
    }
    desk.provider.queue(call_reply(("manage_todo_list", todo)), text_reply("Planned."))
    desk.say("Plan")
    desk.done()
    widget = desk.page.get_by_role("region", name="Todo")
    expect(widget).to_contain_text("Todo 1/2")
    expect(widget.get_by_role("listitem")).to_have_count(2)
    widget.get_by_role("button", name="Collapse").click()
    expect(widget.get_by_role("listitem")).to_have_count(0)
    widget.get_by_role("button", name="Clear").click()
    expect(widget).to_have_count(0)

"""Branches, exports and imports, as one makes them in the page."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Desk
from tests.e2e.test_access import faults
from tests.provider import text_reply


def talk(desk: Desk) -> str:
    """Two rounds; the address of their session."""
    desk.provider.queue(text_reply("First answer."), text_reply("A talk"))
    desk.say("First question")
    desk.done()
    desk.provider.queue(text_reply("Second answer."))
    desk.say("Second question")
    expect(desk.page.get_by_text("Second answer.")).to_be_visible()
    desk.done()
    return desk.page.url


def edit(desk: Desk, number: int) -> None:
    """Open the menu of the message of that number by keyboard, and choose its first entry."""
    desk.page.get_by_role("button", name="Actions for your message").nth(number).focus()
    desk.page.keyboard.press("Enter")
    expect(desk.page.get_by_role("menuitem", name="Edit and resend")).to_be_focused()
    desk.page.keyboard.press("Enter")


def test_a_message_that_is_edited_and_resent_makes_a_branch(desk: Desk) -> None:
    before = talk(desk)
    desk.write("typed meanwhile")
    edit(desk, 1)
    box = desk.page.get_by_role("textbox", name="Message")
    expect(box).to_have_value("Second question")
    expect(box).to_be_focused()
    expect(desk.page.get_by_text("Sending it makes a branch")).to_be_visible()
    assert faults(desk.page) == []
    desk.provider.queue(text_reply("Another answer."))
    desk.say("Another question")
    expect(desk.page).not_to_have_url(before)
    log = desk.page.get_by_role("log")
    expect(log.get_by_text("Another answer.")).to_be_visible()
    expect(log.get_by_text("First answer.")).to_be_visible()
    expect(log.get_by_text("Second question")).to_have_count(0)
    expect(log.get_by_text("Second answer.")).to_have_count(0)
    assert "Second" not in str(desk.provider.seen[-1].messages)
    desk.page.goto(before)
    expect(log.get_by_text("Second answer.")).to_be_visible()
    expect(box).to_have_value("typed meanwhile")


def test_an_edit_can_be_left_and_taken_up_again(desk: Desk) -> None:
    before = talk(desk)
    desk.write("typed meanwhile")
    edit(desk, 0)
    desk.write("First question, better")
    desk.page.get_by_role("button", name="Cancel").click()
    expect(desk.page.get_by_role("textbox", name="Message")).to_have_value("typed meanwhile")
    edit(desk, 0)
    expect(desk.page.get_by_role("textbox", name="Message")).to_have_value("First question, better")
    assert desk.page.url == before


def test_a_branch_from_an_answer_has_what_was_said_up_to_it(desk: Desk) -> None:
    before = talk(desk)
    desk.page.get_by_role("button", name="Branch from here").first.click()
    expect(desk.page).not_to_have_url(before)
    log = desk.page.get_by_role("log")
    expect(log.get_by_text("First answer.")).to_be_visible()
    expect(log.get_by_text("Second question")).to_have_count(0)
    assert len(desk.server.api("GET", "/api/agent/sessions")["sessions"]) == 2


@pytest.mark.parametrize("width", [1280, 390])
def test_a_session_is_exported_and_brought_in_again(desk: Desk, tmp_path: Path, width: int) -> None:
    desk.page.set_viewport_size({"width": width, "height": 844})
    before = talk(desk)
    for kind, part in (("Markdown", "First answer."), ("HTML", "<!doctype html>"), ("JSON", "")):
        desk.page.get_by_role("button", name="Actions for this conversation").click()
        assert faults(desk.page) == []
        with desk.page.expect_download() as saved:
            desk.page.get_by_role("menuitem", name=f"Export as {kind}").click()
        path = tmp_path / saved.value.suggested_filename
        saved.value.save_as(path)
        assert part in path.read_text().lower() or part in path.read_text()
    assert json.loads(path.read_text())["shipmate"] == 1
    assert desk.page.evaluate("document.documentElement.scrollWidth") <= width

    if width < 760:
        desk.page.get_by_role("button", name="Conversations").click()
    assert faults(desk.page) == []
    with desk.page.expect_file_chooser() as chooser:
        desk.page.get_by_role("button", name="Import").click()
    other = tmp_path / "other.json"
    other.write_text('{"not": "ours"}')
    chooser.value.set_files(other)
    expect(desk.page.get_by_text(re.compile("other.json is not a conversation"))).to_be_visible()
    with desk.page.expect_file_chooser() as chooser:
        desk.page.get_by_role("button", name="Import").click()
    chooser.value.set_files(path)
    expect(desk.page).not_to_have_url(before)
    expect(desk.page.get_by_role("log").get_by_text("Second answer.")).to_be_visible()

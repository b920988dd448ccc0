"""The list of conversations: badges, filters, and what the menu of a row does."""

import re
import time

from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Desk
from tests.e2e.test_access import faults
from tests.provider import call_reply, text_reply

WRITE = call_reply(("write_file", {"path": "new.txt", "content": "x\n"}))


def rows(desk: Desk) -> Locator:
    return desk.page.get_by_role("navigation", name="Conversations").get_by_role("listitem")


def begin(desk: Desk) -> None:
    """A new chat that can be sent: where and with which model is known."""
    desk.open()
    expect(desk.page.get_by_role("radio", name="Demo")).to_be_checked()
    expect(desk.page.get_by_role("button", name="Model: fake/m")).to_be_visible()


def talk(desk: Desk, words: str) -> None:
    begin(desk)
    desk.provider.queue(text_reply("Well."), text_reply(words))  # the second is its title
    desk.say(words)
    desk.done()
    expect(rows(desk).filter(has_text=words)).to_have_count(1)


def menu(desk: Desk, title: str) -> None:
    rows(desk).filter(has_text=title).hover()
    desk.page.get_by_role("button", name=f"Actions for {title}").click()


def test_a_row_tells_what_a_session_waits_for_and_how_full_it_is(desk: Desk) -> None:
    talk(desk, "Quiet one")
    begin(desk)
    desk.provider.queue(WRITE)
    desk.say("Write a file")
    row = rows(desk).filter(has_text="Write a file")
    expect(row).to_contain_text("approval")
    expect(row).to_contain_text(re.compile(r"\d+ % of 16k · Demo"))
    expect(row.get_by_role("meter", name="Context used")).to_be_visible()
    expect(desk.page).to_have_title("(1) Write a file · shipmate")
    desk.open("#/settings")
    expect(desk.page).to_have_title("(1) Settings · shipmate")
    desk.page.get_by_role("radio", name="Running").check()
    expect(rows(desk)).to_have_count(1)
    pending = desk.server.api("GET", f"/api/agent/sessions/{desk.row()['id']}")["pending"][0]["id"]
    desk.provider.queue(text_reply("Then not."))
    desk.server.api(
        "POST",
        "/api/agent/approval",
        {"session": desk.row()["id"], "id": pending, "approved": False},
    )
    expect(desk.page.get_by_text("Nothing is running, and nothing waits for you.")).to_be_visible()
    expect(desk.page).to_have_title("Settings · shipmate")


def test_a_row_is_renamed_archived_and_deleted_by_keyboard(desk: Desk) -> None:
    talk(desk, "First")
    talk(desk, "Second")
    keys = desk.page.keyboard
    desk.page.get_by_role("button", name="Actions for First").focus()
    keys.press("Enter")
    expect(desk.page.get_by_role("menuitem", name="Rename")).to_be_focused()
    keys.press("Enter")
    expect(desk.page.get_by_role("textbox", name="Title")).to_be_focused()
    keys.type("重命名 ✓")
    keys.press("Enter")
    renamed = rows(desk).filter(has_text="重命名 ✓")
    expect(renamed.get_by_role("link")).to_be_focused()

    menu(desk, "重命名 ✓")
    assert faults(desk.page) == []
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    keys.press("Enter")
    expect(renamed).to_have_count(0)
    desk.page.get_by_role("radio", name="Archived").check()
    expect(rows(desk)).to_have_count(1)

    menu(desk, "重命名 ✓")
    keys.press("End")
    keys.press("Enter")
    expect(desk.page.get_by_text("“重命名 ✓” was deleted.")).to_be_visible()
    assert faults(desk.page) == []
    expect(rows(desk)).to_have_count(0)
    desk.page.get_by_role("button", name="Undo").click()
    expect(rows(desk)).to_have_count(1)
    menu(desk, "重命名 ✓")
    desk.page.get_by_role("menuitem", name="Delete").click()
    expect(desk.page.get_by_text("The archive is empty.")).to_be_visible()
    desk.page.get_by_role("button", name="Delete for good now").click()
    expect(desk.page.get_by_role("button", name="Undo")).to_have_count(0)
    assert titles(desk) == ["Second"]


def titles(desk: Desk) -> list[str]:
    found = desk.server.api("GET", "/api/agent/sessions?archived=all")["sessions"]
    return [row["title"] for row in found]


def test_deleting_the_open_session_leads_to_a_new_chat(desk: Desk) -> None:
    talk(desk, "Only one")
    menu(desk, "Only one")
    desk.page.get_by_role("menuitem", name="Delete").click()
    expect(desk.page.get_by_role("heading", name="New chat", level=1)).to_be_visible()
    expect(desk.page.get_by_text("No conversations yet.")).to_be_visible()
    assert titles(desk) == ["Only one"]


def test_who_leaves_the_page_has_deleted_what_was_not_taken_back(desk: Desk) -> None:
    talk(desk, "Only one")
    menu(desk, "Only one")
    desk.page.get_by_role("menuitem", name="Delete").click()
    expect(desk.page.get_by_role("button", name="Undo")).to_be_visible()
    desk.page.goto(f"{desk.server.url}/healthz")
    deadline = time.monotonic() + 20
    while titles(desk) and time.monotonic() < deadline:
        desk.page.wait_for_timeout(50)
    assert titles(desk) == []


def test_a_pinned_conversation_stands_at_the_top(desk: Desk) -> None:
    talk(desk, "First")
    talk(desk, "Second")
    menu(desk, "First")
    desk.page.get_by_role("menuitem", name="Pin").click()
    expect(desk.page.get_by_role("heading", name="Pinned")).to_be_visible()
    expect(rows(desk).first).to_contain_text("First")
    assert faults(desk.page) == []
    desk.page.reload()
    expect(rows(desk).first).to_contain_text("First")
    menu(desk, "First")
    desk.page.get_by_role("menuitem", name="Unpin").click()
    expect(desk.page.get_by_role("heading", name="Pinned")).to_have_count(0)


def test_the_filter_finds_words_of_title_and_project(desk: Desk) -> None:
    talk(desk, "Login loops")
    talk(desk, "Slow start")
    search = desk.page.get_by_role("searchbox", name="Filter conversations")
    search.fill("demo LOGIN")
    expect(rows(desk)).to_have_count(1)
    search.fill("nothing like it")
    expect(desk.page.get_by_text("No conversation has these words.")).to_be_visible()


def test_on_a_narrow_screen_the_list_is_a_dialog_that_gives_the_focus_back(desk: Desk) -> None:
    talk(desk, "Somewhere")
    desk.page.set_viewport_size({"width": 390, "height": 844})
    opener = desk.page.get_by_role("button", name="Conversations")
    opener.click()
    dialog = desk.page.get_by_role("dialog", name="Conversations")
    expect(dialog).to_be_visible()
    assert faults(desk.page) == []
    desk.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(opener).to_be_focused()
    opener.click()
    dialog.get_by_role("link", name="Settings").click()
    expect(dialog).to_be_hidden()
    expect(desk.page.get_by_role("heading", name="Settings", level=1)).to_be_visible()

"""What waits over all sessions: seen, counted and decided in one place."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Desk
from tests.e2e.test_access import faults
from tests.e2e.test_recovery import eventually
from tests.provider import Answer, call_reply, text_reply

TOUCH = ("shell_exec", {"command": "touch a"})
ASK = ("ask_user", {"question": "Which **colour**?", "options": ["Red", "Blue"]})


def begin(desk: Desk, text: str) -> str:
    """A session of another browser."""
    chat = {"provider": "fake/m", "project": "demo", "message": text}
    made = desk.server.api("POST", "/api/agent/chat", chat)["session"]
    desk.server.api("PATCH", f"/api/agent/sessions/{made['id']}", {"title": text})
    return made["id"]


def two(desk: Desk) -> None:
    desk.provider.queue(
        Answer(call_reply(TOUCH), when="First"),
        Answer(call_reply(ASK), when="Second"),
    )
    begin(desk, "First")
    begin(desk, "Second")


def count(desk: Desk) -> Locator:
    return desk.page.get_by_role("link", name=re.compile("Waiting for you"))


def test_what_waits_anywhere_is_counted_and_decided_on_the_spot(desk: Desk) -> None:
    two(desk)
    expect(count(desk)).to_have_text(re.compile("2$"))
    expect(desk.page).to_have_title(re.compile(r"^\(2\) "))
    desk.page.keyboard.press("Alt+i")
    inbox = desk.page.locator(".inbox")
    expect(inbox.get_by_role("article")).to_have_count(2)
    first, second = inbox.get_by_role("article").all()
    expect(first.get_by_role("link", name="First")).to_be_visible()
    approve = first.get_by_role("button", name="Approve")
    expect(approve).to_have_attribute("aria-disabled", "false")
    approve.click()
    expect(first).to_contain_text("Approved")
    second.get_by_role("button", name="Blue").click()
    expect(second).to_contain_text("done")
    expect(inbox).to_contain_text("Nothing waits for you.")
    expect(count(desk)).to_have_text("Waiting for you")
    desk.page.wait_for_function("!document.title.startsWith('(')")
    eventually(desk.page, (desk.project / "a").exists)


def test_it_is_live_and_nothing_moves_under_the_pointer(desk: Desk) -> None:
    desk.open("#/inbox")
    inbox = desk.page.locator(".inbox")
    expect(inbox).to_contain_text("Nothing waits for you.")
    two(desk)
    expect(inbox.get_by_role("article")).to_have_count(2)
    pending = desk.server.api("GET", "/api/agent/pending")["waiting"]
    first = next(one["session"]["id"] for one in pending if one["session"]["title"] == "First")
    desk.server.api("POST", "/api/agent/approval", {"session": first, "approved": False})
    expect(inbox.get_by_role("article").first).to_contain_text("done")
    expect(inbox.get_by_role("article")).to_have_count(2)
    expect(inbox.get_by_role("article").last).to_contain_text("Which colour?")


def test_after_one_decision_the_next_card_waits_again(desk: Desk) -> None:
    desk.provider.queue(
        Answer(call_reply(TOUCH), when="First"),
        Answer(call_reply(TOUCH), when="Second"),
        Answer(text_reply("Done."), when="First"),
    )
    begin(desk, "First")
    begin(desk, "Second")
    desk.page.clock.install()
    desk.open("#/inbox")
    approve = desk.page.locator(".inbox").get_by_role("button", name="Approve")
    expect(approve).to_have_count(2)
    desk.page.clock.run_for(600)
    expect(approve.last).to_have_attribute("aria-disabled", "false")
    desk.page.clock.pause_at(desk.page.evaluate("Date.now() + 60_000"))
    approve.first.click()
    expect(approve).to_have_count(1)
    expect(approve).to_have_attribute("aria-disabled", "true")


def test_alt_a_goes_to_the_inbox_when_the_conversation_has_nothing(desk: Desk) -> None:
    two(desk)
    expect(count(desk)).to_have_text(re.compile("2$"))
    desk.page.keyboard.press("Alt+a")
    expect(desk.page.get_by_role("heading", level=1)).to_have_text("Waiting for you")


def test_a_hidden_tab_notifies_once_it_was_allowed_to(desk: Desk) -> None:
    desk.page.context.grant_permissions(["notifications"])
    desk.page.add_init_script(
        """window.notes = [];
        window.Notification = class extends EventTarget {
          static permission = "granted";
          static requestPermission = async () => "granted";
          constructor(title, options) { super(); window.notes.push([title, options.body]); }
        };"""
    )
    desk.open("#/settings/general")
    desk.page.reload()
    desk.page.get_by_role("switch", name="Notify me when something waits").check()
    desk.page.evaluate("Object.defineProperty(document, 'hidden', {get: () => true})")
    desk.provider.queue(call_reply(TOUCH))
    begin(desk, "First")
    desk.page.wait_for_function("window.notes.length > 0")
    assert desk.page.evaluate("window.notes") == [["shipmate waits for your approval", "touch a"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing_in_the_inbox(desk: Desk, width: int, scheme: str) -> None:
    desk.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    desk.page.set_viewport_size({"width": width, "height": 1000})
    desk.open("#/inbox")
    assert faults(desk.page) == []
    two(desk)
    expect(desk.page.locator(".inbox article")).to_have_count(2)
    desk.page.get_by_label("Remember").select_option("for this project")
    assert faults(desk.page) == []

"""More than yes and no: a decision that is kept as a rule, edited arguments, single hunks."""

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.e2e.conftest import Desk
from tests.provider import call_reply, text_reply

TOUCH = ("shell_exec", {"command": "touch a"})
AGAIN = ("shell_exec", {"command": "touch a && echo again"})
OLD = "\n".join(f"line {n}" for n in range(1, 41)) + "\n"


def card(desk: Desk) -> Locator:
    return desk.page.locator("section.card[data-pending]")


def ready(desk: Desk) -> Locator:
    """The card once its buttons work."""
    expect(card(desk).get_by_role("button", name="Deny", exact=True)).to_have_attribute(
        "aria-disabled", "false"
    )
    return card(desk)


def rules(desk: Desk) -> list[dict[str, Any]]:
    return desk.server.api("GET", "/api/agent/rules")["rules"]


def test_a_decision_for_the_project_is_shown_word_for_word_and_asks_no_more(desk: Desk) -> None:
    desk.provider.queue(call_reply(TOUCH), call_reply(AGAIN), text_reply("Done."))
    desk.say("Touch it")
    shown = ready(desk)
    expect(shown).not_to_contain_text("shell:touch a")
    expect(shown).to_contain_text(re.compile("sandbox"))
    shown.get_by_label("Remember").select_option("for this project")
    expect(shown).to_contain_text("With your decision this rule is saved: shell:touch a")
    shown.get_by_role("button", name="Approve").click()
    desk.done()
    assert [(r["effect"], r["text"], r["scope"]) for r in rules(desk)] == [
        ("allow", "shell:touch a", "project")
    ]
    decided = desk.page.get_by_role("button", name=re.compile("touch a.*Approved|Approved"))
    decided.first.click()
    expect(desk.page.get_by_role("log")).to_contain_text("Saved as a rule (for this project):")
    expect(desk.page.get_by_role("button", name=re.compile("by your rule"))).to_be_visible()


def test_a_denial_can_be_kept_where_an_approval_cannot(desk: Desk) -> None:
    desk.provider.queue(
        call_reply(("shell_exec", {"command": "rm -rf build"})), text_reply("I leave it.")
    )
    desk.say("Clean up")
    shown = ready(desk)
    shown.get_by_label("Remember").select_option("everywhere")
    if "everywhere" in shown.inner_text() and shown.get_by_text("only a denial").count():
        expect(shown.get_by_role("button", name="Approve")).to_have_attribute(
            "aria-disabled", "true"
        )
    shown.get_by_role("button", name="Deny", exact=True).click()
    desk.done()
    assert [(r["effect"], r["scope"]) for r in rules(desk)] == [("deny", "everywhere")]


def test_what_is_edited_is_what_runs(desk: Desk) -> None:
    desk.provider.queue(call_reply(TOUCH), text_reply("Done."))
    desk.say("Touch it")
    ready(desk).get_by_role("button", name="Edit…").click()
    field = card(desk).get_by_role("textbox", name="command")
    expect(field).to_be_focused()
    card(desk).get_by_role("button", name="Approve as edited").click()
    expect(card(desk).get_by_role("alert")).to_have_text("Nothing was changed.")
    field.fill("touch b")
    card(desk).get_by_role("button", name="Approve as edited").click()
    desk.done()
    assert [file.name for file in desk.project.iterdir() if file.name in "ab"] == ["b"]
    decided = desk.page.get_by_role("button", name=re.compile("Approval Request.*Approved"))
    decided.click()
    expect(desk.page.get_by_role("group", name="Command").first).to_have_text("touch b")
    expect(desk.page.get_by_text("You edited this.")).to_be_visible()


def test_an_edit_that_does_more_is_shown_again_and_waits_again(desk: Desk) -> None:
    (desk.project / "build").mkdir()
    desk.provider.queue(call_reply(TOUCH), text_reply("Fine."))
    desk.say("Touch it")
    ready(desk).get_by_role("button", name="Edit…").click()
    card(desk).get_by_role("textbox", name="command").fill("rm -rf build")
    card(desk).get_by_role("button", name="Approve as edited").click()
    red = desk.page.locator("section.card.danger")
    expect(red).to_contain_text("it does more than what was shown before")
    expect(red.get_by_role("group", name="Command")).to_have_text("rm -rf build")
    assert (desk.project / "build").exists()
    ready(desk).get_by_role("button", name="Deny", exact=True).click()
    desk.done()
    assert (desk.project / "build").exists()


def test_hunks_are_taken_singly_by_keyboard(desk: Desk) -> None:
    (desk.project / "f.txt").write_text(OLD)
    new = OLD.replace("line 3\n", "LINE 3\n").replace("line 30\n", "LINE 30\n")
    desk.provider.queue(
        call_reply(("read_file", {"path": "f.txt"})),
        call_reply(("write_file", {"path": "f.txt", "content": new})),
        text_reply("Done."),
    )
    desk.say("Change it")
    shown = ready(desk)
    expect(shown.get_by_role("checkbox")).to_have_count(2)
    expect(shown.get_by_role("checkbox", checked=True)).to_have_count(2)
    shown.get_by_role("checkbox").first.focus()
    desk.page.keyboard.press("Space")
    expect(shown.get_by_role("button", name="Approve 1 of 2")).to_be_visible()
    desk.page.keyboard.press("a")
    desk.done()
    assert (desk.project / "f.txt").read_text() == OLD.replace("line 30\n", "LINE 30\n")
    expect(desk.page.get_by_role("button", name=re.compile("Approved 1 of 2"))).to_be_visible()


def test_nothing_is_approved_when_every_hunk_is_left_out(desk: Desk) -> None:
    (desk.project / "f.txt").write_text(OLD)
    new = OLD.replace("line 3\n", "LINE 3\n").replace("line 30\n", "LINE 30\n")
    desk.provider.queue(
        call_reply(("read_file", {"path": "f.txt"})),
        call_reply(("write_file", {"path": "f.txt", "content": new})),
    )
    desk.say("Change it")
    shown = ready(desk)
    for box in shown.get_by_role("checkbox").all():
        box.uncheck()
    approve = shown.get_by_role("button", name="Approve 0 of 2")
    expect(approve).to_have_attribute("aria-disabled", "true")
    shown.focus()
    desk.page.keyboard.press("a")
    assert desk.row()["status"] == "waiting_approval"


def test_what_was_decided_elsewhere_is_written_into_the_card(desk: Desk) -> None:
    desk.provider.queue(call_reply(TOUCH), text_reply("Fine."))
    desk.say("Touch it")
    ready(desk)
    desk.server.api("POST", "/api/agent/approval", {"session": desk.row()["id"], "approved": False})
    expect(desk.page.get_by_role("button", name=re.compile("touch a.*Denied"))).to_be_visible()
    expect(card(desk)).to_have_count(0)


def test_a_tab_that_shows_the_old_request_cannot_approve_the_edited_one(
    desk: Desk, browser: Browser
) -> None:
    (desk.project / "build").mkdir()
    desk.provider.queue(call_reply(TOUCH), text_reply("Fine."))
    desk.say("Touch it")
    ready(desk)
    session = desk.row()["id"]
    behind = browser.new_page()
    behind.add_init_script("delete window.SharedWorker")
    behind.route(re.compile("/events"), lambda route: route.abort())
    behind.goto(desk.server.api("POST", "/api/auth/link")["url"])
    behind.goto(desk.page.url)
    old = behind.locator("section.card[data-pending]")
    expect(old.get_by_role("button", name="Approve")).to_have_attribute("aria-disabled", "false")
    behind.route(re.compile("/api/agent/(?!approval)"), lambda route: route.abort())
    edited = {"session": session, "approved": True, "arguments": {"command": "rm -rf build"}}
    shown = desk.server.api("POST", "/api/agent/approval", edited)
    assert "result" not in shown
    expect(old.get_by_role("group", name="Command")).to_have_text("touch a")
    old.get_by_role("button", name="Approve").click()
    expect(behind.get_by_role("alert").first).to_contain_text("not what was shown")
    assert desk.row()["status"] == "waiting_approval"
    assert (desk.project / "build").exists()
    behind.context.close()


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_the_buttons_of_a_card_fit_a_phone(desk: Desk, language: str) -> None:
    desk.server.api("PATCH", "/api/settings", {"interface": {"language": language}})
    desk.page.set_viewport_size({"width": 390, "height": 844})
    desk.page.reload()
    desk.provider.queue(call_reply(TOUCH))
    box = desk.page.locator("textarea")
    box.fill("Touch it")
    expect(desk.page.locator(".composer button.primary, button[aria-describedby=send-hint]").first)
    desk.page.keyboard.press("Control+Enter")
    shown = card(desk)
    expect(shown).to_be_visible()
    inside = shown.evaluate(
        """card => [...card.querySelectorAll("button, select")].map(e => {
            const r = e.getBoundingClientRect();
            const lines = Math.round(e.scrollHeight / 24);
            return [r.left >= 0 && r.right <= innerWidth, r.height >= 40, r.height < 56, lines < 3];
        }).flat()"""
    )
    assert all(inside)

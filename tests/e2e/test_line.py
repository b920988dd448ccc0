"""The line to the server: cuts, restarts, two tabs, a session that is gone."""

import re
import signal
from urllib.parse import urlsplit

from playwright.sync_api import expect

from tests.cli.server import served
from tests.e2e.conftest import Desk
from tests.provider import Answer, call_reply, chunk, sse, text_reply

WRITE = call_reply(("write_file", {"path": "new.txt", "content": "x\n"}))
GONE = "Failed to load resource"


def test_an_approval_outlives_a_server_that_was_killed(desk: Desk) -> None:
    desk.provider.queue(WRITE)
    desk.say("Write a file")
    approve = desk.page.locator("section.card").get_by_role("button", name="Approve")
    expect(approve).to_be_visible()
    desk.write("typed meanwhile")
    desk.expected.append(GONE)
    desk.server.end(signal.SIGKILL)
    expect(desk.page.get_by_text(re.compile("Reconnecting|No connection"))).to_be_visible()
    desk.provider.queue(text_reply("Written."))
    port = urlsplit(desk.server.url).port
    with served(desk.data, "--port", str(port)) as desk.server:
        expect(desk.page.get_by_text(re.compile("Reconnecting|No connection"))).to_have_count(0)
        expect(approve).to_be_visible()
        approve.click()
        desk.done()
        assert (desk.project / "new.txt").read_text() == "x\n"
        expect(desk.page.get_by_role("textbox", name="Message")).to_have_value("typed meanwhile")


def test_two_tabs_agree(desk: Desk) -> None:
    desk.provider.queue(WRITE, text_reply("Written."))
    desk.say("Write a file")
    other = desk.page.context.new_page()
    other.goto(desk.page.url)
    card = other.locator("section.card")
    expect(card).to_be_visible()
    desk.page.locator("section.card").get_by_role("button", name="Approve").click()
    expect(
        other.get_by_role("button", name=re.compile("Approval Request.*Approved"))
    ).to_be_visible()
    expect(other.get_by_text("Written.")).to_be_visible()
    other.close()


def test_a_message_while_it_runs_reaches_the_next_step(desk: Desk) -> None:
    words = sse(*(chunk({"content": f"Looking {n}. "}) for n in range(60)), done=False)
    slow = Answer(words + call_reply(("list_files", {"path": "."})), split=300, delay=0.3)
    desk.provider.queue(slow, text_reply("Both done."))
    desk.say("First")
    expect(desk.page.get_by_text(re.compile("Looking 1"))).to_be_visible()
    desk.say("And second")
    expect(desk.page.get_by_text("Both done.")).to_be_visible()
    assert "And second" in str(desk.provider.seen[1].messages)


def test_a_session_that_is_deleted_elsewhere_says_so(desk: Desk) -> None:
    desk.provider.queue(text_reply("Hello."))
    desk.say("Hi")
    desk.done()
    desk.expected.append(GONE)
    desk.server.api("DELETE", f"/api/agent/sessions/{desk.row()['id']}")
    expect(desk.page.get_by_text("does not exist, or was deleted")).to_be_visible()


def test_an_unknown_session_says_so_and_leads_on(desk: Desk) -> None:
    desk.expected.append(GONE)
    desk.open("#/s/nosuchsession")
    expect(desk.page.get_by_text("does not exist, or was deleted")).to_be_visible()
    desk.page.get_by_role("main").get_by_role("link", name="New chat").click()
    expect(desk.page.get_by_role("textbox", name="Message")).to_be_visible()

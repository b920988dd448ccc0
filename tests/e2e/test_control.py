"""What a person does while an agent works: queue or steer, sum up, watch and stop a sub-agent."""

import re
import threading
from urllib.parse import urlsplit

from playwright.sync_api import Locator, Page, expect

from tests.cli.server import served
from tests.e2e.conftest import Desk
from tests.provider import Answer, call_reply, sse, text_reply

CALL = ("call_agent", {"agent": "explorer", "task": "Find the longest file"})


def queue_up(desk: Desk, *texts: str) -> tuple[Locator, threading.Event]:
    """A round that is held open, with messages queued behind it; the list, and what lets it go."""
    gate = threading.Event()
    desk.provider.queue(Answer(text_reply("First answer."), gate=gate))
    desk.say("Begin")
    page = desk.page
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    when = page.get_by_role("group", name="While the agent works")
    expect(when.get_by_role("radio", name="Steer")).to_be_checked()
    when.get_by_role("radio", name="Queue").check()
    for text in texts:
        desk.say(text)
    items = page.get_by_role("list", name="Queued messages").get_by_role("listitem")
    expect(items).to_have_count(len(texts))
    return items, gate


def expect_texts(items: Locator, *texts: str) -> None:
    expect(items.locator(".cut")).to_have_text(list(texts))


def test_what_is_queued_is_moved_edited_deleted_and_said_in_order(desk: Desk) -> None:
    items, gate = queue_up(desk, "one", "two", "three")
    page = desk.page
    up = page.get_by_role("button", name="Move up: three")
    up.focus()
    page.keyboard.press("Enter")
    expect_texts(items, "one", "three", "two")
    expect(page.get_by_text("three is now number 2 of 3")).to_be_attached()
    expect(up).to_be_focused()
    page.get_by_role("button", name="Move down: one").click()
    expect_texts(items, "three", "one", "two")
    items.nth(2).drag_to(items.nth(0))
    expect_texts(items, "two", "three", "one")
    items.nth(1).get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Queued message").fill("three, edited")
    page.keyboard.press("Enter")
    expect_texts(items, "two", "three, edited", "one")
    page.get_by_role("button", name="Remove one").click()
    expect_texts(items, "two", "three, edited")
    page.reload()
    expect_texts(items, "two", "three, edited")
    desk.provider.queue(
        Answer(text_reply("To two."), when='"content":"two"'),
        Answer(text_reply("To three."), when='"content":"three, edited"'),
    )
    gate.set()
    expect(page.get_by_text("To three.")).to_be_visible()
    said = page.locator(".bubble")
    expect(said).to_have_text([re.compile("Begin"), re.compile("two$"), re.compile("edited$")])
    expect(items).to_have_count(0)


def test_a_queued_message_sent_now_steers(desk: Desk) -> None:
    items, gate = queue_up(desk, "later", "now")
    items.nth(1).get_by_role("button", name="Send now").click()
    expect_texts(items, "later")
    expect(desk.page.locator(".bubble")).to_have_text([re.compile("Begin"), re.compile("now$")])
    desk.provider.queue(
        Answer(text_reply("To now."), when='"content":"now"'),
        Answer(text_reply("To later."), when='"content":"later"'),
    )
    gate.set()
    expect(desk.page.get_by_text("To later.")).to_be_visible()
    asked = [s.messages[-1]["content"] for s in desk.provider.seen if s.body.get("tools")]
    assert asked == ["Begin", "now", "later"]


def compact_now(page: Page) -> None:
    menu = page.get_by_role("main").get_by_role("button", name="Actions for this conversation")
    menu.click()
    page.get_by_role("menuitem", name="Compact now").click()


def test_compact_now_makes_a_summary_that_is_read_edited_and_undone(desk: Desk) -> None:
    (desk.project / "long.txt").write_text("word " * 1_500)
    read = ("read_file", {"filePath": "long.txt"})
    again = Answer(text_reply("Again: read."), when='"content":"Again"')
    desk.provider.queue(call_reply(read), text_reply("Read it."), again)
    desk.say("Read long.txt")
    desk.done()
    desk.say("Again")
    expect(desk.page.get_by_text("Again: read.")).to_be_visible()
    desk.done()
    page = desk.page
    summary = text_reply("It read long.txt, which is long.")
    desk.provider.queue(Answer(summary, when="Below is the earlier part"))
    compact_now(page)
    marker = page.get_by_role("button", name=re.compile(r"^Compacted: .* tokens"))
    marker.click()
    expect(page.get_by_role("group", name="Summary")).to_contain_text(
        "It read long.txt, which is long."
    )
    expect(page.get_by_role("group", name="Kept beside it")).to_contain_text("long.txt")
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_role("textbox", name="Summary").fill("In my own words.")
    page.get_by_role("button", name="Save").click()
    expect(marker).to_contain_text("edited")
    page.reload()
    expect(page.get_by_role("group", name="Summary")).to_contain_text("In my own words.")
    desk.provider.queue(Answer(text_reply("I know."), when="What do you know?"))
    desk.say("What do you know?")
    expect(page.get_by_text("I know.")).to_be_visible()
    sent = str(desk.provider.seen[-1].messages)
    assert ("In my own words." in sent, "word word" in sent) == (True, False)
    page.get_by_role("button", name="Undo").click()
    expect(marker).to_contain_text("undone")
    desk.provider.queue(Answer(text_reply("All of it."), when="And now?"))
    desk.say("And now?")
    expect(page.get_by_text("All of it.")).to_be_visible()
    assert "word word" in str(desk.provider.seen[-1].messages)


def test_compact_now_with_nothing_to_sum_up_says_so(desk: Desk) -> None:
    desk.provider.queue(text_reply("Hi."))
    desk.say("Hello")
    desk.done()
    desk.expected.append("409")
    compact_now(desk.page)
    expect(desk.page.get_by_text("There is nothing to sum up")).to_be_visible()


def test_a_sub_agent_is_opened_into_its_own_thread_and_stopped_alone(desk: Desk) -> None:
    listing = call_reply(("list_files", {"path": "."}), text="I look around.")
    held = threading.Event()
    desk.provider.queue(
        call_reply(CALL),
        Answer(listing, when="Find the longest file"),
        Answer(text_reply("never"), when="I look around", gate=held),
    )
    desk.say("Delegate it")
    page = desk.page
    card = page.get_by_role("button", name=re.compile("CALL: explorer"))
    expect(card).to_contain_text("1 call")
    card.click()
    expect(page.get_by_text("I look around.")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("list_files"))).to_be_visible()
    desk.provider.queue(text_reply("It was stopped."))
    page.get_by_role("button", name="Stop this agent").click()
    expect(page.get_by_text("It was stopped.")).to_be_visible()
    desk.done()
    expect(page.get_by_role("button", name="Stop this agent")).to_have_count(0)
    page.reload()
    expect(page.get_by_text("I look around.", exact=True)).to_be_visible()
    held.set()


def test_a_budget_that_is_reached_asks_and_goes_on(desk: Desk) -> None:
    assert desk.server.end() == 0
    with (desk.data / "config.toml").open("a") as config:
        config.write("\n[budgets]\nround_tokens = 10\n")
    desk.expected.append("Failed to load resource")
    with served(desk.data, "--port", str(urlsplit(desk.server.url).port)) as desk.server:
        a_round_over_its_budget(desk)


def a_round_over_its_budget(desk: Desk) -> None:
    page = desk.page
    page.reload()
    desk.provider.queue(call_reply(("list_files", {"path": "."})), text_reply("Done."))
    desk.say("Look")
    expect(page.get_by_text("the budget is 10. Go on, with 10 more?")).to_be_visible()
    go_on = page.get_by_role("button", name="Continue")
    page.reload()
    expect(go_on).to_be_visible()
    go_on.click()
    expect(page.get_by_text("Done.", exact=True)).to_be_visible()
    desk.done()


def test_how_long_it_thought_is_still_told_after_a_reload(desk: Desk) -> None:
    thinking = [{"choices": [{"index": 0, "delta": {"reasoning_content": "hm "}}]}] * 8
    spoken = {"choices": [{"index": 0, "delta": {"content": "So."}, "finish_reason": "stop"}]}
    desk.provider.queue(Answer(sse(*thinking, spoken), split=100, delay=0.2))
    desk.say("Think")
    desk.done()
    line = desk.page.get_by_role("button", name=re.compile(r"^Thought for [\d.]+ s"))
    expect(line).to_be_visible()
    told = line.inner_text()
    desk.page.reload()
    expect(line).to_have_text(told)


def test_the_title_is_still_there_after_a_reload(desk: Desk) -> None:
    desk.provider.queue(text_reply("Hi."), text_reply("A short greeting"))
    desk.say("Hello there")
    desk.done()
    expect(desk.page.get_by_role("heading", level=1)).to_have_text("A short greeting")
    desk.page.reload()
    expect(desk.page.get_by_role("heading", level=1)).to_have_text("A short greeting")

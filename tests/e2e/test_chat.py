"""A conversation from the first word to the last."""

import re
import threading
from typing import Any

from playwright.sync_api import expect

from tests.e2e.conftest import Desk
from tests.e2e.test_access import faults
from tests.provider import Answer, call_reply, chunk, error_reply, sse, text_reply


def test_shift_enter_sends_and_enter_is_a_new_line(desk: Desk) -> None:
    desk.provider.queue(text_reply("Hello."))
    message = desk.page.get_by_role("textbox", name="Message")
    message.press_sequentially("one")
    message.press("Enter")
    message.press_sequentially("two")
    expect(message).to_have_value("one\ntwo")
    message.press("Shift+Enter")
    expect(desk.page.locator(".bubble")).to_have_text(re.compile("one\ntwo"))
    expect(message).to_have_value("")
    desk.done()


def test_nothing_is_sent_while_an_input_method_composes(desk: Desk) -> None:
    desk.page.get_by_role("textbox", name="Message").focus()
    browser: Any = desk.page.context.new_cdp_session(desk.page)
    composition = {"text": "nihao", "selectionStart": 5, "selectionEnd": 5}
    browser.send("Input.imeSetComposition", composition)
    for modifiers in (8, 2):  # Shift, Ctrl
        key = {"key": "Process", "code": "Enter", "windowsVirtualKeyCode": 229}
        browser.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", "modifiers": modifiers} | key)
    browser.send("Input.insertText", {"text": "你好"})
    expect(desk.page.get_by_role("textbox", name="Message")).to_have_value("你好")
    assert desk.provider.seen == []


def test_an_answer_has_one_header_its_text_and_its_tokens(desk: Desk) -> None:
    desk.provider.queue(
        call_reply(("read_file", {"path": "README.md"}), text="First I look."),
        text_reply("It is a ", "**demo**."),
    )
    desk.say("What is this?")
    desk.done()
    thread = desk.page.get_by_role("log")
    expect(thread.locator("h2")).to_have_count(1)
    expect(thread.locator("h2")).to_contain_text("assistant · m ·")
    expect(thread.locator("strong")).to_have_text("demo")
    expect(thread.get_by_text("22 tokens")).to_be_visible()
    card = thread.get_by_role("button", name=re.compile("read_file"))
    expect(card).to_have_attribute("aria-expanded", "false")
    card.click()
    expect(thread.get_by_role("group", name="Result")).to_contain_text("# Demo")
    desk.page.reload()
    expect(thread.get_by_role("group", name="Result")).to_contain_text("# Demo")


def test_a_reload_in_the_middle_goes_on_where_it_was(desk: Desk) -> None:
    words = [f"word{n} " for n in range(60)]
    desk.provider.queue(Answer(text_reply(*words), split=400, delay=0.1))
    desk.say("Count")
    expect(desk.page.get_by_text(re.compile("word5 "))).to_be_visible()
    desk.page.reload()
    expect(desk.page.locator(".md").last).to_contain_text("word0 word1 ")
    desk.done()
    expect(desk.page.locator(".md").last).to_have_text("".join(words).strip())


def test_stop_keeps_what_was_said_and_says_so(desk: Desk) -> None:
    desk.provider.queue(Answer(text_reply("Half a sen", "tence"), split=200, after="hang"))
    gate = threading.Event()
    desk.provider.queued[0] = Answer(
        desk.provider.queued[0].body.split(b"\n\n")[0] + b"\n\n", after="hang", gate=gate
    )
    desk.say("Talk")
    expect(desk.page.get_by_text("Thinking")).to_be_visible()
    gate.set()
    expect(desk.page.get_by_text("Half a sen")).to_be_visible()
    desk.page.keyboard.press("Escape")
    desk.page.keyboard.press("Escape")
    expect(desk.page.get_by_text("Cut off here")).to_be_visible()
    expect(desk.page.get_by_text("Half a sen")).to_be_visible()


def test_a_failure_is_told_in_the_providers_words_and_can_be_tried_again(desk: Desk) -> None:
    desk.provider.queue(
        error_reply(401, "Your key is not known here."), text_reply("Now it works.")
    )
    desk.say("Hi")
    card = desk.page.locator("section.end")
    expect(card).to_contain_text("Your key is not known here.")
    card.get_by_role("button", name="Change model").click()
    expect(desk.page.get_by_role("combobox")).to_be_focused()
    desk.page.keyboard.press("Escape")
    card.get_by_role("button", name="Try again").click()
    expect(desk.page.get_by_text("Now it works.")).to_be_visible()
    expect(card).to_have_count(0)


def test_a_draft_outlives_a_reload_and_a_long_paste_becomes_a_chip(desk: Desk) -> None:
    desk.write("half a thought")
    desk.page.evaluate(
        """() => {
          const data = new DataTransfer();
          data.setData("text/plain", "x".repeat(5000));
          document.querySelector("textarea").dispatchEvent(
            new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
        }"""
    )
    expect(desk.page.get_by_text("pasted.txt")).to_be_visible()
    desk.page.reload()
    expect(desk.page.get_by_role("textbox", name="Message")).to_have_value("half a thought")
    expect(desk.page.get_by_text("pasted.txt")).to_be_visible()
    desk.provider.queue(text_reply("Read."))
    desk.say("half a thought")
    desk.done()
    assert "x" * 5000 in str(desk.provider.seen[0].messages)


def test_thinking_is_kept_in_a_closed_fold(desk: Desk) -> None:
    thoughts = [chunk({"reasoning_content": f"thought {n}\n"}) for n in range(60)]
    spoken = [chunk({"content": "Forty-two."}), chunk(finish="stop")]
    desk.provider.queue(Answer(sse(*thoughts, *spoken), split=300, delay=0.05))
    desk.say("Think")
    expect(desk.page.get_by_role("button", name=re.compile("Thinking"))).to_be_visible()
    desk.done()
    fold = desk.page.get_by_role("button", name=re.compile("^.?.?Thought"))
    expect(fold).to_have_attribute("aria-expanded", "false")
    fold.click()
    expect(desk.page.get_by_role("group", name="Thought")).to_contain_text("thought 59")
    assert faults(desk.page) == []


def test_three_reads_fold_into_one_row(desk: Desk) -> None:
    reads = [("read_file", {"path": "README.md"}), ("list_files", {"path": "."})]
    search = ("grep_search", {"query": "Demo", "isRegexp": False})
    desk.provider.queue(call_reply(*reads, search), text_reply("Seen."))
    desk.say("Look around")
    fold = desk.page.get_by_role("button", name=re.compile("Explored"))
    expect(fold).to_contain_text("1 read, 2 searches")
    expect(desk.page.get_by_role("button", name=re.compile("read_file"))).to_have_count(0)
    fold.click()
    expect(desk.page.get_by_role("button", name=re.compile("read_file"))).to_be_visible()


def test_the_view_follows_the_end_until_the_reader_scrolls_away(desk: Desk) -> None:
    lines = [f"line {n}\n\n" for n in range(200)]
    desk.provider.queue(Answer(text_reply(*lines), split=400, delay=0.1))
    desk.say("Write a lot")
    log = desk.page.get_by_role("log")
    expect(desk.page.get_by_text("line 60", exact=True)).to_be_visible()
    assert log.evaluate("e => e.scrollHeight - e.clientHeight - e.scrollTop") < 100
    assert log.evaluate("e => e.scrollTop") > 0
    log.hover()
    desk.page.mouse.wheel(0, -500)
    jump = desk.page.get_by_role("button", name="Jump to latest")
    expect(jump).to_be_visible()
    log.evaluate("e => new Promise(requestAnimationFrame)")
    place = log.evaluate("e => e.scrollTop")
    expect(desk.page.get_by_role("button", name="Stop")).to_have_count(0)
    assert log.evaluate("e => e.scrollTop") == place
    jump.click()
    expect(desk.page.get_by_text("line 199", exact=True)).to_be_in_viewport()
    expect(jump).to_have_count(0)


def test_a_picture_that_was_looked_at_is_shown(desk: Desk) -> None:
    picture = desk.page.screenshot(clip={"x": 0, "y": 0, "width": 60, "height": 40})
    (desk.project / "view.png").write_bytes(picture)
    desk.provider.queue(call_reply(("view_image", {"path": "view.png"})), text_reply("I see."))
    desk.say("Look at it")
    desk.done()
    desk.page.get_by_role("button", name=re.compile("view_image")).click()
    image = desk.page.get_by_role("img", name="view.png")
    expect(image).to_be_visible()
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") == 60

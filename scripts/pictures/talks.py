"""Pictures of conversations whose model is told what to say."""

import json
from typing import Any

from playwright.sync_api import Locator, Page, expect

from scripts.pictures.studio import OF_AN_AGENT, TIMER, Studio
from tests.provider import Answer, call_reply, chunk, error_reply, sse, text_reply

PADDED = TIMER.replace("${seconds % 60}`", "${String(seconds % 60).padStart(2, '0')}`").replace(
    "herbs: 8 }", "herbs: 8, white: 3 }"
)
TESTS = """import { words } from "./timer.js";
import test from "node:test";

test("seconds have two digits", (t) => t.assert.equal(words(125), "2:05"));
"""
READ = ("read_file", {"path": "timer.js"})
WRITE = ("write_file", {"path": "timer.js", "content": PADDED})
NEW = ("write_file", {"path": "timer.test.js", "content": TESTS})


def thinking(thought: str, text: str, name: str, arguments: dict[str, Any]) -> bytes:
    """An answer that thinks, speaks and calls a tool."""
    call = {"name": name, "arguments": json.dumps(arguments)}
    return sse(
        chunk({"reasoning_content": thought}),
        chunk({"content": text}),
        chunk({"tool_calls": [{"index": 0, "id": "call_t", "type": "function", "function": call}]}),
        chunk(finish="tool_calls"),
    )


def card(page: Page) -> Locator:
    """The approval that waits, once its buttons work."""
    shown = page.locator("section.card[data-pending]")
    expect(shown.get_by_role("button", name="Deny", exact=True)).to_have_attribute(
        "aria-disabled", "false"
    )
    return shown


def hunks(studio: Studio) -> Page:
    said = "Seconds want two digits, and white tea steeps for three minutes."
    session = studio.told(
        "Two digits for seconds",
        "Show 2:05, not 2:5. And add white tea.",
        call_reply(READ),
        call_reply(WRITE, text=said),
    )
    page = studio.at(f"s/{session}")
    card(page).get_by_role("checkbox").first.uncheck()
    return page


def rule(studio: Studio) -> Page:
    command = {"command": "mkdir -p sounds"}
    session = studio.told(
        "A place for sounds",
        "Make a place for the sounds.",
        call_reply(("shell_exec", command), text="They get a folder of their own."),
    )
    page = studio.at(f"s/{session}", (1000, 720))
    card(page).get_by_label("Remember").select_option("for this project")
    return page


def changed(studio: Studio) -> str:
    return studio.told(
        "Two digits for seconds",
        "Show 2:05, not 2:5. And add white tea.",
        call_reply(READ),
        call_reply(WRITE, NEW, text="Both are small changes; a test goes with them."),
        text_reply("`words(125)` is `2:05` now, and **white tea** steeps for three minutes."),
        bypass_approval=True,
    )


def changes(studio: Studio) -> Page:
    page = studio.at(f"s/{changed(studio)}", (1360, 800))
    expect(page.locator("[data-kind=foot]")).to_be_visible()
    page.locator("header button.changes").click()
    expect(page.locator("dialog.drawer .plus").first).to_be_visible()
    return page


def changes_split(studio: Studio) -> Page:
    page = changes(studio)
    page.set_viewport_size({"width": 1600, "height": 800})
    page.locator("dialog.drawer [role=switch]").check()
    return page


def find(studio: Studio) -> Page:
    page = studio.at(f"s/{changed(studio)}")
    expect(page.locator("[data-kind=foot]")).to_be_visible()
    page.keyboard.press("Control+f")
    page.get_by_role("search").get_by_role("textbox").fill("white tea")
    expect(page.get_by_role("search")).to_contain_text(" of ")
    return page


def thought(studio: Studio) -> Page:
    task = {"agent": "explorer", "task": "Find where the minutes of each tea are written down"}
    found = "In two places: `MINUTES` in timer.js, line 1, and the list in README.md."
    session = studio.told(
        "Where the minutes are",
        "Where do I add another tea?",
        thinking(
            "The minutes may be in the code and in the README. A look at the whole project is "
            "a task for the explorer, which only reads.",
            "I let the explorer look through the project.",
            "call_agent",
            task,
        ),
        call_reply(READ, ("read_file", {"path": "README.md"})),
        text_reply(found),
        text_reply(
            "Two places hold the minutes:\n\n| Where | What for |\n|---|---|\n"
            "| `timer.js`, line 1 | what the timer counts |\n| `README.md` | what people read |\n\n"
            "A new tea goes into **both**."
        ),
    )
    page = studio.at(f"s/{session}", (1240, 860))
    expect(page.locator("[data-kind=foot]")).to_be_visible()
    log = page.get_by_role("log")
    log.get_by_role("button", name="Thought").first.click()
    log.get_by_role("button", name="explorer").first.click()
    return page


def failed(studio: Studio) -> Page:
    session = studio.told(
        "Ring twice",
        "Ring twice when black tea is ready.",
        Answer(error_reply(401, "Incorrect API key provided.").body, 401, "application/json",
               when=OF_AN_AGENT),
    )  # fmt: skip
    page = studio.at(f"s/{session}", (1000, 560))
    expect(page.get_by_role("region", name="The round failed")).to_be_visible()
    return page


def send(page: Page, text: str) -> None:
    expect(page.get_by_role("button", name="Model: local/coder")).to_be_visible()
    box = page.get_by_role("textbox", name="Message")
    box.fill(text)
    page.keyboard.press("Control+Enter")
    expect(box).to_have_value("")


def queue(studio: Studio) -> Page:
    studio.gate.clear()
    held = Answer(text_reply("It rings twice."), gate=studio.gate, when=OF_AN_AGENT)
    studio.provider.queue(held)
    page = studio.open((1000, 620))
    send(page, "Ring twice when black tea is ready.")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    page.get_by_role("radio", name="Queue").check()
    for later in ("Then write a test for it.", "And say so in the README."):
        send(page, later)
    items = page.get_by_role("list", name="Queued messages").get_by_role("listitem")
    expect(items).to_have_count(2)
    return page


def palette(studio: Studio) -> Page:
    page = studio.open()
    expect(page.locator("textarea")).to_be_visible()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog").get_by_role("option").first).to_be_visible()
    return page


SCENES = {
    "hunks": hunks,
    "rule": rule,
    "changes": changes,
    "changes-split": changes_split,
    "find": find,
    "thought": thought,
    "failed": failed,
    "queue": queue,
    "palette": palette,
}

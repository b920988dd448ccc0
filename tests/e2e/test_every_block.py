"""A conversation that holds every kind of block, after the decisions: looked at by axe."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Desk
from tests.e2e.test_access import faults
from tests.provider import call_reply, chunk, error_reply, sse

TEXT = """# Plan

1. one
2. two

> said

```py
x = 1
```

| a | b |
|---|--:|
| 1 | 2 |

- [x] done
"""
LIST = {"name": "list_files", "arguments": '{"path": "."}'}
THOUGHT = sse(
    chunk({"reasoning_content": "First I think. "}),
    chunk({"content": TEXT}),
    chunk({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": LIST}]}),
    chunk(finish="tool_calls"),
)
TODO = {
    "todoList": [
        {"id": n, "title": status, "status": status}
        for n, status in enumerate(("completed", "in-progress", "not-started"), 1)
    ]
}
READS = [("read_file", {"path": "README.md"})] * 3
WRITE = ("write_file", {"path": "new.txt", "content": "one\n"})
BLOCKED = ("shell_exec", {"command": "dd if=/dev/zero of=/dev/sda"})
RED = ("shell_exec", {"command": "rm -rf build"})
FAILS = ("read_file", {"path": "missing.txt"})
ASK = ("ask_user", {"question": "Which?", "options": ["Red", "Blue"]})


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing_in_a_chat_with_every_block(desk: Desk, width: int, scheme: str) -> None:
    page = desk.page
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 6000})  # all of it is in the page
    desk.provider.queue(
        THOUGHT,
        call_reply(*READS, ("manage_todo_list", TODO), BLOCKED, FAILS),
        call_reply(WRITE),
        call_reply(RED),
        call_reply(ASK),
        error_reply(400, "The provider says no."),
    )
    desk.say("Everything")
    card = page.locator("section.card[data-pending]")
    expect(card).to_contain_text("new.txt")
    card.get_by_role("button", name="Approve").click()
    expect(card).to_contain_text("⚠️ Dangerous Command Warning")
    card.get_by_role("button", name="Deny with a reason").click()
    card.get_by_role("textbox").fill("No.")
    card.get_by_role("button", name="Deny").click()
    card.get_by_role("button", name="Red").click()
    failed = page.get_by_role("region", name="The round failed")
    expect(failed).to_contain_text("The provider says no.")
    expect(page.get_by_text("The provider says no.")).to_have_count(1)
    closed = page.get_by_role("log").get_by_role("button", expanded=False)
    while closed.count():
        closed.first.click()
    thread = page.get_by_role("log")
    expect(thread.get_by_text("First I think.")).to_be_visible()
    expect(thread.get_by_text(re.compile("dd if=/dev/zero")).first).to_be_visible()
    expect(thread.get_by_text("“No.”")).to_be_visible()
    expect(thread.get_by_text("Your answer: Red")).to_be_visible()
    assert faults(page) == []
    page.get_by_role("button", name="What the bypass covers").click()
    assert faults(page) == []

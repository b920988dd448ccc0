"""Everyone can use it: axe finds nothing, nothing is wider than the screen, keys reach all."""

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # pyright: ignore[reportMissingTypeStubs] - it has none
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Desk
from tests.provider import call_reply, text_reply

WIDE = (
    "# Wide\n\n" + "| a |" * 30 + "\n" + "|---|" * 30 + "\n\n```py\n" + "x = 1; " * 80 + "\n```\n"
)
TODO = {"todoList": [{"id": 1, "title": "Read", "status": "in-progress"}]}
TALK = (
    call_reply(
        ("read_file", {"path": "README.md"}),
        ("read_file", {"path": "missing.txt"}),
        ("manage_todo_list", TODO),
        text=WIDE + "- [link](https://example.com) `code`\n",
    ),
    call_reply(
        ("write_file", {"path": "n.txt", "content": "x" * 400}),
        ("shell_exec", {"command": "rm -rf build && " + "echo " * 80}),
        ("ask_user", {"question": "Which?", "options": ["Red", "Blue"], "multiple": True}),
    ),
)


def faults(page: Page) -> list[str]:
    axe: Any = Axe()
    found = axe.run(page)
    return [
        f"{fault['id']}: {node['html'][:200]}"
        for fault in found.response["violations"]
        for node in fault["nodes"]
    ]


@pytest.fixture(params=["light", "dark"])
def colours(request: pytest.FixtureRequest, page: Page) -> None:
    page.emulate_media(color_scheme=request.param)


@pytest.mark.parametrize("width", [1280, 390, 320])
@pytest.mark.usefixtures("colours")
def test_axe_finds_nothing_and_nothing_is_wider_than_the_screen(desk: Desk, width: int) -> None:
    desk.page.set_viewport_size({"width": width, "height": 844})
    assert faults(desk.page) == []
    desk.provider.queue(*TALK)
    desk.say("Show everything")
    cards = desk.page.locator("[data-pending]")
    expect(cards.first).to_be_visible()
    desk.page.wait_for_timeout(600)  # buttons that wait half a second are paler until then
    assert faults(desk.page) == []
    log = desk.page.get_by_role("log")
    log.evaluate("e => e.scrollTo(0, 0)")
    expect(desk.page.locator(".bubble")).to_be_in_viewport()
    assert faults(desk.page) == []
    for scroller in ("document.documentElement", "document.querySelector('.log')"):
        assert desk.page.evaluate(f"{scroller}.scrollWidth - {scroller}.clientWidth") == 0
    desk.page.get_by_role("button", name=re.compile("^Model")).click()
    expect(desk.page.get_by_role("listbox")).to_be_visible()
    assert faults(desk.page) == []


def test_the_model_is_chosen_by_keys_alone(desk: Desk) -> None:
    model = desk.page.get_by_role("button", name=re.compile("^Model"))
    model.focus()
    desk.page.keyboard.press("Enter")
    search = desk.page.get_by_role("combobox", name="Search models")
    expect(search).to_be_focused()
    search.press_sequentially("demo")
    search.press("Enter")
    expect(model).to_have_accessible_name(re.compile("scripted/demo"))
    expect(model).to_be_focused()


def test_a_message_in_chinese_and_the_interface_too(desk: Desk) -> None:
    desk.server.api("PATCH", "/api/settings", {"interface": {"language": "zh-CN"}})
    desk.page.reload()
    expect(desk.page.locator("html")).to_have_attribute("lang", "zh-CN")
    desk.provider.queue(text_reply("你好，**世界**"))
    desk.page.get_by_role("textbox", name="消息").fill("你好")
    desk.page.keyboard.press("Control+Enter")
    expect(desk.page.locator(".md strong")).to_have_text("世界")
    assert faults(desk.page) == []

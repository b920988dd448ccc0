"""The drawer: what a session changed, the project's files, the todo list."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import Desk
from tests.e2e.test_access import faults
from tests.provider import Answer, call_reply, text_reply

APP = "".join(f"line {n}\n" for n in range(1, 31))
EDITS = (
    {"path": "app.py", "oldString": "line 3\n", "newString": "line three\n"},
    {"path": "app.py", "oldString": "line 20\n", "newString": ""},
)
NEW = {"path": "src/new.py", "content": "print('new')\n"}
TOOLS = '"tools":'
"""Of an agent's request, not of one for a title."""
TODO = {"todoList": [{"id": 1, "title": "Look at it", "status": "in-progress"}]}


def changed(desk: Desk) -> None:
    """A session in which two rounds changed files, without asking."""
    (desk.project / "app.py").write_text(APP)
    edits = tuple(("replace_string_in_file", edit) for edit in EDITS)
    desk.provider.queue(
        Answer(call_reply(*edits, ("manage_todo_list", TODO)), when=TOOLS),
        Answer(text_reply("Edited."), when=TOOLS),
        Answer(call_reply(("write_file", NEW)), when=TOOLS),
        Answer(text_reply("Written."), when=TOOLS),
    )
    session = {"provider": "fake/m", "project": "demo", "bypass_approval": True}
    for message in ("Edit app.py", "Write new.py"):
        row = desk.server.api("POST", "/api/agent/chat", {**session, "message": message})["session"]
        session = {"session": row["id"]}
        desk.open(f"#/s/{row['id']}")
        desk.done()


def drawer(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Beside the conversation")


def opened(desk: Desk) -> Locator:
    changed(desk)
    button = desk.page.get_by_role("button", name="Changes: 2 lines added, 2 taken out")
    button.click()
    expect(button).to_have_attribute("aria-expanded", "true")
    return drawer(desk.page)


def test_the_changes_of_a_session_are_one_diff_and_those_of_a_round_another(desk: Desk) -> None:
    box = opened(desk)
    expect(box.get_by_text("2 files")).to_be_visible()
    app = box.get_by_role("group", name="app.py")
    expect(app.locator(".minus")).to_have_text([re.compile("line 3"), re.compile("line 20")])
    expect(app.locator(".plus")).to_have_text([re.compile("line three")])
    expect(box.get_by_role("button", name="src/new.py new")).to_be_visible()
    box.get_by_role("combobox", name="Changes of").select_option(index=1)  # the newest first
    expect(box.get_by_text("1 file")).to_be_visible()
    expect(box.get_by_text("print('new')")).to_be_visible()
    expect(app).to_have_count(0)


def test_what_is_changed_by_others_is_told_and_side_by_side_shows_both(desk: Desk) -> None:
    changed(desk)
    (desk.project / "app.py").write_text(APP.replace("line 7\n", "line seven\n"))
    desk.page.reload()
    desk.page.get_by_role("button", name="Changes:").click()
    box = drawer(desk.page)
    expect(box.get_by_role("button", name="app.py changed since")).to_be_visible()
    box.get_by_role("switch", name="Side by side").check()
    row = box.locator(".pair").filter(has_text="line seven")
    expect(row.locator(".minus")).to_contain_text("line 7")
    expect(row.locator(".plus")).to_contain_text("line seven")


def test_comments_on_lines_are_kept_and_sent_as_one_message(desk: Desk) -> None:
    box = opened(desk)
    app = box.get_by_role("group", name="app.py")
    app.get_by_role("button", name="Comment on line 3", exact=True).click()
    text = box.get_by_role("textbox", name="Comment")
    expect(text).to_be_focused()
    text.fill("Why in words?")
    text.press("Control+Enter")
    app.get_by_role("button", name="Comment on line 20 of before").focus()
    desk.page.keyboard.press("Enter")
    text.fill("Was it of no use?")
    box.get_by_role("button", name="Keep").click()
    desk.page.reload()
    if not box.is_visible():
        desk.page.get_by_role("button", name="Changes:").click()
    expect(box.get_by_text("Was it of no use?").first).to_be_visible()
    desk.provider.queue(Answer(text_reply("I see."), when=TOOLS))
    box.get_by_role("button", name="Send 2 comments").click()
    expect(desk.page.get_by_text("I see.")).to_be_visible()
    expect(box.get_by_role("button", name="Send")).to_have_count(0)
    assert desk.provider.seen[-1].messages[-1]["content"] == (
        "Comments on the changes:\n\n"
        "app.py:3\n> line three\nWhy in words?\n\n"
        "app.py:20 (before the change)\n> line 20\nWas it of no use?"
    )


def test_files_are_looked_at_and_the_todo_list_stands_beside(desk: Desk) -> None:
    (desk.project / ".gitignore").write_text("build/\n")
    (desk.project / "build").mkdir()
    (desk.project / ".env").write_text("SECRET=1")
    box = opened(desk)
    box.get_by_role("tab", name="Changes").press("ArrowRight")
    expect(box.get_by_role("tab", name="Files")).to_be_focused()
    expect(box.get_by_text("1 entry hidden by .gitignore")).to_be_visible()
    box.get_by_role("button", name="src").click()
    box.get_by_role("button", name="new.py").click()
    expect(box.locator("pre .hljs-string")).to_have_text("'new'")  # coloured by the worker
    box.get_by_role("button", name="All files").click()
    desk.expected.append("403")
    box.get_by_role("button", name=".env").click()
    expect(box.get_by_role("alert")).to_contain_text("editor of your own")
    box.get_by_role("tab", name="Todo").click()
    expect(box.get_by_text("Look at it")).to_be_visible()
    desk.page.keyboard.press("Escape")
    expect(box).to_have_count(0)
    expect(desk.page.get_by_role("button", name="Changes:")).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing_in_the_drawer(desk: Desk, width: int, scheme: str) -> None:
    page = desk.page
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 900})
    box = opened(desk)
    app = box.get_by_role("group", name="app.py")
    app.get_by_role("button", name="Comment on line 3", exact=True).click()
    box.get_by_role("textbox", name="Comment").fill("Why?")
    box.get_by_role("button", name="Keep").click()
    expect(box.get_by_role("button", name="Send 1 comment")).to_be_visible()
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    box.get_by_role("tab", name="Files").click()
    expect(box.get_by_role("button", name="app.py")).to_be_visible()
    assert faults(page) == []

"""The first five minutes: signed in by the link, the demo, a folder, the whole tour."""

import re
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from shipmate.llm.demo import DEMO_FILE
from tests.cli.server import Served, served
from tests.e2e.conftest import complaints
from tests.e2e.test_access import faults

REFUSED = "status of 401"
"""What the browser itself says when a call is answered so."""


@dataclass
class Visit:
    """A browser before a server that was never used: no provider, no project."""

    page: Page
    server: Served
    project: Path
    problems: list[str]

    def section(self, name: str) -> Locator:
        return self.page.get_by_role("main").get_by_role("heading", name=name)


@pytest.fixture
def visit(page: Page, tmp_path: Path) -> Generator[Visit]:
    project = tmp_path / "project"
    project.mkdir()
    (project / "README.md").write_text("# Project\n\nWhat it is.\n")
    with served(tmp_path / "data") as server:
        visit = Visit(page, server, project, complaints(page, server.url))
        yield visit
        found = [text for text in visit.problems if REFUSED not in text]
        page.goto("about:blank")
    assert found == []


def start(visit: Visit, text: str) -> None:
    """From the link to the first message of a chat with the demo."""
    page = visit.page
    page.goto(visit.server.token_url)
    expect(visit.section("Choose a model")).to_be_visible()
    page.get_by_role("button", name="Try the demo").click()
    expect(page.get_by_text("The scripted demo answers: no AI.")).to_be_visible()
    page.get_by_role("textbox", name="Folder of the project").fill(str(visit.project))
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("radio", name=re.compile("project"))).to_be_checked()
    page.get_by_role("textbox", name="Message").fill(text)
    page.get_by_role("textbox", name="Message").press("Shift+Enter")


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_the_tour_from_the_link_to_the_last_word(visit: Visit, size: tuple[int, int]) -> None:
    page = visit.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    start(visit, "Show me")
    written = visit.project / DEMO_FILE
    card = page.locator("section.card")
    expect(card).to_contain_text("⚠️ Approval Request")
    expect(card.get_by_role("group", name=f"Changes of {DEMO_FILE}")).to_contain_text("read (")
    assert not written.exists()
    expect(page.get_by_role("region", name="Todo")).to_contain_text("Todo 0/3")
    approve = card.get_by_role("button", name="Approve")
    expect(approve).to_be_in_viewport()
    approve.click()
    option = page.get_by_role("button", name="Write tests")
    expect(option).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("write_file"))).to_be_visible()
    assert "- `README.md` was read (3 lines shown)." in written.read_text()
    at = written.stat().st_mtime_ns
    option.click()
    expect(page.get_by_text("You answered: Write tests")).to_be_visible()
    expect(page.get_by_role("region", name="Todo")).to_contain_text("Todo 3/3")
    assert written.stat().st_mtime_ns == at
    thread = page.get_by_role("log")
    expect(thread.locator("h2")).to_have_count(1)
    expect(thread.locator("h2")).to_contain_text("demo")
    expect(thread.get_by_text("[scripted demo]").last).to_be_visible()
    scroller = "document.documentElement"
    assert page.evaluate(f"{scroller}.scrollWidth - {scroller}.clientWidth") == 0


def test_a_folder_that_is_not_there_is_told_beside_its_field(visit: Visit) -> None:
    visit.page.goto(visit.server.token_url)
    visit.page.get_by_role("button", name="Try the demo").click()
    path = visit.page.get_by_role("textbox", name="Folder of the project")
    path.fill(str(visit.project / "nowhere"))
    path.press("Enter")
    expect(path).to_have_accessible_description(re.compile("nowhere"))
    visit.problems[:] = [text for text in visit.problems if "status of 4" not in text]


def test_without_a_token_one_signs_in_and_a_link_works_once(visit: Visit) -> None:
    page = visit.page
    page.goto(visit.server.url)
    dialog = page.get_by_role("form", name="Sign in")
    expect(dialog).to_be_visible()
    dialog.get_by_role("textbox", name="Link or token").fill(visit.server.token_url)
    dialog.get_by_role("button", name="Sign in").click()
    expect(visit.section("Choose a model")).to_be_visible()
    other = page.context.browser
    assert other is not None
    second = other.new_page()
    second.goto(visit.server.token_url)
    expect(second.get_by_role("form", name="Sign in")).to_be_visible()
    second.get_by_role("textbox", name="Link or token").fill(visit.server.token_url)
    second.get_by_role("button", name="Sign in").click()
    expect(second.get_by_text("This link was used already")).to_be_visible()
    second.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing_at_sign_in_first_run_and_settings(
    visit: Visit, width: int, scheme: str
) -> None:
    page = visit.page
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(visit.server.url)
    expect(page.get_by_role("form", name="Sign in")).to_be_visible()
    assert faults(page) == []
    page.get_by_role("textbox", name="Link or token").fill(visit.server.token_url)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Try the demo")).to_be_visible()
    assert faults(page) == []
    for section, seen in (
        ("general", page.get_by_role("radio", name="中文")),
        ("models", page.get_by_role("button", name="Try the demo")),
        ("projects", page.get_by_role("textbox", name="Folder of the project")),
        ("keys", page.get_by_text("Send the message")),
    ):
        page.goto(f"{visit.server.url}/#/settings/{section}")
        expect(seen).to_be_attached()
        assert faults(page) == []


def test_language_and_theme_change_at_once_and_outlive_a_reload(visit: Visit) -> None:
    page = visit.page
    page.goto(visit.server.token_url)
    expect(page.get_by_role("button", name="Try the demo")).to_be_visible()
    page.evaluate("window.sameDocument = true")
    page.get_by_role("link", name="Settings").click()
    with page.expect_response("**/api/settings"):
        page.get_by_role("radio", name="中文").check()
    expect(page.get_by_role("link", name="新对话")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    page.get_by_role("radio", name="深色").check()
    root = page.locator("html")
    expect(root).to_have_css("color-scheme", "dark")
    assert page.evaluate("window.sameDocument")
    page.reload()
    expect(page.get_by_role("link", name="新对话")).to_be_visible()
    expect(root).to_have_css("color-scheme", "dark")
    page.get_by_role("radio", name="English").check()
    expect(page.get_by_role("link", name="New chat")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "en")

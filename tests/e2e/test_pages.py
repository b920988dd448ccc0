"""The pages around conversations: agents, limits, usage, about; both languages, every width."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.conftest import Desk
from tests.e2e.test_access import faults
from tests.e2e.test_sidebar import talk

FILE = "---\ndescription: Tells jokes\nproviders: [read_only]\n---\nYou tell jokes.\n"
PAGES = ["agents", "limits", "usage", "about", "keys"]


def test_an_agent_is_added_as_a_file_changed_and_removed(desk: Desk, tmp_path: Path) -> None:
    page = desk.page
    desk.expected.append("400")
    desk.open("#/settings/agents")
    expect(page.get_by_text("Finds out how things are in the project")).to_be_visible()
    wrong = tmp_path / "joker.md"
    wrong.write_text(FILE.replace("description", "descripton"))
    page.get_by_role("main").locator("input[type=file]").set_input_files(wrong)
    expect(page.get_by_role("textbox", name="Name")).to_have_value("joker")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("did you mean description?")
    page.get_by_role("textbox", name="File").fill(FILE)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("joker was added.")).to_be_visible()
    page.get_by_role("button", name="Edit joker").click()
    prompt = page.get_by_role("textbox", name="Prompt")
    expect(prompt).to_have_value("You tell jokes.")
    assert faults(page) == []
    prompt.fill("You tell good jokes.")
    page.get_by_role("checkbox", name=re.compile("^shell")).check()
    steps = page.get_by_role("textbox", name="Steps")
    steps.fill("none")
    expect(page.get_by_text("A whole number from 1 to 9,999.")).to_be_visible()
    steps.fill("5")
    chain = page.get_by_role("group", name="When the model fails")
    chain.get_by_role("combobox", name="Add a model").select_option("fake/m")
    expect(chain.get_by_role("listitem")).to_have_text(["fake/m"])
    expect(chain.locator("option[value='fake/m']")).to_have_count(0)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("joker was saved.")).to_be_visible()
    written = (desk.data / "agents" / "joker.md").read_text()
    assert "You tell good jokes." in written
    assert "providers: [read_only, shell]" in written
    assert "fallback: [fake/m]" in written
    desk.open("#/")
    expect(page.get_by_role("combobox", name="Agent")).to_contain_text("joker")
    desk.open("#/settings/agents")
    page.get_by_role("button", name="Remove joker").click()
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_role("button", name="Edit joker")).to_have_count(0)
    assert not (desk.data / "agents" / "joker.md").exists()


def test_at_the_first_sign_in_nothing_was_typed(desk: Desk, browser: Browser) -> None:
    page = browser.new_context().new_page()
    page.goto(desk.server.url)
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page.get_by_text("What you have typed is kept.")).to_have_count(0)
    page.context.close()


def test_a_changed_built_in_agent_comes_back(desk: Desk) -> None:
    page = desk.page
    desk.open("#/settings/agents")
    page.get_by_role("button", name="Edit explorer").click()
    page.get_by_role("textbox", name="Prompt").fill("Look around.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("built in, changed")).to_be_visible()
    page.get_by_role("button", name="Take back the changes of explorer").click()
    page.get_by_role("button", name="Take back", exact=True).click()
    expect(page.get_by_text("built in, changed")).to_have_count(0)
    assert "Look around" not in (desk.data / "config.toml").read_text()


def test_limits_are_saved_in_the_file_and_refused_with_the_servers_words(desk: Desk) -> None:
    page = desk.page
    desk.expected.append("400")
    desk.open("#/settings/limits")
    tokens = page.get_by_role("textbox", name="Tokens per round")
    tokens.fill("many")
    expect(page.get_by_text("A whole number.")).to_be_visible()
    tokens.fill("250,000")
    compact = page.get_by_role("textbox", name="Compact at (percent)")
    compact.fill("99")
    save = page.get_by_role("button", name="Save")
    save.click()
    expect(page.get_by_role("alert")).to_contain_text("compact_at")
    compact.fill("60")
    save.click()
    expect(page.get_by_text("Saved. It holds from the next message on.")).to_be_visible()
    text = (desk.data / "config.toml").read_text()
    assert "round_tokens = 250000" in text
    assert "compact_at = 0.6" in text
    expect(page.get_by_text("public_url")).to_be_visible()


def test_usage_is_a_chart_and_the_same_in_tables(desk: Desk) -> None:
    talk(desk, "Spends tokens")
    desk.open("#/settings/usage")
    page = desk.page
    expect(page.get_by_role("img", name=re.compile("Tokens by day"))).to_be_visible()
    expect(page.locator("rect")).to_have_count(1)
    table = page.get_by_role("table", name="By conversation")
    expect(table.get_by_role("link", name="Spends tokens")).to_be_visible()
    expect(page.get_by_role("table", name="By model")).to_contain_text("fake/m")
    page.get_by_role("radio", name="90 days").check()
    expect(page.locator("rect")).to_have_count(1)


def test_about_tells_what_the_doctor_finds(desk: Desk) -> None:
    desk.open("#/settings/about")
    found = desk.page.get_by_role("main").get_by_role("listitem")
    expect(found.filter(has_text="data directory")).to_contain_text(str(desk.data))


def check(desk: Desk, name: str) -> None:
    desk.open(f"#/settings/{name}")
    expect(desk.page.locator("main .view > *").nth(1)).to_be_visible()
    expect(desk.page.locator("main [role=status] > i")).to_have_count(0)
    assert faults(desk.page) == [], name
    wide = "document.querySelector('main section').scrollWidth - innerWidth"
    assert desk.page.evaluate(wide) <= 0, name


@pytest.mark.parametrize("language", ["en", "zh-CN"])
@pytest.mark.parametrize("width", [1440, 390, 320])
def test_every_page_is_for_everyone(desk: Desk, width: int, language: str) -> None:
    desk.server.api("PATCH", "/api/settings", {"interface": {"language": language}})
    desk.page.set_viewport_size({"width": width, "height": 844})
    desk.page.reload()
    expect(desk.page.locator("html")).to_have_attribute("lang", language)
    for scheme in ("light", "dark"):
        desk.page.emulate_media(color_scheme=scheme)
        for name in PAGES:
            check(desk, name)

"""Around a conversation: sign-in, first run, projects, models, settings."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.cli.server import served
from tests.e2e.conftest import Desk
from tests.e2e.test_access import faults

SECTIONS = ["general", "models", "projects", "keys"]


def test_sign_in_takes_a_pasted_link_and_keeps_the_draft(desk: Desk) -> None:
    desk.write("typed before")
    desk.page.context.clear_cookies()
    desk.expected.append("401")
    desk.page.reload()
    field = desk.page.get_by_role("textbox", name="Link or token")
    expect(field).to_be_focused()
    assert faults(desk.page) == []
    field.fill("no link")
    desk.page.keyboard.press("Enter")
    expect(desk.page.get_by_text("There is no token in this.")).to_be_visible()
    field.fill(desk.server.token_url)
    desk.page.keyboard.press("Enter")
    expect(desk.page.get_by_text("This link was used already")).to_be_visible()
    field.fill(desk.server.api("POST", "/api/auth/link")["url"])
    desk.page.get_by_role("button", name="Sign in").click()
    expect(desk.page.get_by_role("heading", name="What shall we work on?")).to_be_visible()
    expect(desk.page.get_by_role("textbox", name="Message")).to_have_value("typed before")


def test_the_first_run_leads_to_the_demo_and_a_folder(page: Page, tmp_path: Path) -> None:
    data, folder = tmp_path / "data", tmp_path / "my-mod"
    data.mkdir(mode=0o700)
    folder.mkdir()
    (data / "config.toml").write_text("")  # nothing on this machine is looked for
    with served(data) as server:
        page.goto(server.token_url)
        expect(page.get_by_role("heading", name="Use a key")).to_be_visible()
        expect(page.get_by_role("button", name="Download 1.1 GB")).to_be_visible()
        assert faults(page) == []
        page.get_by_role("button", name="Test", exact=True).click()
        expect(page.get_by_text("Paste the provider's key.")).to_be_visible()
        page.get_by_role("button", name="Try the demo").click()
        expect(page.get_by_text("The scripted demo answers: no AI.")).to_be_visible()
        path = page.get_by_role("textbox", name="Folder of the project")
        path.fill(str(tmp_path / "missing"))
        page.keyboard.press("Enter")
        expect(path).to_have_accessible_description(re.compile("missing is not there"))
        expect(path).to_be_focused()
        assert faults(page) == []
        path.fill(str(folder))
        page.keyboard.press("Enter")
        expect(page.get_by_role("radio", name="my-mod")).to_be_checked()
        page.get_by_role("button", name=re.compile("^Review")).click()
        expect(page.get_by_role("textbox", name="Message")).to_have_value(
            re.compile("code quality")
        )
        page.keyboard.press("Shift+Enter")
        expect(page.get_by_role("heading", name=re.compile("Approval Request"))).to_be_visible()
        page.goto("about:blank")


def test_a_provider_is_tested_saved_and_removed(desk: Desk) -> None:
    page = desk.page
    desk.open("#/settings/models")
    page.get_by_role("combobox", name="Provider").select_option("OpenAI")
    page.get_by_text("Another address").click()
    page.get_by_role("textbox", name="Address").fill("http://127.0.0.1:9/v1")
    page.get_by_label("Key", exact=True).fill("sk-test")
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("127.0.0.1:9")
    page.get_by_role("textbox", name="Address").fill(desk.provider.url)
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("OpenAI can be used now.")).to_be_visible()
    expect(page.get_by_label("Key", exact=True)).to_have_value("")
    page.get_by_role("button", name="Remove OpenAI").first.click()
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 320])
def test_axe_finds_nothing_in_the_settings(desk: Desk, scheme: str, width: int) -> None:
    desk.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    desk.page.set_viewport_size({"width": width, "height": 800})
    for section in SECTIONS:
        desk.open(f"#/settings/{section}")
        expect(desk.page.get_by_role("link", name=re.compile("General"))).to_be_visible()
        if section == "models":
            expect(desk.page.get_by_role("heading", name="Use a key")).to_be_visible()
        assert faults(desk.page) == []
        assert desk.page.evaluate("document.documentElement.scrollWidth") <= width


def test_language_and_theme_change_without_a_reload_and_stay(desk: Desk) -> None:
    page = desk.page
    desk.open("#/settings")
    page.evaluate("window.same = true")
    with page.expect_response("**/api/settings"):
        page.get_by_role("radio", name="中文").check()
    expect(page.get_by_role("heading", name="设置", level=1)).to_be_visible()
    page.get_by_role("radio", name="深色").check()
    assert page.evaluate("window.same") is True
    page.reload()
    expect(page.get_by_role("heading", name="设置", level=1)).to_be_visible()
    assert page.evaluate(
        "[document.documentElement.lang, document.documentElement.dataset.theme]"
    ) == [
        "zh-CN",
        "dark",
    ]
    assert 'language = "zh-CN"' in (desk.data / "config.toml").read_text()
    assert faults(page) == []


def test_a_project_is_added_and_removed_and_its_folder_stays(desk: Desk, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    desk.open("#/settings/projects")
    desk.page.get_by_role("textbox", name="Folder of the project").fill(str(other))
    desk.page.get_by_role("button", name="Add", exact=True).click()
    expect(desk.page.get_by_text("other was added.")).to_be_visible()
    desk.page.get_by_role("button", name="Remove other").click()
    desk.page.get_by_role("button", name="Remove", exact=True).click()
    expect(desk.page.get_by_role("button", name="Remove other")).to_have_count(0)
    assert other.is_dir()


def test_alt_n_begins_a_new_chat(desk: Desk) -> None:
    desk.open("#/settings/keys")
    desk.page.keyboard.press("Alt+n")
    expect(desk.page.get_by_role("heading", name="What shall we work on?")).to_be_visible()
    expect(desk.page.get_by_role("textbox", name="Message")).to_be_focused()


def test_a_newer_server_asks_for_a_reload(desk: Desk) -> None:
    info = desk.server.api("GET", "/api/agent/info")
    desk.page.route("**/api/agent/info", lambda route: route.fulfill(json={**info, "version": "9"}))
    desk.open("#/settings/models")
    desk.page.get_by_role("button", name="Try the demo").click()
    desk.page.evaluate("location.hash = '#/settings/projects'")
    desk.page.get_by_role("textbox", name="Folder of the project").fill(str(desk.project))
    desk.page.get_by_role("button", name="Add", exact=True).click()
    expect(desk.page.get_by_text("shipmate was updated.")).to_be_visible()
    desk.page.get_by_role("button", name="Reload").click()
    expect(desk.page.get_by_text("shipmate was updated.")).to_have_count(0)

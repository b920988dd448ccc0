"""Words looked for in all conversations: by keys, with filters, to their place; every state."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Desk
from tests.e2e.test_access import faults
from tests.e2e.test_palette import imported
from tests.e2e.test_sidebar import talk


def field(desk: Desk) -> Locator:
    return desk.page.get_by_role("searchbox", name="Search all conversations")


def hits(desk: Desk) -> Locator:
    return desk.page.get_by_role("region", name="Messages").get_by_role("listitem")


def test_a_hit_far_above_opens_at_its_place_by_keys_alone(desk: Desk) -> None:
    session = imported(desk, 700)
    page, keys = desk.page, desk.page.keyboard
    keys.press("Control+k")
    keys.type("question 7")
    expect(page.get_by_role("option", selected=True)).to_have_text("Search for “question 7”")
    keys.press("Enter")
    expect(field(desk)).to_have_value("question 7")
    expect(field(desk)).to_be_focused()
    expect(hits(desk).first).to_contain_text("Long one")
    keys.press("Control+a")
    keys.type('"question 7"')
    expect(hits(desk)).to_have_count(1)
    expect(hits(desk).locator("mark")).to_have_text(["Question 7"])
    keys.press("ArrowDown")
    expect(hits(desk).get_by_role("link")).to_be_focused()
    keys.press("Enter")
    expect(page).to_have_url(re.compile(f"#/s/{session}/13/u7$"))
    row = page.locator(".row").filter(has_text=re.compile(r"\bQuestion 7\b"))
    expect(row).to_be_in_viewport()
    page.go_back()
    expect(field(desk)).to_have_value('"question 7"')
    expect(hits(desk)).to_have_count(1)


def test_filters_narrow_titles_are_found_and_a_deleted_one_is_gone(desk: Desk) -> None:
    talk(desk, "Fix the login loop")
    page = desk.page
    page.keyboard.press("Control+Shift+f")
    expect(page.get_by_text("Find what was said")).to_be_visible()
    field(desk).fill("login")
    expect(hits(desk)).to_have_count(1)
    titles = page.get_by_role("region", name="Conversations").get_by_role("listitem")
    expect(titles.locator("mark")).to_have_text(["login"])
    page.get_by_label("Said by").select_option("Tools")
    expect(page.get_by_text("Nothing was found")).to_be_visible()
    page.get_by_label("Said by").select_option("You")
    page.get_by_label("Project").select_option("Demo")
    page.get_by_label("When").select_option("Last 7 days")
    page.get_by_label("First").select_option("Newest")
    expect(hits(desk)).to_have_count(1)
    desk.server.api("DELETE", f"/api/agent/sessions/{desk.row()['id']}")
    page.get_by_label("First").select_option("Best match")
    expect(page.get_by_text("Nothing was found")).to_be_visible()
    for typed in ('"', "*", "C++", "foo-bar", "数据", "🎉", "%", "'"):
        field(desk).fill(typed)
        expect(page.get_by_text("Nothing was found")).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_state_is_accessible_and_fits(desk: Desk, scheme: str, width: int) -> None:
    talk(desk, "Fix the login loop in getUserName")
    page = desk.page
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{desk.server.url}/#/search")
    for words, shown in {
        "": page.get_by_text("Find what was said"),
        "username": hits(desk).first,
        "nothing like it": page.get_by_text("Nothing was found"),
    }.items():
        field(desk).fill(words)
        expect(shown).to_be_visible()
        assert faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_cannot_be_asked_is_told_and_tried_again(desk: Desk) -> None:
    talk(desk, "Fix the login loop")
    page = desk.page
    page.route("**/api/agent/search?*", lambda route: route.abort())
    page.goto(f"{desk.server.url}/#/search/login")
    expect(page.get_by_text("The search did not work")).to_be_visible()
    assert all("ERR_FAILED" in problem for problem in desk.problems)
    desk.problems.clear()
    page.unroute("**/api/agent/search?*")
    page.get_by_role("button", name="Try again").click()
    expect(hits(desk)).to_have_count(1)

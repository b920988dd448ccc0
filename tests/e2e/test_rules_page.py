"""The page of rules: written, tried out, changed, switched off, removed, brought back."""

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Desk
from tests.e2e.test_access import faults


def rules(desk: Desk) -> list[dict[str, Any]]:
    return desk.server.api("GET", "/api/agent/rules")["rules"]


def write(desk: Desk, effect: str, text: str) -> None:
    form = desk.page.get_by_role("region", name="Write a rule")
    form.get_by_label("Effect").select_option(effect)
    form.get_by_label("What it names").fill(text)
    form.get_by_role("button", name="Add").click()


def item(desk: Desk, text: str) -> Locator:
    return desk.page.get_by_role("listitem").filter(has_text=text)


def test_a_rule_is_written_changed_switched_off_removed_and_brought_back(desk: Desk) -> None:
    desk.open("#/settings/rules")
    expect(desk.page.get_by_text("No rules yet.")).to_be_visible()
    write(desk, "Allow", "shell:npm test")
    row = item(desk, "shell:npm test")
    expect(row).to_contain_text("Allow")
    expect(desk.page.get_by_role("list", name="Project Demo")).to_be_visible()

    row.get_by_role("button", name="Change Allow shell:npm test").click()
    desk.page.get_by_role("listitem").get_by_label("Effect").select_option("Deny")
    desk.page.get_by_role("listitem").get_by_label("Where it holds").select_option("Everywhere")
    desk.page.get_by_role("button", name="Save").click()
    expect(desk.page.get_by_role("button", name="Save")).to_have_count(0)
    expect(row).to_contain_text("Deny")
    assert [(r["effect"], r["scope"], r["project"]) for r in rules(desk)] == [
        ("deny", "everywhere", "")
    ]

    row.get_by_role("switch").uncheck()
    expect(row.get_by_role("switch")).not_to_be_checked()
    row.get_by_role("button", name="Remove Deny shell:npm test").click()
    expect(desk.page.get_by_text("No rules yet.")).to_be_visible()
    undo = desk.page.get_by_role("button", name="Undo")
    expect(undo).to_be_focused()
    undo.press("Enter")
    expect(row.get_by_role("switch")).not_to_be_checked()
    assert [(r["text"], r["enabled"]) for r in rules(desk)] == [("shell:npm test", False)]


def test_what_can_be_no_rule_is_said_and_what_was_typed_stays(desk: Desk) -> None:
    desk.expected.append("422")
    desk.open("#/settings/rules")
    write(desk, "Allow", "shell:sudo *")
    form = desk.page.get_by_role("region", name="Write a rule")
    expect(form.get_by_role("alert")).to_be_visible()
    expect(form.get_by_label("What it names")).to_have_value("shell:sudo *")
    assert rules(desk) == []


def test_a_trial_says_what_would_happen_and_why(desk: Desk) -> None:
    desk.open("#/settings/rules")
    trial = desk.page.get_by_role("region", name="What would this do?")
    trial.get_by_label("What is tried").fill("npm test && git push")
    trial.get_by_role("button", name="Try").click()
    answer = trial.get_by_role("status")
    expect(answer).to_contain_text("You are asked.")
    expect(answer.get_by_role("listitem").first).to_have_text("npm test")
    write(desk, "Deny", "shell:git push")
    trial.get_by_role("button", name="Try").click()
    expect(answer).to_contain_text("It never runs.")
    expect(answer).to_contain_text("Your rule decides: deny shell:git push.")
    expect(answer).to_contain_text("Without your rules: You are asked.")
    trial.get_by_label("Kind").select_option("Web address")
    trial.get_by_label("What is tried").fill("https://example.com/x")
    trial.get_by_role("button", name="Try").click()
    expect(answer).to_contain_text("web:example.com")


def test_rules_that_cannot_be_read_are_asked_for_again(desk: Desk) -> None:
    desk.expected += ["500", "Failed to load"]
    failing = [True]
    body = '{"code": "internal", "detail": "The disk is gone."}'
    desk.page.route(
        "**/api/agent/rules",
        lambda route: (
            route.fulfill(status=500, content_type="application/json", body=body)
            if failing[0]
            else route.continue_()
        ),
    )
    desk.open("#/settings/rules")
    expect(desk.page.get_by_role("alert")).to_contain_text("The disk is gone.")
    failing[0] = False
    desk.page.get_by_role("button", name="Try again").click()
    expect(desk.page.get_by_text("No rules yet.")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing_on_the_page_of_rules(desk: Desk, width: int, scheme: str) -> None:
    for effect, text in (
        ("allow", "shell:npm test"),
        ("ask", "web:example.org"),
        ("deny", "write:a/**"),
    ):
        rule = {"effect": effect, "text": text, "scope": "everywhere"}
        desk.server.api("POST", "/api/agent/rules", rule)
    desk.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    desk.page.set_viewport_size({"width": width, "height": 1200})
    desk.open("#/settings/rules")
    expect(desk.page.get_by_role("listitem")).to_have_count(3)
    trial = desk.page.get_by_role("region", name="What would this do?")
    trial.get_by_label("What is tried").fill("npm test")
    trial.get_by_role("button", name="Try").click()
    expect(trial.get_by_role("status")).to_contain_text("It runs without asking.")
    assert faults(desk.page) == []
    wide = desk.page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert not wide

"""Signing in to an MCP server in a real browser: at an authorization server, and back."""

from collections.abc import Generator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.cli.server import served
from tests.e2e.conftest import Desk
from tests.e2e.test_access import faults
from tests.e2e.test_mcp_page import SLOW, item
from tests.mcp.authority import Authority, authority


@pytest.fixture
def place(desk: Desk) -> Generator[Authority]:
    with authority() as made:
        server = {"name": "it", "transport": "http", "url": made.mcp}
        desk.server.api("POST", "/api/agent/mcp", server)
        desk.open("#/settings/mcp")
        yield made


def sent_away(desk: Desk) -> Page:
    """The tab in which one signs in."""
    link = item(desk, "it").get_by_role("link", name="Sign in to it")
    expect(link).to_be_visible(timeout=SLOW)
    with desk.page.expect_popup() as opened:
        link.click()
    expect(opened.value).to_have_title("Who are you?")
    return opened.value


def test_a_person_signs_in_and_comes_back(desk: Desk, place: Authority) -> None:
    tab = sent_away(desk)
    assert faults(desk.page) == []
    tab.get_by_role("link", name="Allow").click()
    expect(tab.get_by_role("heading", name="Signed in")).to_be_visible()
    expect(item(desk, "it").get_by_text("Ready")).to_be_visible(timeout=SLOW)
    tab.reload()
    expect(tab.get_by_role("heading", name="Not signed in")).to_be_visible()
    assert len(place.used) == 1
    kept = (desk.data / "config.toml").read_text()
    assert not any(token in kept + desk.page.content() for token in place.tokens)


def test_a_refused_consent_is_told_on_both_pages(desk: Desk, place: Authority) -> None:
    tab = sent_away(desk)
    tab.get_by_role("link", name="Refuse").click()
    expect(tab.get_by_role("heading", name="Not signed in")).to_be_visible()
    expect(tab.get_by_text("You said no.")).to_be_visible()
    row = item(desk, "it")
    expect(row.get_by_text("Failed", exact=True)).to_be_visible(timeout=SLOW)
    expect(row.get_by_text("You said no.")).to_be_visible()
    row.get_by_role("button", name="Refresh it").click()
    sent_away(desk).get_by_role("link", name="Allow").click()
    expect(row.get_by_text("Ready")).to_be_visible(timeout=SLOW)


def test_a_code_that_has_expired_is_told(desk: Desk, place: Authority) -> None:
    place.expired = True
    sent_away(desk).get_by_role("link", name="Allow").click()
    row = item(desk, "it")
    expect(row.get_by_text("Failed", exact=True)).to_be_visible(timeout=SLOW)
    expect(row.get_by_text("The code has expired.")).to_be_visible()


def test_a_wrong_state_signs_nobody_in(desk: Desk, place: Authority) -> None:
    tab = sent_away(desk)
    address = tab.get_by_role("link", name="Allow").get_attribute("href") or ""
    state = urlsplit(address).query.split("state=")[1].split("&")[0]
    tab.goto(address.replace(state, "of-somebody-else"))
    expect(tab.get_by_role("heading", name="Not signed in")).to_be_visible()
    expect(tab.get_by_text("Nobody waits for this sign-in")).to_be_visible()
    assert place.used == []
    expect(item(desk, "it").get_by_role("link", name="Sign in to it")).to_be_visible()


def test_a_sign_in_from_before_a_restart_is_told_and_begun_anew(
    desk: Desk, place: Authority
) -> None:
    desk.expected += ["Failed to load resource", "ERR_", "stream"]
    tab = sent_away(desk)
    port = urlsplit(desk.server.url).port
    desk.server.end()
    with served(desk.data, "--port", str(port)) as again:
        tab.get_by_role("link", name="Allow").click()
        expect(tab.get_by_text("Nobody waits for this sign-in")).to_be_visible()
        assert place.used == []
        desk.server = again
        row = item(desk, "it")
        desk.open("#/settings/mcp")
        desk.page.reload()
        sent_away(desk).get_by_role("link", name="Allow").click()
        expect(row.get_by_text("Ready")).to_be_visible(timeout=SLOW)

"""Users: added by the first admin, signed in by password, changed, disabled; tokens of programs."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Desk
from tests.e2e.test_access import faults

PASSWORD = "correct horse battery"


def add(desk: Desk, name: str, role: str, password: str = PASSWORD) -> None:
    desk.server.api("POST", "/api/users", {"name": name, "role": role, "password": password})


def sign_in(desk: Desk, name: str, password: str) -> None:
    form = desk.page.get_by_role("form", name="Sign in")
    form.get_by_label("Name").fill(name)
    form.get_by_label("Password").fill(password)
    form.get_by_role("button", name="Sign in").click()


def signed_out(desk: Desk) -> None:
    """As a browser that was never here."""
    desk.expected += ["401", "429"]
    desk.page.context.clear_cookies()
    desk.page.evaluate("localStorage.clear()")
    desk.page.reload()
    expect(desk.page.get_by_role("form", name="Sign in")).to_be_visible()


def test_the_first_user_is_an_admin_who_signs_in_by_password(desk: Desk) -> None:
    page = desk.page
    desk.open("#/settings/users")
    expect(page.get_by_text("There are no users")).to_be_visible()
    form = page.get_by_role("form", name="Add a user")
    form.get_by_label("Name").fill("ada")
    expect(form.get_by_label("Role")).to_be_disabled()
    form.get_by_label("Password").fill(PASSWORD)
    form.get_by_role("button", name="Add").click()
    expect(page.get_by_role("listitem").filter(has_text="ada")).to_be_visible()
    signed_out(desk)
    sign_in(desk, "ada", "wrong horse battery")
    expect(page.get_by_text("The name or the password is not right.")).to_be_visible()
    sign_in(desk, "ada", PASSWORD)
    expect(page.get_by_role("form", name="Sign in")).to_have_count(0)
    desk.open("#/settings/account")
    expect(page.get_by_text("Signed in as ada (Admin).")).to_be_visible()


def test_a_password_is_changed_and_a_sign_out_forgets_drafts(desk: Desk) -> None:
    page = desk.page
    add(desk, "ada", "admin")
    signed_out(desk)
    sign_in(desk, "ada", PASSWORD)
    expect(page.get_by_role("button", name="Model: fake/m")).to_be_visible()
    desk.write("a secret thought")
    desk.open("#/settings/account")
    form = page.get_by_role("form", name="Password")
    form.get_by_label("Present password").fill(PASSWORD)
    form.get_by_label("New password").fill("another horse battery")
    form.get_by_role("button", name="Change").click()
    expect(page.get_by_text("Your password was changed.")).to_be_visible()
    page.get_by_role("button", name="Sign out", exact=True).click()
    expect(page.get_by_role("form", name="Sign in")).to_be_visible()
    page.wait_for_function("!JSON.stringify(localStorage).includes('secret')")  # over a reload
    sign_in(desk, "ada", "another horse battery")
    expect(page.get_by_role("form", name="Sign in")).to_have_count(0)


def test_roles_are_changed_and_the_last_admin_stays(desk: Desk) -> None:
    desk.expected += ["409"]
    add(desk, "ada", "admin")
    add(desk, "ben", "user")
    desk.open("#/settings/users")
    ben = desk.page.get_by_role("listitem").filter(has_text="ben")
    ben.get_by_label("Role of ben").select_option("Viewer")
    ben.get_by_role("button", name="Disable").click()
    expect(ben.get_by_role("button", name="Enable")).to_be_visible()
    users = {one["name"]: one for one in desk.server.api("GET", "/api/users")["users"]}
    assert (users["ben"]["role"], users["ben"]["disabled"]) == ("viewer", True)
    role = desk.page.get_by_label("Role of ada")
    role.select_option("User")
    expect(desk.page.get_by_role("alert")).to_be_visible()
    expect(role).to_have_value("admin")
    ben.get_by_role("button", name="Remove ben").click()
    desk.page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(ben).to_have_count(0)


def test_a_token_is_seen_once_and_revoked(desk: Desk) -> None:
    page = desk.page
    desk.open("#/settings/account")
    section = page.get_by_role("region", name="Tokens for programs")
    before = section.get_by_role("listitem").count()
    section.get_by_label("Name of a new token").fill("ci")
    section.get_by_label("run").check()
    section.get_by_role("button", name="Make").click()
    expect(section.get_by_text("it is not shown again")).to_be_visible()
    secret = section.locator(".fresh code").inner_text()
    bearer = {"Authorization": f"Bearer {secret}"}
    assert desk.server.request("GET", "/api/agent/sessions", **bearer)[0] == 200
    row = section.get_by_role("listitem").filter(has_text="ci")
    expect(row).to_contain_text("read, run")
    row.get_by_role("button", name="Revoke ci").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(row).to_have_count(0)
    assert section.get_by_role("listitem").count() == before
    assert desk.server.request("GET", "/api/agent/sessions", **bearer)[0] == 401


def test_the_audit_log_is_read_filtered_and_verified(desk: Desk) -> None:
    page = desk.page
    add(desk, "ada", "admin")
    desk.open("#/settings/audit")
    lines = page.locator("main").get_by_role("listitem")
    expect(lines.filter(has_text="ada")).not_to_have_count(0)
    page.get_by_role("button", name="Verify the chain").click()
    expect(page.get_by_text(re.compile(r"The chain is whole: \d+ lines?\."))).to_be_visible()
    page.get_by_label("Event").fill("no_such_event")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_text("There is nothing of the kind.")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing_where_people_are(desk: Desk, width: int, scheme: str) -> None:
    page = desk.page
    add(desk, "ada", "admin")
    add(desk, "ben", "viewer")
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 1200})
    for place, shown in (("users", "ben"), ("account", "Tokens"), ("audit", "Verify")):
        desk.open(f"#/settings/{place}")
        expect(page.locator("main").get_by_text(re.compile(shown)).first).to_be_visible()
        assert faults(page) == []
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    signed_out(desk)
    assert faults(page) == []


@pytest.mark.parametrize(
    ("language", "title", "action", "here"),
    [
        ("en", "Signed-in browsers", "Sign out", "this browser"),
        ("zh-CN", "已登录的浏览器", "退出", "当前浏览器"),
    ],
)
def test_a_browser_is_signed_out_from_another_one(
    desk: Desk, language: str, title: str, action: str, here: str
) -> None:
    page = desk.page
    desk.server.api("PATCH", "/api/settings", {"interface": {"language": language}})
    page.reload()
    link = desk.server.api("POST", "/api/auth/link")["url"]
    elsewhere = page.context.browser.new_context()  # type: ignore[union-attr]
    other = elsewhere.new_page()
    other.goto(link)
    expect(other.locator("main")).to_be_visible()
    desk.open("#/settings/account")
    section = page.get_by_role("region", name=title)
    expect(section.get_by_role("listitem")).to_have_count(2)
    expect(section.get_by_role("listitem").filter(has_text=here)).to_have_count(1)
    expect(section.get_by_role("listitem").first).to_contain_text("Linux")
    section.get_by_role("button", name=re.compile(f"^{action}")).click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile(f"^{action}")).click()
    expect(section.get_by_role("listitem")).to_have_count(1)
    assert faults(page) == []
    other.reload()
    expect(other.get_by_text(re.compile("shipmate serve|token link")).first).to_be_visible()
    elsewhere.close()

"""Pictures of the settings and of signing in."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from scripts.pictures.studio import PASSWORD, Studio
from tests.mcp.running import fake
from tests.provider import chunk, sse

RULES = (("allow", "shell:npm test"), ("ask", "web:example.org"), ("deny", "shell:git push"))
PEOPLE = (("ada", "admin"), ("grace", "user"), ("linus", "viewer"))


def at(section: str, seen: str, height: int = 800) -> Callable[[Studio], Page]:
    """A section of the settings once `seen` is there."""

    def scene(studio: Studio) -> Page:
        page = studio.at(f"settings/{section}", (1000, height))
        expect(page.locator(seen).first).to_be_visible()
        return page

    return scene


def rules(studio: Studio) -> Page:
    for effect, text in RULES:
        rule = {"effect": effect, "text": text, "scope": "project", "project": studio.project}
        studio.server.api("POST", "/api/agent/rules", rule)
    page = studio.at("settings/rules", (1000, 900))
    trial = page.locator("section[aria-labelledby=rules-try] form")
    trial.locator("input").fill("npm test && git push")
    trial.locator("button").click()
    expect(page.locator(".found")).to_be_visible()
    return page


def mcp(studio: Studio) -> Page:
    tools: list[dict[str, Any]] = [
        {"name": name, "description": text, "inputSchema": {"type": "object", "properties": {}}}
        for name, text in (
            ("search_notes", "Finds notes by their words."),
            ("read_note", "Gives a note with its links."),
            ("add_note", "Adds a note."),
        )
    ]
    settings = fake(studio.folder.parent, {"pages": [tools]})
    page = studio.at("settings/mcp", (1000, 900))
    form = page.get_by_role("region", name="Add a server")
    form.get_by_label("Name").fill("notes")
    form.get_by_label("Command").fill(" ".join(settings.command))
    form.get_by_role("button", name="Add").click()
    expect(page.get_by_text("3 tools")).to_be_visible(timeout=60_000)
    page.evaluate("document.querySelectorAll('main section').forEach(e => e.scrollTo(0, 0))")
    return page


def usage(studio: Studio) -> Page:
    for title, tokens in (("Two digits for seconds", 5_200), ("Ring twice", 1_900)):
        spent = {"prompt_tokens": tokens, "completion_tokens": 300, "total_tokens": tokens + 300}
        answer = sse(
            chunk({"content": "Done."}), chunk(finish="stop"), {"choices": [], "usage": spent}
        )
        studio.told(title, title, answer)
    page = studio.at("settings/usage", (1000, 860))
    expect(page.get_by_role("main").get_by_text("Ring twice").first).to_be_visible()
    return page


def about(studio: Studio) -> Page:
    page = studio.at("settings/about", (1000, 860))
    expect(page.get_by_role("button", name="Copy")).to_be_enabled(timeout=60_000)
    return page


def users(studio: Studio) -> Page:
    there = {one["name"] for one in studio.server.api("GET", "/api/users")["users"]}
    for name, role in PEOPLE:
        if name not in there:
            person = {"name": name, "role": role, "password": PASSWORD}
            studio.server.api("POST", "/api/users", person)
    return at("users", "main li")(studio)


def sign_in(studio: Studio) -> Page:
    page = studio.browser.new_page(
        viewport={"width": 1000, "height": 560}, device_scale_factor=2, locale="en"
    )
    page.goto(studio.server.url)
    expect(page.get_by_role("form", name="Sign in")).to_be_visible()
    return page


SCENES: dict[str, Callable[[Studio], Page]] = {
    "settings": at("general", "main label"),
    "models": at("models", ".ways .card, main li"),
    "agents": at("agents", "main li"),
    "rules": rules,
    "mcp": mcp,
    "usage": usage,
    "about": about,
    "keys": at("keys", "main kbd"),
    "users": users,
    "account": at("account", "main form"),
    "audit": at("audit", "main table, main li"),
    "sign-in": sign_in,
}
"""In this order: there are users before they are looked at."""

"""Pictures of the demo, on a server that has no provider yet."""

from playwright.sync_api import Page, expect

from scripts.pictures.studio import PHONE, Studio

ENGLISH = "Show me how you work on this project"
CHINESE = "给我看看你怎么在这个项目里工作"


def begin(page: Page, text: str) -> Page:
    """A new chat with the demo, up to its approval."""
    page.locator(".ways .card:last-child button").click()
    page.locator("textarea").fill(text)
    page.keyboard.press("Control+Enter")
    approve = page.locator("section.card button.primary")
    expect(approve).to_have_attribute("aria-disabled", "false")
    return page


def ask(page: Page) -> Page:
    """From the approval to the question."""
    page.locator("section.card button.primary").click()
    expect(page.locator("section.card .options")).to_be_visible()
    return page


def first_run(studio: Studio) -> Page:
    page = studio.open()
    expect(page.locator(".ways .card").last).to_be_visible()
    return page


def chat_light(studio: Studio) -> Page:
    return begin(studio.open(), ENGLISH)


def chat_dark(studio: Studio) -> Page:
    return ask(begin(studio.open(dark=True), ENGLISH))


def phone(studio: Studio) -> Page:
    return begin(studio.open(PHONE), ENGLISH)


def chinese(studio: Studio) -> Page:
    return ask(begin(studio.open(language="zh-CN"), CHINESE))


def inbox(studio: Studio) -> Page:
    page = begin(studio.open((1000, 760)), ENGLISH)
    page.goto(f"{studio.server.url}/#/inbox")
    expect(page.locator(".inbox article").first).to_be_visible()
    return page


SCENES = {
    "first-run": first_run,
    "chat-light": chat_light,
    "chat-dark": chat_dark,
    "phone": phone,
    "chinese": chinese,
    "inbox": inbox,
}
"""In this order: the first run has no sessions yet."""

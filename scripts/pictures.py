"""Makes the pictures of the documentation from the real page, driven by the scripted demo.

usage: python -m scripts.pictures [NAME ...]     (in the clone, after `./dev setup`)

Needs Chromium (CHROMIUM names another one) and the optional package of the tests, Playwright.
"""

import os
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from shipmate.llm.demo import DEMO_FILE
from tests.cli.server import Served, served

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
LIMIT = 300_000
"""Bytes a picture may have."""
WIDE, PHONE = (1240, 800), (390, 844)
README = """# Tea timer
Counts down while the tea steeps, and rings when it is ready.

- green tea: 2 minutes
- black tea: 4 minutes
- herbs: 8 minutes
"""
ENGLISH = "Show me how you work on this project"
CHINESE = "给我看看你怎么在这个项目里工作"
EARLIER = ("Explain the countdown", "Ring twice for black tea", "Write tests for pauses")

RULES = (("allow", "shell:npm test"), ("ask", "web:example.org"), ("deny", "shell:git push"))


@dataclass
class Studio:
    """One server with one project, and a browser."""

    browser: Browser
    server: Served
    project: str
    folder: Path

    def open(
        self, size: tuple[int, int] = WIDE, *, dark: bool = False, language: str = "en"
    ) -> Page:
        """The page, signed in, as a browser of that size, colour and language shows it."""
        page = self.browser.new_page(
            viewport={"width": size[0], "height": size[1]},
            device_scale_factor=2,
            color_scheme="dark" if dark else "light",
            locale=language,
            reduced_motion="reduce",
            is_mobile=size == PHONE,
            has_touch=size == PHONE,
        )
        page.set_default_timeout(20_000)
        page.goto(self.server.api("POST", "/api/auth/link")["url"])
        expect(page).to_have_url(re.compile("/(#/)?$"))  # the token is out of the address
        return page

    def sessions(self) -> list[dict[str, Any]]:
        return self.server.api("GET", "/api/agent/sessions")["sessions"]

    def earlier(self) -> None:
        """Sessions that were held before, each at the demo's question."""
        for title in EARLIER:
            chat = {"provider": "scripted/demo", "project": self.project, "bypass_approval": True}
            row = self.server.api("POST", "/api/agent/chat", {**chat, "message": title})["session"]
            self.server.api("PATCH", f"/api/agent/sessions/{row['id']}", {"title": title})
            self.server.api("POST", "/api/agent/stop", {"session": row["id"]})


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


def approval(studio: Studio) -> Page:
    return begin(studio.open((1000, 620)), ENGLISH)


def phone(studio: Studio) -> Page:
    return begin(studio.open(PHONE), ENGLISH)


def chinese(studio: Studio) -> Page:
    return ask(begin(studio.open(language="zh-CN"), CHINESE))


def changes(studio: Studio) -> Page:
    page = ask(begin(studio.open((1360, 800)), ENGLISH))
    page.locator("header button.changes").click()
    expect(page.locator("dialog.drawer .plus").first).to_be_visible()
    return page


def settings(studio: Studio) -> Page:
    page = studio.open()
    page.goto(f"{studio.server.url}/#/settings/models")
    expect(page.locator(".ways .card").last).to_be_visible()
    return page


def inbox(studio: Studio) -> Page:
    page = begin(studio.open((1000, 760)), ENGLISH)
    page.goto(f"{studio.server.url}/#/inbox")
    expect(page.locator(".inbox article").first).to_be_visible()
    return page


def rules(studio: Studio) -> Page:
    for effect, text in RULES:
        rule = {"effect": effect, "text": text, "scope": "project", "project": studio.project}
        studio.server.api("POST", "/api/agent/rules", rule)
    page = studio.open((1000, 900))
    page.goto(f"{studio.server.url}/#/settings/rules")
    trial = page.locator("section[aria-labelledby=rules-try] form")
    trial.locator("input").fill("npm test && git push")
    trial.locator("button").click()
    expect(page.locator(".found")).to_be_visible()
    return page


SCENES: dict[str, Callable[[Studio], Page]] = {
    "first-run": first_run,
    "chat-light": chat_light,
    "chat-dark": chat_dark,
    "approval": approval,
    "phone": phone,
    "chinese": chinese,
    "changes": changes,
    "settings": settings,
    "inbox": inbox,
    "rules": rules,
}
"""In this order: the first run has no sessions yet."""


def small(picture: bytes) -> bytes:
    """With as many colours as a palette holds, which is a third of the bytes."""
    image = Image.open(BytesIO(picture)).convert("RGB")
    made = BytesIO()
    image.quantize(256, dither=Image.Dither.NONE).save(made, "PNG", optimize=True)
    return made.getvalue()


def shoot(studio: Studio, name: str) -> str:
    """Take one picture; what it weighs, in words."""
    (studio.folder / DEMO_FILE).unlink(missing_ok=True)
    page = SCENES[name](studio)
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(0, 0)
    page.evaluate("new Promise(requestAnimationFrame)")
    content = small(page.screenshot())
    page.close()
    for row in studio.sessions():
        if row["title"] not in EARLIER:
            studio.server.api("DELETE", f"/api/agent/sessions/{row['id']}")
    if len(content) > LIMIT:
        sys.exit(f"{name}.png has {len(content)} bytes, more than {LIMIT}: show less of the page")
    (FOLDER / f"{name}.png").write_bytes(content)
    return f"{name}.png {len(content) // 1000} kB"


def main(names: list[str]) -> None:
    if unknown := set(names) - set(SCENES):
        sys.exit(f"no picture is called {', '.join(sorted(unknown))}; known: {', '.join(SCENES)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    browser = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        project = Path(folder) / "tea-timer"
        project.mkdir()
        (project / "README.md").write_text(README)
        launched = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        with served(Path(folder) / "data") as server:
            added = server.api("POST", "/api/projects", {"path": str(project), "name": "Tea timer"})
            studio = Studio(launched, server, added["id"], project)
            for name in [name for name in SCENES if not names or name in names]:
                if name != "first-run" and not studio.sessions():
                    studio.earlier()
                print(shoot(studio, name), flush=True)
        launched.close()


if __name__ == "__main__":
    main(sys.argv[1:])

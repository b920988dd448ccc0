"""Where pictures are taken: a server with one project, a browser, and a provider that is told
what to say."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from playwright.sync_api import Browser, Page, Route, expect

from shipmate.llm.demo import DEMO_FILE
from tests.cli.server import Served, served
from tests.provider import Answer, Provider, text_reply

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = "/opt/shipmate"
WIDE, PHONE = (1240, 800), (390, 844)
PASSWORD = "first flush darjeeling"  # noqa: S105 - of people who live as long as a picture takes
README = """# Tea timer
Counts down while the tea steeps, and rings when it is ready.

- green tea: 2 minutes
- black tea: 4 minutes
- herbs: 8 minutes
"""
TIMER = """export const MINUTES = { green: 2, black: 4, herbs: 8 };

/** Rings when the tea is ready. */
export function start(tea, ring) {
  const left = MINUTES[tea] * 60;
  return setTimeout(ring, left * 1000);
}

export function words(seconds) {
  const minutes = Math.floor(seconds / 60);
  return `${minutes}:${seconds % 60}`;
}
"""
EARLIER = ("Explain the countdown", "Ring twice for black tea", "Write tests for pauses")
CONFIG = """
[providers.local]
type = "openai"
base_url = "{url}"

[[providers.local.models]]
id = "coder"
context_length = 64000
vision = true

[web]
hosts = ["127.0.0.1"]
"""
OF_AN_AGENT = '"tools":'
"""In an agent's request, not in one for a title."""


@dataclass
class Studio:
    """One server with one project, and a browser."""

    browser: Browser
    server: Served
    provider: Provider
    project: str
    folder: Path
    """The project's."""
    gate: Event = field(default_factory=Event)
    """Holds back an answer that waits for it, up to the end of a picture."""

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
        page.route(re.compile("/api/(doctor|agent/mcp)"), self.without_here)
        page.goto(self.server.api("POST", "/api/auth/link")["url"])
        expect(page).to_have_url(re.compile("/(#/)?$"))  # the token is out of the address
        return page

    def without_here(self, route: Route) -> None:
        """What the server answers, as one that is installed elsewhere would: no path of this
        machine is in a picture."""
        answer = route.fetch()
        text = answer.text().replace(str(ROOT / ".venv"), ELSEWHERE).replace(str(ROOT), ELSEWHERE)
        text = text.replace(str(self.folder.parent), "/home/ada")
        route.fulfill(response=answer, body=text)

    def at(self, place: str, size: tuple[int, int] = WIDE, **look: Any) -> Page:
        """The page at `#/place`."""
        page = self.open(size, **look)
        page.goto(f"{self.server.url}/#/{place}")
        return page

    def told(self, title: str, message: str, *answers: Answer | bytes, **fields: Any) -> str:
        """A session whose model gives these answers; its id."""
        self.provider.queue(
            *(Answer(one, when=OF_AN_AGENT) if isinstance(one, bytes) else one for one in answers)
        )
        self.provider.queue(text_reply(title))
        chat = {"provider": "local/coder", "project": self.project, "message": message, **fields}
        row = self.server.api("POST", "/api/agent/chat", chat)["session"]
        self.server.api("PATCH", f"/api/agent/sessions/{row['id']}", {"title": title})
        return row["id"]

    def sessions(self) -> list[dict[str, Any]]:
        return self.server.api("GET", "/api/agent/sessions")["sessions"]

    def earlier(self) -> None:
        """Sessions that were held before, each at the demo's question."""
        for title in EARLIER:
            chat = {"provider": "scripted/demo", "project": self.project, "bypass_approval": True}
            row = self.server.api("POST", "/api/agent/chat", {**chat, "message": title})["session"]
            self.server.api("PATCH", f"/api/agent/sessions/{row['id']}", {"title": title})
            self.server.api("POST", "/api/agent/stop", {"session": row["id"]})

    def tidy(self) -> None:
        """As it was before the last picture."""
        self.gate.set()
        self.provider.queued.clear()
        for name in (DEMO_FILE, "timer.test.js"):
            (self.folder / name).unlink(missing_ok=True)
        (self.folder / "timer.js").write_text(TIMER)
        for row in self.sessions():
            if row["title"] not in EARLIER:
                self.server.api("POST", "/api/agent/stop", {"session": row["id"]})
                self.server.api("DELETE", f"/api/agent/sessions/{row['id']}")
        for rule in self.server.api("GET", "/api/agent/rules")["rules"]:
            self.server.api("DELETE", f"/api/agent/rules/{rule['id']}")


@contextmanager
def studio(browser: Browser, folder: Path, *, bare: bool) -> Generator[Studio]:
    """`bare`: no provider is set up."""
    project, data = folder / "tea-timer", folder / "data"
    project.mkdir(parents=True)
    data.mkdir(mode=0o700)
    (project / "README.md").write_text(README)
    provider = Provider()
    try:
        if not bare:
            (data / "config.toml").write_text(CONFIG.format(url=provider.url))
        with served(data) as server:
            added = server.api("POST", "/api/projects", {"path": str(project), "name": "Tea timer"})
            made = Studio(browser, server, provider, added["id"], project)
            made.tidy()
            yield made
    finally:
        provider.close()

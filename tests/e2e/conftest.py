"""The page in a real browser, against a real server whose provider plays what a test says."""

import os
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Request, expect

from tests.cli.server import Served, served
from tests.provider import Provider

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CONFIG = """
[providers.fake]
type = "openai"
base_url = "{url}"

[[providers.fake.models]]
id = "m"
context_length = 16000
vision = true

[web]
hosts = ["127.0.0.1"]

[projects.demo]
name = "Demo"
path = "{project}"
"""

expect.set_options(timeout=45_000)
LOOKS = 900
"""Of 50 ms each, for the end of a round."""
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser on a busy machine: a test is given up when nothing can be expected of it."""
    for item in items:
        if item.path.is_relative_to(HERE) and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    browser = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    return {**browser_type_launch_args, "executable_path": browser, "args": ARGUMENTS}


@dataclass
class Desk:
    """A signed-in page, the server behind it, its provider and the project's folder."""

    page: Page
    server: Served
    provider: Provider
    project: Path
    data: Path
    problems: list[str]
    """What the browser complained about: refused scripts and styles, errors, failed loads;
    and requests to anywhere else."""
    said: Any = None
    """The state before the last message."""
    expected: list[str] = field(default_factory=list[str])
    """Parts of complaints that a test brings about on purpose."""

    def open(self, place: str = "") -> None:
        self.page.goto(f"{self.server.url}/{place}")

    def state(self) -> Any:
        """Which session is the newest, and how far it has come; None where no server tells."""
        try:
            rows = self.server.api("GET", "/api/agent/sessions")["sessions"]
        except OSError:
            return None
        return [(row["id"], row["last_seq"], row["status"]) for row in rows[:1]]

    def write(self, text: str) -> None:
        self.page.get_by_role("textbox", name="Message").fill(text)

    def say(self, text: str) -> None:
        """Send as the first message of a new chat, or as the next of the one that is open."""
        self.write(text)
        send = self.page.get_by_role("button", name="Send", exact=True)
        expect(send).to_have_attribute("aria-disabled", "false")  # the models are known
        self.said = self.state()
        self.page.keyboard.press("Control+Enter")
        expect(self.page.get_by_role("textbox", name="Message")).to_have_value("")

    def row(self) -> dict[str, Any]:
        """The newest session's row, from the API."""
        return self.server.api("GET", "/api/agent/sessions")["sessions"][0]

    def done(self) -> None:
        """Wait for the end of the round that the last message began: its tokens stand below it."""
        for _ in range(LOOKS):
            now = self.state()
            if now is None or (now != self.said and now[0][-1] != "running"):
                break
            self.page.wait_for_timeout(50)
        expect(self.page.locator("[data-kind=foot]").last).to_be_visible()
        expect(self.page.get_by_role("button", name="Stop")).to_have_count(0)


def complaints(page: Page, home: str) -> list[str]:
    """What the browser will complain about, and each request to another place than `home`."""
    problems: list[str] = []

    def asked(request: Request) -> None:
        if not request.url.startswith((home + "/", "data:", "blob:")):
            problems.append(f"asked for {request.url}")

    page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", asked)
    return problems


@pytest.fixture
def desk(page: Page, provider: Provider, tmp_path: Path) -> Generator[Desk]:
    project, data = tmp_path / "demo", tmp_path / "data"
    project.mkdir()
    data.mkdir(mode=0o700)
    (project / "README.md").write_text("# Demo\n")
    (data / "config.toml").write_text(CONFIG.format(url=provider.url, project=project))
    page.set_default_timeout(45_000)
    with served(data) as server:
        problems = complaints(page, server.url)
        page.add_init_script("localStorage.setItem('shipmate.project', 'demo')")
        page.goto(server.token_url)
        expect(page.get_by_role("button", name="Model: fake/m")).to_be_visible()
        desk = Desk(page, server, provider, project, data, problems)
        yield desk
        found = [p for p in problems if not any(part in p for part in desk.expected)]
        page.goto("about:blank")
    assert found == []

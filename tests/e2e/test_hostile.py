"""What a model or a tool writes may do nothing: no request leaves, no script runs."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Desk
from tests.provider import call_reply, text_reply

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "render.jsonl").read_text().split("\n")
    if line
]


class Evil(ThreadingHTTPServer):
    asked: list[str]


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Evil)
        self.server.asked.append(self.path)
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def evil() -> Iterator[Evil]:
    server = Evil(("127.0.0.1", 0), _Handler)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_no_text_makes_a_request_or_runs_a_script(desk: Desk, evil: Evil) -> None:
    """All cases in one session: as an answer, as arguments, as a question."""
    url = f"http://127.0.0.1:{evil.server_port}"
    texts = [case["markdown"].replace("$EVIL", url) for case in CASES]
    assert len(texts) > 30
    everything = "\n\n---\n\n".join(texts)
    arguments = ("write_file", {"path": "x.html", "content": everything})
    question = ("ask_user", {"question": everything})
    desk.provider.queue(text_reply(*texts))
    desk.say("Show me")
    desk.done()
    thread = desk.page.get_by_role("log")
    expect(
        thread.locator("img, iframe, object, video, form, style, script, svg image")
    ).to_have_count(0)
    expect(thread.get_by_text("<script>").first).to_be_visible()
    hrefs = thread.locator("a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert [h for h in hrefs if h and not h.startswith(("http:", "https:", "mailto:"))] == []
    expect(desk.page.get_by_role("heading", level=1)).to_have_text(
        "ok"
    )  # the title has been asked for
    desk.provider.queue(call_reply(arguments), call_reply(question))
    desk.say("Write it")
    expect(desk.page.locator("section.card")).to_contain_text("U+202E")
    expect(desk.page.locator("section.card")).to_contain_text("U+001B")
    desk.page.locator("section.card").get_by_role("button", name="Deny", exact=False).first.click()
    expect(desk.page.locator("section.card").last).to_contain_text("Question from the agent")
    assert desk.page.evaluate("window.__pwn") is None
    assert evil.asked == []

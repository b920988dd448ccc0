"""What a model or a tool writes may do nothing: no request leaves, no script runs."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.board import BOARD
from tests.e2e.conftest import Desk
from tests.provider import call_reply, text_reply

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "render.jsonl").read_text().split("\n")
    if line
]
LOADS = "img, image, iframe, object, embed, video, audio, link, style, script, base, math"
ROUND = 40
"""Steps, fewer than a round may have."""
TRICKS = "a\u202egpj.txt"
TERMINAL = "\x1b]0;title\x07\x1b[8mhidden\x1b[0m\x1b]52;c;cm0gLXJm\x07 over\x08\x08\u200b"
LINKS = """[the manual](https://example.com/manual)

[https://bank.example/](http://x.example/login)

[bank.example](https://bank.example@x.example/)

[pic\u202egnp](https://example.com/exe)

[](https://example.com/empty)
"""


class Evil(ThreadingHTTPServer):
    asked: list[str]
    told: list[str]
    """The `Referer` of each."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Evil)
        self.server.asked.append(self.path)
        self.server.told.append(self.headers.get("Referer", ""))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def evil() -> Iterator[Evil]:
    server = Evil(("127.0.0.1", 0), _Handler)
    server.asked, server.told = [], []
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def texts(evil: Evil) -> list[str]:
    return [case["markdown"].replace("$EVIL", evil.url) for case in CASES]


def quiet(desk: Desk, evil: Evil) -> None:
    """Nothing was made of the texts but words and links."""
    made = desk.page.locator(f"main :is({LOADS})")
    expect(made).to_have_count(0)
    expect(desk.page.locator(".md :is(form, input, textarea, dialog, details)")).to_have_count(0)
    handlers = """all => all.flatMap(e => e.getAttributeNames())
        .filter(n => n.startsWith("on") || n === "style" || n === "srcset" || n === "ping")"""
    assert desk.page.locator(".md *").evaluate_all(handlers) == []
    hrefs = desk.page.locator("main a").evaluate_all("all => all.map(a => a.href)")
    assert [h for h in hrefs if not h.startswith(("http:", "https:", "mailto:"))] == []
    assert desk.page.evaluate("window.__pwn") is None
    assert evil.asked == []


@pytest.mark.safety
def test_an_answer_makes_no_request_and_runs_no_script(desk: Desk, evil: Evil) -> None:
    """Each case as a message of its own, as they stand within one another otherwise."""
    BOARD.put("render cases in Chromium, the chat", len(CASES), len(CASES))
    desk.page.set_viewport_size({"width": 1000, "height": 60_000})  # all of it is in the page
    assert len(CASES) > 70
    for first in range(0, len(CASES), ROUND):
        for n, text in enumerate(texts(evil)[first : first + ROUND]):
            call = ("manage_todo_list", {"todoList": [{"id": n, "title": f"Case {n}"}]})
            desk.provider.queue(call_reply(call, text=text + "\n\nNEXT"))
        desk.provider.queue(text_reply("The last."))
        desk.say("Show me")
        desk.done()
    expect(desk.page.get_by_text("NEXT")).to_have_count(len(CASES))
    expect(desk.page.get_by_role("log").get_by_text("<script>").first).to_be_visible()
    quiet(desk, evil)
    BOARD.put("render cases in Chromium, the chat", len(CASES), 0)


@pytest.mark.safety("render cases in Chromium, elsewhere")
def test_what_is_said_asked_and_approved_is_shown_as_text(desk: Desk, evil: Evil) -> None:
    everything = "\n\n---\n\n".join(texts(evil))
    desk.provider.queue(call_reply(("write_file", {"path": "x.html", "content": everything})))
    desk.provider.queue(call_reply(("ask_user", {"question": everything, "options": [everything]})))
    desk.say(everything)
    card = desk.page.locator("section.card")
    expect(card).to_contain_text("U+202E")
    expect(card).to_contain_text("U+001B")
    quiet(desk, evil)
    card.get_by_role("button", name="Deny", exact=False).first.click()
    expect(card.last).to_contain_text("Question from the agent")
    quiet(desk, evil)


@pytest.mark.safety("render cases in Chromium, elsewhere")
def test_what_a_tool_read_is_shown_as_text(desk: Desk, evil: Evil) -> None:
    (desk.project / "page.html").write_text("\n".join(texts(evil)))
    (desk.project / TRICKS).write_text(TERMINAL)
    desk.provider.queue(
        call_reply(("read_file", {"path": "page.html"}), ("read_file", {"path": TRICKS})),
        call_reply(("list_files", {"path": "."}), (TRICKS, {"path": TRICKS})),
        text_reply("Read."),
    )
    desk.say("Read them")
    desk.done()
    closed = desk.page.get_by_role("log").get_by_role("button", expanded=False)
    while closed.count():
        closed.first.click()
    expect(desk.page.get_by_role("group", name="Result")).to_have_count(4)
    log = desk.page.get_by_role("log")
    for shown in ("aU+202Egpj.txt", "␛]0;title␇", "U+200B"):
        expect(log).to_contain_text(shown)
    assert "\u202e" not in log.inner_text()
    quiet(desk, evil)


@pytest.mark.safety("render cases in Chromium, elsewhere")
def test_a_title_shows_what_would_turn_it_around(desk: Desk) -> None:
    desk.say("Hello")
    desk.done()
    row = desk.row()
    desk.server.api("PATCH", f"/api/agent/sessions/{row['id']}", {"title": f"See {TRICKS}"})
    shown = "See aU+202Egpj.txt"
    expect(desk.page.get_by_role("heading", level=1)).to_have_text(shown)
    expect(desk.page.get_by_role("link", name=shown)).to_be_visible()
    expect(desk.page).to_have_title(f"{shown} · shipmate")


@pytest.mark.safety("render cases in Chromium, elsewhere")
def test_a_picture_of_elsewhere_waits_for_a_click_and_names_its_host(
    desk: Desk, evil: Evil
) -> None:
    desk.provider.queue(text_reply(f"Look: ![a cat]({evil.url}/cat.png)"))
    desk.say("Show me a cat")
    desk.done()
    picture = desk.page.get_by_role("link", name=f"a cat 127.0.0.1:{evil.server_port}")
    expect(picture).to_have_attribute("title", f"{evil.url}/cat.png")
    assert evil.asked == []
    with desk.page.context.expect_page() as opened:
        picture.click()
    opened.value.wait_for_load_state()
    assert opened.value.evaluate("window.opener") is None
    assert (evil.asked[0], evil.told[0]) == ("/cat.png", "")


@pytest.mark.safety("render cases in Chromium, elsewhere")
def test_a_link_whose_words_name_another_place_says_where_it_leads(desk: Desk) -> None:
    desk.provider.queue(text_reply(LINKS))
    desk.say("Links")
    desk.done()
    links = desk.page.locator(".md a")
    expect(links).to_have_text(
        [
            "the manual",
            "https://bank.example/ x.example",
            "bank.example x.example",
            "picU+202Egnp",
            "https://example.com/empty",
        ]
    )

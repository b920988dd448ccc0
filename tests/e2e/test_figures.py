"""What the page weighs, what a long session takes of a browser, and a long answer leaves."""

import json

from playwright.sync_api import expect

from bench.browser import Meter, weight
from bench.stored import block
from tests.e2e.conftest import Desk
from tests.e2e.test_sidebar import talk
from tests.provider import Answer, chunk, sse

MESSAGES = 10_000
TOKENS = 20_000
PART = "## Part {n}\nSome **words** and `code`.\n\n```python\nprint({n})\n```\n\n- a point\n\n"


def test_what_is_loaded_at_the_start_is_small(desk: Desk) -> None:
    desk.page.reload()
    expect(desk.page.get_by_role("textbox", name="Message")).to_be_visible()
    loaded = weight(desk.page, desk.server)
    assert 50 < loaded.script <= 150
    assert 5 < loaded.style <= 25
    talk(desk, "Hi")
    desk.page.reload()
    expect(desk.page.get_by_role("log")).to_be_visible()
    whole = weight(desk.page, desk.server)
    assert loaded.script <= whole.script <= 150
    assert loaded.style <= whole.style <= 25
    print(loaded, whole)


def long_session(desk: Desk) -> str:
    """A session of ten thousand messages, brought in as a document."""
    blocks = [json.loads(block("long", place)[1].json) for place in range(1, MESSAGES + 1)]
    row = {"title": "Long", "provider": "fake/m"}
    document = {"shipmate": 1, "session": row, "blocks": blocks, "project": "demo"}
    return desk.server.api("POST", "/api/agent/sessions/import", document)["id"]


def test_a_session_of_ten_thousand_messages_takes_few_nodes(desk: Desk) -> None:
    session = long_session(desk)
    desk.open(f"#/s/{session}")
    expect(desk.page.locator("[data-kind=message]").last).to_be_in_viewport()
    meter = Meter(desk.page)
    assert meter.nodes() <= 1_500
    log = desk.page.get_by_role("log")
    for _ in range(5):  # older pages load above
        height = log.evaluate("e => (e.scrollTo(0, 0), e.scrollHeight)")
        box = log.element_handle()
        desk.page.wait_for_function("([e, was]) => e.scrollHeight > was", arg=[box, height])
    assert meter.nodes() <= 1_500
    assert meter.heap() <= 60


def test_a_long_answer_is_shown_whole_and_leaves_little_memory(desk: Desk) -> None:
    text = "".join(PART.replace("{n}", str(n)) for n in range(TOKENS * 4 // len(PART)))
    tokens = [text[at : at + 4] for at in range(0, len(text), 4)]
    answer = sse(*(chunk({"content": token}) for token in tokens), chunk(finish="stop"))
    desk.provider.queue(Answer(answer, split=4096, when='"tools":'))
    desk.say("Tell me everything")
    expect(desk.page.locator("[data-kind=foot]")).to_be_visible(timeout=90_000)
    last = TOKENS * 4 // len(PART) - 1
    expect(desk.page.get_by_role("heading", name=f"Part {last}", exact=True)).to_be_visible()
    assert Meter(desk.page).heap() <= 60

"""Reading a long session over HTTP: the outline, words found in it, the plain page."""

from collections.abc import AsyncGenerator
from pathlib import Path
from urllib.parse import quote

import pytest

from shipmate.handlers import tickets
from shipmate.protocol import Message, ToolCall, ToolResult, User
from tests.handlers.client import ask
from tests.handlers.house import Whole, whole


@pytest.fixture
async def house(tmp_path: Path) -> AsyncGenerator[Whole]:
    async with whole(tmp_path) as house:
        yield house


async def made(house: Whole) -> str:
    executor = house.executor
    row = await executor.create(agent="assistant", provider="scripted/demo", project="demo")
    await executor.door.record(
        row.id,
        User(id="u1", text="Where is the\nLOGIN  loop?"),
        Message(id="m1", text="Ich schaue in die Straße.", reasoning="A login?"),
        ToolCall(
            id="c1",
            message="m1",
            name="grep",
            arguments={"q": 'say "hi"', "deep": [{"x": "Login"}]},
        ),
        ToolResult(id="r1", call="c1", text="a.py: login(login)"),
        User(id="u2", text="for a helper", parent="c1"),
        User(id="u3", text="登录 <b>again</b>"),
    )
    return f"/api/agent/sessions/{row.id}"


async def test_the_outline_has_the_users_own_messages_on_one_line_each(house: Whole) -> None:
    said = (await house.call("GET", f"{await made(house)}/outline")).json["said"]
    assert [(one["block"], one["text"]) for one in said] == [
        ("u1", "Where is the LOGIN loop?"),
        ("u3", "登录 <b>again</b>"),
    ]
    assert (await house.call("GET", "/api/agent/sessions/nope/outline")).status == 404


@pytest.mark.parametrize(
    ("words", "blocks"),
    [
        ("login", {"u1": 1, "m1": 1, "c1": 1, "r1": 2}),
        ("登录", {"u3": 1}),
        ("straße", {"m1": 1}),
        ('say "hi"', {"c1": 1}),
        ("a.py: login(", {"r1": 1}),
        ("no such words", {}),
        ("user", {}),  # what is in the JSON of a block and not in its words
    ],
)
async def test_words_are_found_wherever_they_are_read(
    house: Whole, words: str, blocks: dict[str, int]
) -> None:
    found = (await house.call("GET", f"{await made(house)}/find?q={quote(words)}")).json
    assert {hit["block"]: hit["count"] for hit in found["hits"]} == blocks
    assert found["total"] == len(blocks)


async def test_hits_come_in_windows_with_the_words_around_them(house: Whole) -> None:
    path = await made(house)
    last = (await house.call("GET", f"{path}/find?q=LOGIN&limit=1")).json
    (hit,) = last["hits"]
    assert (hit["block"], hit["before"], hit["match"], hit["after"]) == (
        "r1",
        "a.py: ",
        "login",
        "(login)",
    )
    assert last["total"] == 4
    before = (await house.call("GET", f"{path}/find?q=login&before={hit['pos']}")).json
    assert [one["block"] for one in before["hits"]] == ["u1", "m1", "c1"]
    assert (await house.call("GET", f"{path}/find?q=")).status == 422


async def test_the_plain_page_opens_without_a_header_until_it_is_too_old(
    house: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = await made(house)
    url = (await house.call("POST", f"{path}/plain")).json["url"]
    page = await ask(house.gate, "GET", url)
    assert page.status == 200
    assert "登录 &lt;b&gt;again&lt;/b&gt;" in page.body.decode()
    assert "<script" not in page.body.decode()
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert (await ask(house.gate, "GET", "/plain/guessed")).status == 404
    monkeypatch.setattr(tickets, "VALID_S", -1)
    old = (await house.call("POST", f"{path}/plain")).json["url"]
    assert (await ask(house.gate, "GET", old)).status == 404
    assert (await ask(house.gate, "POST", f"{path}/plain")).status in (401, 403)


async def test_a_pinned_session_is_listed_by_itself(house: Whole) -> None:
    path, other = await made(house), await made(house)
    assert (await house.call("PATCH", path, b'{"pinned": true}')).json["pinned"] is True
    listed = (await house.call("GET", "/api/agent/sessions?pinned=true")).json["sessions"]
    assert [row["id"] for row in listed] == [path.rpartition("/")[2]]
    assert (await house.call("GET", other)).json["session"]["pinned"] is False

"""Branch, export and import over HTTP."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shipmate.llm.scripted import say
from shipmate.protocol import Message, User
from tests.handlers.house import Whole, whole

IMPORT = "/api/agent/sessions/import"


@pytest.fixture
async def house(tmp_path: Path) -> AsyncGenerator[Whole]:
    async with whole(tmp_path, [say(f"{n}") for n in range(9)]) as house:
        yield house


async def made(house: Whole, title: str = "Été <1>") -> str:
    executor = house.executor
    row = await executor.create(agent="assistant", provider="scripted/demo", project="demo")
    await executor.door.record(row.id, User(id="u", text="hi"), Message(id="m", text="yes"))
    await executor.update(row.id, title=title)
    return f"/api/agent/sessions/{row.id}"


async def test_a_branch_is_made_and_listed(house: Whole) -> None:
    path = await made(house)
    row = (await house.call("POST", f"{path}/fork", b'{"block": "m"}')).json
    assert row["title"] == "Été <1> (branch)"
    listed = (await house.call("GET", "/api/agent/sessions")).json["sessions"]
    assert next(one["id"] for one in listed) == row["id"]
    for body, status in {
        b'{"block": "nope"}': 404,
        b'{"block": "m", "text": "x"}': 400,
        b"{}": 422,
    }.items():
        assert (await house.call("POST", f"{path}/fork", body)).status == status, body
    gone = "/api/agent/sessions/nope/fork"
    assert (await house.call("POST", gone, b'{"block": "m"}')).status == 404


@pytest.mark.parametrize(
    ("form", "kind"), [("md", "text/markdown"), ("html", "text/html"), ("json", "application/json")]
)
async def test_an_export_is_a_file_that_no_page_of_ours_shows(
    house: Whole, form: str, kind: str
) -> None:
    answer = await house.call("GET", f"{await made(house)}/export?format={form}")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith(kind)
    disposition = answer.headers["content-disposition"]
    assert disposition.startswith(f'attachment; filename="_t_-1.{form}"')
    assert "sandbox" in answer.headers["content-security-policy"]
    assert b"yes" in answer.body


async def test_exports_say_what_is_wrong(house: Whole) -> None:
    path = await made(house)
    assert (await house.call("GET", f"{path}/export?format=pdf")).status == 422
    assert (await house.call("GET", "/api/agent/sessions/nope/export")).status == 404


async def test_an_export_comes_in_again(house: Whole) -> None:
    content = (await house.call("GET", f"{await made(house)}/export?format=json")).body
    row = (await house.call("POST", IMPORT, content)).json
    assert (row["title"], row["project"]) == ("Été <1>", "demo")
    view = (await house.call("GET", f"/api/agent/sessions/{row['id']}")).json
    assert [b["type"] for b in view["blocks"]] == ["user", "message", "system"]
    document: dict[str, Any] = msgspec.json.decode(content)
    other = msgspec.json.encode({**document, "project": "nope", "later": True})
    answer = await house.call("POST", IMPORT, other)
    assert answer.status == 404
    assert "demo" in answer.json["detail"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[]", 422),
        (b'{"shipmate": "x", "blocks": []}', 422),
        (b'{"shipmate": 1}', 422),
        (b'{"shipmate": 1, "blocks": [1]}', 400),
        (b'{"shipmate": 1, "blocks": [], "files": {"a": "not base64!"}}', 422),
        (b'{"shipmate": 1, "blocks": [' + b"[" * 5000 + b"]" * 5000 + b"]}", 400),
    ],
)
async def test_what_is_no_session_is_refused(house: Whole, body: bytes, status: int) -> None:
    answer = await house.call("POST", IMPORT, body)
    assert answer.status == status, answer.body
    assert answer.json["detail"]


async def test_reading_is_enough_to_export_and_no_more(house: Whole) -> None:
    _, reader = await house.keys.create_token("reader", ["read"])
    path = await made(house)
    assert (await house.call("GET", f"{path}/export", secret=reader)).status == 200
    for target in (f"{path}/fork", IMPORT):
        body = b'{"block": "m", "shipmate": 1, "blocks": []}'
        assert (await house.call("POST", target, body, secret=reader)).status == 403


async def test_agents_in_agents_without_end_are_a_session_like_any_other(house: Whole) -> None:
    blocks: list[dict[str, Any]] = [{"type": "user", "id": "u", "text": "x"}]
    above: dict[str, str] = {}
    for n in range(2000):
        said = {"type": "message", "id": f"m{n}", "text": "t", **above}
        call = {"type": "tool", "id": f"c{n}", "message": f"m{n}", "name": "call_agent", **above}
        blocks += [said, {**call, "started": True}]
        above = {"parent": f"c{n}"}
    answer = await house.call(
        "POST", IMPORT, msgspec.json.encode({"shipmate": 1, "blocks": blocks})
    )
    assert answer.status == 200, answer.body
    session = f"/api/agent/sessions/{answer.json['id']}"
    kept = msgspec.json.decode((await house.call("GET", f"{session}/export?format=json")).body)
    results = [b["call"] for b in kept["blocks"] if b["type"] == "tool_result"]
    assert results == [f"c{n}" for n in reversed(range(2000))]

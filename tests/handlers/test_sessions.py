"""The list of sessions, one session, its changes and its stream."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shipmate.database.rows import now
from shipmate.errors import NotFoundError
from shipmate.llm.scripted import say
from shipmate.protocol import User
from tests.handlers.house import Whole, whole


@pytest.fixture
async def house(tmp_path: Path) -> AsyncGenerator[Whole]:
    async with whole(tmp_path, [say(f"{n}") for n in range(50)]) as house:
        yield house


async def make(house: Whole, **fields: Any) -> str:
    row = await house.executor.create(
        agent="assistant", provider="scripted/demo", project="demo", **fields
    )
    return row.id


async def test_the_list_comes_in_pages_the_last_changed_first(house: Whole) -> None:
    made = [await make(house) for _ in range(5)]
    last = now()
    while now() == last:  # rows changed in the same millisecond have no order
        await asyncio.sleep(0)
    await house.executor.update(made[0], title="changed")
    seen: list[str] = []
    cursor = ""
    page: dict[str, Any] = {}
    for _ in range(4):
        page = (await house.call("GET", f"/api/agent/sessions?limit=2&cursor={cursor}")).json
        seen += [row["id"] for row in page["sessions"]]
        cursor = page["cursor"]
        if not cursor:
            break
    assert sorted(seen) == sorted(made)
    assert seen[0] == made[0]
    assert "context_usage" in page["sessions"][0]


async def test_the_list_is_filtered(house: Whole) -> None:
    kept, archived = await make(house), await make(house)
    await house.call("PATCH", f"/api/agent/sessions/{archived}", b'{"archived": true}')
    for query, expected in {
        "": {kept},
        "?archived=true": {archived},
        "?archived=all": {kept, archived},
        "?archived=all&project=other": set[str](),
        "?archived=all&status=running": set[str](),
    }.items():
        page = (await house.call("GET", f"/api/agent/sessions{query}")).json
        assert {row["id"] for row in page["sessions"]} == expected, query


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=x", "limit=1001", "cursor=x", "archived=maybe", "colour=red"]
)
async def test_a_wrong_query_names_the_field(house: Whole, query: str) -> None:
    answer = await house.call("GET", f"/api/agent/sessions?{query}")
    assert answer.status == 422
    assert query.partition("=")[0] in answer.json["detail"]


async def test_blocks_come_in_windows_from_the_end(house: Whole) -> None:
    session = await make(house)
    blocks = [User(text=f"{n} é 🙂") for n in range(25)]
    await house.executor.door.record(session, *blocks)
    path = f"/api/agent/sessions/{session}"
    last = (await house.call("GET", f"{path}?limit=10")).json
    assert [b["text"][:2] for b in last["blocks"]] == [f"{n}" for n in range(15, 25)]
    assert last["more"] is True
    before = last["blocks"][0]["pos"]
    first = (await house.call("GET", f"{path}?limit=100&before={before}")).json
    assert len(first["blocks"]) == 15
    assert first["more"] is False
    assert last["last_seq"] == 25
    stored = await house.executor.store.window(session)
    raw = await house.call("GET", path)
    assert b",".join(kept.json for kept in stored) in raw.body


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
async def test_an_unknown_session_is_404(house: Whole, method: str) -> None:
    sent = b'{"title": "x"}' if method == "PATCH" else b""
    answer = await house.call(method, "/api/agent/sessions/nope", sent)
    assert answer.status == 404
    assert "nope" in answer.json["detail"]
    assert (await house.call("GET", "/api/agent/sessions/nope/events")).status == 404


async def test_a_session_is_renamed_and_switched(house: Whole) -> None:
    path = f"/api/agent/sessions/{await make(house)}"
    row = (await house.call("PATCH", path, b'{"title": " New\\nname "}')).json
    assert row["title"] == "New name"
    for wrong, status in {
        b"{}": 422,
        b'{"title": " \\n"}': 400,
        b'{"title": ""}': 422,
        b'{"status": "running"}': 422,
        b'{"provider": "no/pe"}': 404,
        b'{"agent": "nope"}': 404,
    }.items():
        assert (await house.call("PATCH", path, wrong)).status == status, wrong
    assert (await house.call("GET", path)).json["session"]["title"] == "New name"


async def test_a_deleted_session_is_gone(house: Whole) -> None:
    session = await make(house)
    path = f"/api/agent/sessions/{session}"
    assert (await house.call("DELETE", path)).status == 204
    assert (await house.call("GET", path)).status == 404


async def test_the_todo_list_is_cleared(house: Whole) -> None:
    session = await make(house)
    path = f"/api/agent/sessions/{session}"
    assert (await house.call("POST", f"{path}/todo/clear")).status == 204
    blocks = (await house.call("GET", path)).json["blocks"]
    assert [(b["type"], b["id"]) for b in blocks] == [("todo", "todo")]


@pytest.mark.parametrize("what", ["resume", "dismiss"])
async def test_only_what_was_interrupted_goes_on(house: Whole, what: str) -> None:
    session = await make(house)
    sent = msgspec.json.encode({"session": session})
    assert (await house.call("POST", f"/api/agent/{what}", sent)).status == 409


@pytest.mark.parametrize(
    "query", ["sessions=a:x", "sessions=a:-1", "sessions=%20", "sessions=a:1:2", "sessions=a;b"]
)
async def test_a_wrong_list_of_places_is_refused(house: Whole, query: str) -> None:
    answer = await house.call("GET", f"/api/agent/events?{query}")
    assert answer.status == 422
    assert "sessions" in answer.json["detail"]


@pytest.mark.parametrize("before", ["9223372036854775808", "99999999999999999999", "-1", "x"])
async def test_a_place_that_cannot_be_is_refused(house: Whole, before: str) -> None:
    path = f"/api/agent/sessions/{await make(house)}"
    assert (await house.call("GET", f"{path}?before={before}")).status == 422
    assert (await house.call("GET", f"{path}?before=9007199254740992")).status == 200


NASTY = st.text(
    alphabet=st.sampled_from("'\";-%_*?#&=\\\0\n\r \u202e\ufeff\u00e9\U0001f642abc./")
    | st.characters(codec="utf-8"),
    min_size=1,
    max_size=40,
)
WORDS = (
    "' OR 1=1 --",
    "..%2f..%2fsessions.db",
    "x'; DROP TABLE sessions;--",
    "%00",
    "s\0x",
    "__proto__",
)


async def test_ids_with_characters_of_sql_or_of_paths_are_404(house: Whole) -> None:
    """FM043"""
    session, store = await make(house), house.executor.store
    await house.executor.door.record(session, User(id="u", text="hi"))

    async def look(name: str) -> None:
        for reading in (store.session(name), store.block(session, name)):
            with pytest.raises(NotFoundError):
                await reading
        target = quote(name.encode("utf-8", "replace"), safe="")
        for path in (target, f"{target}/export", f"{target}/events"):
            answer = await house.call("GET", f"/api/agent/sessions/{path}")
            assert answer.status == 404, name
        sent = msgspec.json.encode({"block": name.encode("utf-8", "replace").decode()})
        assert (await house.call("POST", f"/api/agent/sessions/{session}/fork", sent)).status == 404

    for word in WORDS:
        await look(word)
    loop = asyncio.get_running_loop()

    @settings(max_examples=100)
    @given(NASTY.filter(lambda name: name not in (session, "u")))
    def tried(name: str) -> None:
        asyncio.run_coroutine_threadsafe(look(name), loop).result(10)

    await asyncio.to_thread(tried)
    assert (await store.session(session)).last_seq == 1

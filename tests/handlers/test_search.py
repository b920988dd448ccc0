"""Search over HTTP: what is found, whose it is, what is gone, and what was there before."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest

from shipmate.database.query import parse
from shipmate.database.sql_store import SqlStore
from shipmate.database.sqlite import SqliteStore
from shipmate.database.store import Kept, SearchFilter
from shipmate.llm.scripted import say
from shipmate.protocol import Message, SessionRow, ToolCall, ToolResult, User
from shipmate.session.searching import index_all, keep_indexed, search, search_sessions
from tests.database.aged import filled, of_version_1, row
from tests.handlers.house import Whole, whole
from tests.handlers.test_users import person

TYPED = {
    "a": "步2 重跑gen-itgc后50条悬空引用清零",
    "b": "don't use C++ (foo:bar) POL-358 100% a_b café",
}


@pytest.fixture(params=["sqlite", "postgres"])
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Whole]:
    url = request.getfixturevalue("postgres") if request.param == "postgres" else ""
    async with whole(tmp_path, [say("Done.") for _ in range(9)], database=url) as house:
        yield house


async def talk(house: Whole, *blocks: Any, title: str = "", project: str = "demo") -> SessionRow:
    executor = house.executor
    made = await executor.create(agent="assistant", provider="scripted/demo", project=project)
    if title:
        await executor.update(made.id, title=title)
    await executor.door.record(made.id, *blocks)
    return await executor.store.session(made.id)


async def found(house: Whole, q: str, **fields: Any) -> list[dict[str, Any]]:
    answer = await house.call("GET", "/api/agent/search?" + urlencode({"q": q, **fields}))
    assert answer.status == 200, answer
    assert answer.json["indexing"] is None
    return answer.json["hits"]


async def blocks(house: Whole, q: str, **fields: Any) -> set[str]:
    return {hit["block"] for hit in await found(house, q, **fields)}


@pytest.mark.parametrize(
    ("q", "ids"),
    [
        *((q, "b") for q in ("POL-358", "don't", "C++", "foo:bar", "100%", "a_b", "cafe", "CAFÉ")),
        *((q, "a") for q in ("悬空", "空", "itgc", "引用清零", "gen-itgc后", "零", "50条", "步2")),
        *((q, "b") for q in ('"use C++"', "dont", "pol358", "pol", "foo bar", "po*", "use CAF")),
        *((q, "") for q in ("axb", "用引", "itg悬", '"c++ use"', "P", "NEAR", "use nothing")),
        *((q, "") for q in ("", " ", '"', '""', "*", "%", "_", "'", "(", "\0", "\ud83d", "🎉")),
        ('"unbalanced', ""),
        ("{parts} : use", ""),
        ("use NOT foo", ""),
        ("悬" * 1000, ""),
        ("a " * 500, "b"),
        ('"' * 1000, ""),
    ],
)
async def test_what_people_type_finds_its_row_and_never_fails(
    house: Whole, q: str, ids: str
) -> None:
    """SES-16."""
    await talk(house, *(User(id=name, text=text) for name, text in TYPED.items()))
    q = q.encode(errors="replace").decode()
    assert await blocks(house, q) == set(ids)
    path = "/api/agent/search/sessions?" + urlencode({"q": q})
    assert len((await house.call("GET", path)).json["sessions"]) == len(ids)


@pytest.mark.parametrize(
    "query",
    [
        "q=" + "a" * 5000,
        "",
        "q=a&role=king",
        "q=a&limit=0",
        "q=a&cursor=x",
        "q=a&cursor=99999999999999999999-0",
        "q=a&since=5&until=4",
        "q=a&order=worst",
        "q=a&colour=red",
    ],
)
async def test_what_does_not_fit_is_named(house: Whole, query: str) -> None:
    answer = await house.call("GET", f"/api/agent/search?{query}")
    assert answer.status == 422
    assert answer.json["detail"].startswith("The query does not fit: ")


async def test_parts_of_identifiers_and_an_emoji_are_found(house: Whole) -> None:
    await talk(house, User(id="u", text="See getUserName in http_server.py 🎉 数据"))
    for q in ("user", "username", "userName", "user_name", "getus", "http-server", "🎉", "数据"):
        assert await blocks(house, q) == {"u"}, q


async def test_an_excerpt_marks_what_was_found_as_browsers_count(house: Whole) -> None:
    text = "before " * 40 + "🎉 the CAFÉ,\nthe getUserName <b>数据库</b> " + "after " * 80
    await talk(house, User(id="u", text=text))
    for q, marked in {
        "cafe": ["CAFÉ"],
        "user": ["User"],
        "username": ["UserName"],
        "数据": ["数据"],
        '"the café the" 数': ["the CAFÉ, the", "数"],
        "get-user cafe": ["CAFÉ", "getUser"],
    }.items():
        (hit,) = await found(house, q)
        units = hit["snippet"]["text"].encode("utf-16-le")
        shown = [units[2 * a : 2 * b].decode("utf-16-le") for a, b in hit["snippet"]["marks"]]
        assert shown == marked, q
        assert len(hit["snippet"]["text"]) < 250
        assert "<b>" in hit["snippet"]["text"]


async def test_filters_narrow_by_project_role_and_time(house: Whole) -> None:
    await talk(
        house,
        User(id="u", text="login one", at=1000),
        Message(id="m", text="login two", reasoning="hm", at=2000),
        ToolCall(id="c", message="m", name="grep", arguments={"q": ["login"]}, at=3000),
        ToolResult(id="r", call="c", text="login", untrusted=True, at=4000),
        User(id="h", text="login, helper", parent="c", at=5000),
    )
    await talk(house, User(id="o", text="login", at=6000), project="other")
    assert await blocks(house, "login") == {"u", "m", "c", "r", "h", "o"}
    assert await blocks(house, "login", project="demo") == {"u", "m", "c", "r", "h"}
    assert await blocks(house, "login", project="other") == {"o"}
    assert await blocks(house, "login", project="nope") == set()
    assert await blocks(house, "login", role="user") == {"u", "o"}
    assert await blocks(house, "login", role="assistant") == {"m", "h"}
    assert await blocks(house, "login", role="tool") == {"c", "r"}
    assert await blocks(house, "login", since=2000, until=4000) == {"m", "c", "r"}
    (hit,) = await found(house, "login", since=4000, until=4000)
    assert (hit["at"], hit["pos"], hit["type"], hit["untrusted"]) == (4000, 4, "tool_result", True)


async def test_pages_have_every_hit_once_newest_or_best_first(house: Whole) -> None:
    said = [User(id=f"u{n}", text=f"login {n}", at=n + 1) for n in range(450)]
    await talk(house, *said, Message(id="exact", text="the login loop", at=9))
    for order in ("newest", "best"):
        seen: list[str] = []
        cursor = ""
        while cursor or not seen:
            query = urlencode({"q": "login", "limit": 70, "order": order, "cursor": cursor})
            page = (await house.call("GET", f"/api/agent/search?{query}")).json
            seen += [hit["block"] for hit in page["hits"]]
            cursor = page["cursor"]
        assert len(seen) == len(set(seen)) == 451, order
        if order == "newest":
            assert seen[:2] == ["u449", "u448"]
    await talk(house, Message(id="phrase", text="a loop of one login; a login loop", at=8))
    await talk(house, Message(id="apart", text="login and, far from it, looping", at=999))
    assert (await found(house, "login loop"))[-1]["block"] == "apart"


async def test_a_changed_block_is_found_by_its_new_words_alone(house: Whole) -> None:
    made = await talk(house, User(id="u", text="first words"))
    await house.executor.store.write(made.id, [User(id="u", text="second words")])
    assert await blocks(house, "first") == set()
    assert await blocks(house, "second") == {"u"}


async def test_what_is_deleted_is_gone_from_the_index_and_the_archive_is_a_choice(
    house: Whole,
) -> None:
    gone = await talk(house, User(text="login canarywords"), title="canarytitle")
    kept = await talk(house, User(id="k", text="login again"))
    await house.call("PATCH", f"/api/agent/sessions/{kept.id}", b'{"archived": true}')
    await house.call("DELETE", f"/api/agent/sessions/{gone.id}")
    assert await blocks(house, "login") == {"k"}
    assert (await found(house, "login", archived="true"))[0]["archived"] is True
    assert await blocks(house, "login", archived="false") == set()
    store = house.executor.store
    assert isinstance(store, SqlStore)
    query = "SELECT parts || title FROM search"
    assert "canary" not in str(await store.read(lambda db: db.execute(query).fetchall()))
    if store.file is not None:
        with closing(sqlite3.connect(store.file)) as db, db:
            db.execute("INSERT INTO search (search) VALUES ('integrity-check')")


async def test_sessions_are_found_by_title_first_then_by_what_is_said(house: Whole) -> None:
    said = await talk(house, User(text="the login loop"), Message(id="m", text="login"))
    named = await talk(house, User(text="hello"), title="Fix the Login 🎉 loop")
    path = "/api/agent/search/sessions?"
    answer = (await house.call("GET", path + "q=login")).json
    first, second = answer["sessions"]
    assert (first["session"]["id"], first["hit"], first["marks"]) == (named.id, None, [[8, 13]])
    assert (second["session"]["id"], second["hit"]["block"]) == (said.id, "m")
    one = (await house.call("GET", path + "q=login&limit=1")).json
    two = (await house.call("GET", path + f"q=login&limit=1&cursor={one['cursor']}")).json
    assert [one["sessions"][0]["session"]["id"], two["sessions"][0]["session"]["id"]] == [
        named.id,
        said.id,
    ]
    assert two["cursor"] == ""
    await house.executor.update(named.id, title="Other")
    answer = (await house.call("GET", path + "q=login")).json
    assert [one["session"]["id"] for one in answer["sessions"]] == [said.id]


async def test_what_is_somebody_elses_is_not_found(house: Whole) -> None:
    ada = await person(house, "ada", "admin")
    bo = await person(house, "bo", "user")
    cy = await person(house, "cy", "viewer")
    await house.call("PATCH", "/api/projects/demo", b'{"people": ["bo", "cy"]}')
    made = (await bo.begin(task="secretword here")).json["session"]
    session = made if isinstance(made, str) else made["id"]

    async def hits(who: Any, owner: str = "") -> int:
        query = urlencode({"q": "secretword", "owner": owner})
        counts = set[int]()
        for path, name in (("", "hits"), ("/sessions", "sessions")):
            answer = await who.call("GET", f"/api/agent/search{path}?{query}")
            counts.add(len(answer.json[name]))
        (count,) = counts
        return count

    assert await hits(bo) == 1
    assert [await hits(cy, owner) for owner in ("", "all", "bo")] == [0, 0, 0]
    assert [await hits(ada, owner) for owner in ("", "all", "bo")] == [0, 1, 1]
    await bo.call("PATCH", f"/api/agent/sessions/{session}", {"readers": ["cy"]})
    assert [await hits(cy, owner) for owner in ("", "all", "bo")] == [1, 1, 1]
    await bo.call("PATCH", f"/api/agent/sessions/{session}", {"readers": []})
    assert await hits(cy, "all") == 0


def wanted(q: str) -> SearchFilter:
    return SearchFilter(terms=parse(q))


async def test_what_was_there_before_becomes_searchable_piece_by_piece(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    of_version_1(path)
    store = await SqliteStore.open(path)
    assert (await search(store, wanted("hi"))).hits == []
    assert msgspec.to_builtins(await store.indexing()) == {"left": 1, "of": 1}
    made = await store.create_session(row("New"))
    await store.write(made.id, [User(text="hi from a new one")])
    assert len((await search(store, wanted("hi"))).hits) == 1
    assert await store.index_piece()
    await store.close()  # cut off: the next start goes on

    store = await SqliteStore.open(path)
    await store.write("old", [Message(id="later", text="hi again")])
    await index_all(store)
    assert await store.indexing() is None
    assert {hit.block for hit in (await search(store, wanted("hi"))).hits} > {"u", "later"}
    assert [s.session.id for s in (await search_sessions(store, wanted("old"))).sessions] == ["old"]
    await store.close()


async def test_what_is_imported_becomes_searchable_by_itself(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "sessions.db")
    body = b'{"type":"user","id":"u","pos":1,"seq":1,"at":1,"text":"brought along"}'
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        keeping = tasks.create_task(keep_indexed(store))
        await store.fill_session(row("Imported"), [("u", Kept(1, 1, "user", body))])
        while not (await search(store, wanted("brought"))).hits:
            await asyncio.sleep(0.01)
        keeping.cancel()
    assert (await search_sessions(store, wanted("imported"))).sessions
    await store.close()


async def test_a_session_that_is_deleted_while_it_is_indexed_is_not_found(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    (made,) = await filled(path, 1, 250)
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM indexed")
        db.execute("INSERT INTO unindexed (session) SELECT id FROM sessions")
    db.close()
    store = await SqliteStore.open(path)
    await store.index_piece()
    assert (await search(store, wanted("q1"))).hits
    await store.delete_session(made)
    assert await store.indexing() is None
    assert not await store.index_piece()
    assert not (await search(store, wanted("q1"))).hits
    await store.close()

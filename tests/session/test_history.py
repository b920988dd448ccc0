"""What an agent finds of the past: of its project, of its user, marked where strangers wrote it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from shipmate.database.sqlite import SqliteStore
from shipmate.protocol import AnyBlock, Message, SessionRow, ToolResult, User
from shipmate.session.history import past
from shipmate.tools.history import search_sessions
from shipmate.tools.tool import ToolContext, ToolError, ToolOutput, Workspace
from tests.database.aged import row


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path / "sessions.db")
    yield store
    await store.close()


async def talk(store: SqliteStore, *blocks: AnyBlock, **fields: Any) -> SessionRow:
    made = await store.create_session(structs.replace(row("Talk"), **fields))
    return (await store.write(made.id, blocks)).row


async def test_only_the_own_project_and_the_own_user_are_searched(store: SqliteStore) -> None:
    here = await talk(store, User(text="login here"), owner="ada")
    there = await talk(store, Message(text="login there"), owner="ada")
    await talk(store, User(text="login elsewhere"), owner="ada", project="other")
    await talk(store, User(text="login of bo"), owner="bo")
    found = await past(store, here, "login", "", 10)
    assert "login here" in found.text
    assert f"Talk (session {there.id}), block 1: login there" in found.text
    assert "elsewhere" not in found.text
    assert "of bo" not in found.text
    assert not found.untrusted
    assert "login here" not in (await past(store, here, "login", "assistant", 10)).text
    assert "Nothing was found" in (await past(store, here, "nothing", "", 10)).text
    assert "There is more" in (await past(store, here, "login", "", 1)).text


async def test_what_strangers_wrote_stays_marked(store: SqliteStore) -> None:
    clean = await talk(store, User(text="plain login"))
    await talk(store, ToolResult(call="c", text="page says obey", untrusted=True))
    assert (await past(store, clean, "obey", "", 10)).untrusted
    assert not (await past(store, clean, "plain", "", 10)).untrusted
    wary = await talk(store, Message(text="summary of a page"))
    await store.write(wary.id, row={"untrusted": True})
    assert (await past(store, clean, "summary", "", 10)).untrusted


async def test_the_tool_says_what_it_cannot_look_for(tmp_path: Path, store: SqliteStore) -> None:
    here = await talk(store)

    async def history(query: str, role: str, most: int) -> ToolOutput:
        return await past(store, here, query, role, most)

    context = ToolContext(Workspace(tmp_path, history=history))
    for query, why in {" ": "empty", "***": "no word"}.items():
        with pytest.raises(ToolError, match=why):
            await search_sessions.run(context, query=query)
    with pytest.raises(ToolError, match="cannot be searched"):
        await search_sessions.run(ToolContext(Workspace(tmp_path)), query="x")
    found = await search_sessions.run(context, query="login", role="any")
    assert isinstance(found, ToolOutput)

"""What was acknowledged is said, whatever cuts off or cannot keep the end of a round."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from shipmate.errors import StorageError
from shipmate.llm.scripted import say
from shipmate.protocol import Message, System
from shipmate.session import rounds
from tests.play import stage
from tests.session.test_queue import left_queued, said, settled, texts
from tests.session.trade import TOOLS


async def test_what_is_queued_is_said_when_the_end_before_it_could_only_be_kept_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "AGAIN_SECONDS", 0.01)
    async with stage(tmp_path, [say("One."), say("Two.")], tools=TOOLS) as server:
        await server.store.execute(lambda db: db.execute("PRAGMA busy_timeout=20"))
        session = await server.create()
        await server.executor.send(session, "first")
        await server.executor.queue.add(session, "later")
        with closing(sqlite3.connect(server.store.path, isolation_level=None)) as other:
            async with server.executor.door.turn(session):  # its end waits in line
                while not await server.blocks(session, Message):
                    await asyncio.sleep(0)
                other.execute("BEGIN IMMEDIATE")
            while server.executor.runs(session):
                await asyncio.sleep(0.01)
            assert (await server.row(session)).status == "running"
        await settled(server, session, 2)
        assert await said(server, session) == ["first", "later"]
        assert await texts(server, session) == []


async def test_a_message_that_comes_while_the_server_cuts_the_end_of_a_round_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed: list[str] = []
    monkeypatch.setattr(rounds, "point", passed.append)
    async with stage(tmp_path, [say("One."), say("Never heard.")], tools=TOOLS) as server:
        await server.store.execute(lambda db: db.execute("PRAGMA busy_timeout=60000"))
        session = await server.create()
        await server.executor.send(session, "first")
        with closing(sqlite3.connect(server.store.path, isolation_level=None)) as other:
            async with server.executor.door.turn(session):
                while "round.played" not in passed:  # then its end stands in line
                    await asyncio.sleep(0)
                other.execute("BEGIN IMMEDIATE")  # what is kept from now on waits
                steering = asyncio.ensure_future(server.executor.send(session, "and this"))
            for _ in range(20):  # the end is being kept; the message waits for it
                await asyncio.sleep(0)
            closing_ = asyncio.ensure_future(server.executor.close())
            for _ in range(20):
                await asyncio.sleep(0)
        await steering
        await closing_
    async with stage(tmp_path, [say("Two.")], tools=TOOLS) as server:
        assert await said(server, session) == ["first", "and this"]
        assert (await server.row(session)).status == "interrupted"
        await server.executor.resume(session)
        await settled(server, session, 2)
        assert [m.text for m in await server.blocks(session, Message)] == ["One.", "Two."]


async def test_a_message_that_comes_after_the_rounds_were_cut_is_there_to_be_resumed(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, [say("Never asked.")], tools=TOOLS) as server:
        session = await server.create()
        await server.executor.close()
        await server.executor.send(session, "too late")
        assert not server.executor.runs(session)
    with pytest.raises(StorageError, match="ending"):
        await asyncio.wait_for(server.executor.send(session, "far too late"), 60)
    async with stage(tmp_path, [say("One.")], tools=TOOLS) as server:
        assert (await server.row(session)).status == "interrupted"
        await server.executor.resume(session)
        await settled(server, session, 1)
        assert [m.text for m in await server.blocks(session, Message)] == ["One."]


async def test_a_round_that_is_dismissed_after_its_answer_holds_the_queue(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("One.")], tools=TOOLS) as server:
        session = await server.create()
        await server.say(session, "first")
    await left_queued(tmp_path, session, status="running")  # as a kill leaves it
    async with stage(tmp_path, [], tools=TOOLS) as server:
        await server.executor.dismiss(session)
    async with stage(tmp_path, [say("Two."), say("Three.")], tools=TOOLS) as server:
        assert not server.executor.runs(session)
        assert await texts(server, session) == ["later"]
        assert [note.code for note in await server.blocks(session, System)][-1] == "held"
        await server.executor.send(session, "go on")
        await settled(server, session, 3)
        assert await said(server, session) == ["first", "go on", "later"]

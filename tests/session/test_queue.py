"""Messages that wait for their turn."""

import asyncio
from pathlib import Path

import pytest

from shipmate.database.sqlite import SqliteStore
from shipmate.errors import ConflictError, NotFoundError, ShipmateError
from shipmate.llm.scripted import call, say
from shipmate.protocol import Attachment, QueueChanged, Queued, System, User
from shipmate.session import queue, rounds
from tests.play import Stage, decode_event, stage
from tests.session.trade import TOOLS, log_of


async def said(server: Stage, session: str) -> list[str]:
    return [user.text for user in await server.blocks(session, User)]


async def texts(server: Stage, session: str) -> list[str]:
    return [item.text for item in await server.executor.queue.items(session)]


async def settled(server: Stage, session: str, messages: int) -> None:
    """Until so many were said, the last is answered, and nothing runs any more."""
    while len(await said(server, session)) < messages or await unanswered(server, session):
        await asyncio.sleep(0)


async def unanswered(server: Stage, session: str) -> bool:
    last = (await server.store.history(session))[-1]
    return isinstance(last, User) or server.executor.runs(session)


async def left_queued(folder: Path, session: str, **row: str) -> None:
    """`later` waits in the session, and its row is this, when the next server starts."""
    store = await SqliteStore.open(folder / "sessions.db")
    await store.change_queue(session, lambda _: [Queued(text="later")])
    await store.write(session, row=row)
    await store.close()


async def waiting(server: Stage) -> str:
    """A session in which a call waits for the user."""
    session = await server.create()
    await server.say(session, "first")
    return session


async def test_what_is_queued_is_said_one_after_the_other_after_the_final_answer(
    tmp_path: Path,
) -> None:
    script = [call("act", command="go"), say("One."), say("Two."), say("Three.")]
    async with stage(tmp_path, script, tools=TOOLS) as server:
        session = await waiting(server)
        for text in ("second", "third"):
            await server.executor.queue.add(session, text)
        assert await said(server, session) == ["first"]
        await server.executor.decide(session, True)
        await settled(server, session, 3)
        assert await said(server, session) == ["first", "second", "third"]
        assert await texts(server, session) == []
        assert log_of(tmp_path) == ["go"]
        last = server.model.requests[-1].messages
        assert [m.text for m in last if m.role in ("user", "assistant")] == [
            *("first", "", "One.", "second", "Two.", "third"),
        ]


async def test_a_stop_holds_the_queue_until_the_user_goes_on(tmp_path: Path) -> None:
    script = [call("act", command="go"), say("Two."), say("Three.")]
    async with stage(tmp_path, script, tools=TOOLS) as server:
        session = await waiting(server)
        await server.executor.queue.add(session, "later")
        await server.executor.stop(session)
        await asyncio.sleep(0.05)  # time in which it would have begun
        assert await texts(server, session) == ["later"]
        await server.executor.send(session, "go on")
        await settled(server, session, 3)
        assert await said(server, session) == ["first", "go on", "later"]


async def test_a_stop_just_after_the_final_answer_holds_the_queue_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed: list[str] = []
    monkeypatch.setattr(rounds, "point", passed.append)
    async with stage(tmp_path, [say("One."), say("Two.")], tools=TOOLS) as server:
        session = await server.create()
        await server.executor.send(session, "first")
        await server.executor.queue.add(session, "later")
        async with server.executor.door.turn(session):
            while "round.played" not in passed:  # then its end stands in line
                await asyncio.sleep(0)
            stopping = asyncio.ensure_future(server.executor.stop(session))
            await asyncio.sleep(0)
        await stopping
        await asyncio.sleep(0.05)  # time in which it would have begun
        assert await texts(server, session) == ["later"]
        assert (await server.row(session)).status == "idle"
    async with stage(tmp_path, [say("Two."), say("Three.")], tools=TOOLS) as server:
        await asyncio.sleep(0.05)  # time in which the next server would have said it
        assert await texts(server, session) == ["later"]
        [told] = await server.blocks(session, System)
        assert told.code == "held"
        await server.executor.send(session, "go on")
        await settled(server, session, 3)
        assert await said(server, session) == ["first", "go on", "later"]


async def test_what_a_dead_server_had_not_said_after_a_final_answer_the_next_one_says(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, [say("One."), call("act", command="go")], tools=TOOLS) as server:
        answered, waits = await server.create(), await server.create()
        await server.say(answered, "first")
        await server.say(waits, "first")
    for session in (answered, waits):  # as it is left by a kill between the two
        await left_queued(tmp_path, session)
    async with stage(tmp_path, [say("Two.")], tools=TOOLS) as server:
        await settled(server, answered, 2)
        assert await said(server, answered) == ["first", "later"]
        assert await said(server, waits) == ["first"], "somebody has to decide first"
    async with stage(tmp_path, [], tools=TOOLS) as server:
        assert await said(server, answered) == ["first", "later"], "once"


async def test_where_nothing_runs_it_is_said_at_once(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("Yes.")], tools=TOOLS) as server:
        session = await server.create()
        item = await server.executor.queue.add(session, "hello")
        await settled(server, session, 1)
        assert [user.id for user in await server.blocks(session, User)] == [item.id]
        assert await texts(server, session) == []


async def test_the_same_message_is_queued_and_said_once(tmp_path: Path) -> None:
    script = [call("act", command="go"), say("One."), say("Two.")]
    async with stage(tmp_path, script, tools=TOOLS) as server:
        session, add = await waiting(server), server.executor.queue.add
        twice = [await add(session, "later", client_id="c") for _ in range(2)]
        assert twice[0].id == twice[1].id
        await server.executor.decide(session, True)
        await settled(server, session, 2)
        assert (await add(session, "later", client_id="c")).id == twice[0].id
        assert await said(server, session) == ["first", "later"]


async def test_what_is_queued_and_then_sent_is_said_once(tmp_path: Path) -> None:
    script = [call("act", command="go"), say("One."), say("Two.")]
    async with stage(tmp_path, script, tools=TOOLS) as server:
        session = await waiting(server)
        item = await server.executor.queue.add(session, "later", client_id="c")
        user = await server.executor.send(session, "later", client_id="c")
        await settled(server, session, 2)
        assert user.id == item.id
        assert await texts(server, session) == []
        assert await said(server, session) == ["first", "later"]


async def test_it_is_edited_moved_and_deleted_and_each_change_is_shown(tmp_path: Path) -> None:
    async with stage(tmp_path, [call("act", command="go")], tools=TOOLS) as server:
        session, line = await waiting(server), server.executor.queue
        one, two, three = [await line.add(session, text) for text in ("one", "two", "three")]
        await line.edit(session, three.id, place=0)
        await line.edit(session, one.id, text="ONE")
        await line.edit(session, one.id, place=9)
        await line.remove(session, two.id)
        assert await texts(server, session) == ["three", "ONE"]
        frames = await server.until(session, lambda item: item.type == "queue")
        shown = decode_event(frames[-1].data)
        assert isinstance(shown, QueueChanged)
        assert [item.text for item in shown.items] == ["three", "ONE"]


async def test_what_is_sent_now_closes_what_waits_and_keeps_its_attachments(
    tmp_path: Path,
) -> None:
    script = [call("act", command="go"), say("Read.")]
    async with stage(tmp_path, script, tools=TOOLS) as server:
        session, line = await waiting(server), server.executor.queue
        note = Attachment(kind="text", name="notes", text="the notes")
        item = await line.add(session, "read this", attachments=[note])
        user = await line.send_now(session, item.id)
        await settled(server, session, 2)
        assert user.id == item.id
        assert log_of(tmp_path) == []
        assert "the notes" in server.model.requests[-1].messages[-1].text
        with pytest.raises(NotFoundError, match="said or deleted"):
            await line.send_now(session, item.id)


async def test_a_queue_outlives_the_server_and_goes_with_its_session(tmp_path: Path) -> None:
    async with stage(tmp_path, [call("act", command="go")], tools=TOOLS) as server:
        session = await waiting(server)
        await server.executor.queue.add(session, "later")
    async with stage(tmp_path, [say("One."), say("Two.")], tools=TOOLS) as server:
        assert await texts(server, session) == ["later"]
        await server.executor.delete(session)
        with pytest.raises(NotFoundError):
            await server.executor.queue.items(session)
        left = await server.store.read(lambda db: db.execute("SELECT * FROM queue").fetchall())
        assert left == []


async def test_an_empty_message_and_one_too_many_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "MAX_QUEUED", 1)
    async with stage(tmp_path, [call("act", command="go")], tools=TOOLS) as server:
        session, line = await waiting(server), server.executor.queue
        with pytest.raises(ShipmateError, match="empty"):
            await line.add(session, " ")
        item = await line.add(session, "one")
        with pytest.raises(ConflictError, match="wait already"):
            await line.add(session, "two")
        with pytest.raises(ShipmateError, match="delete it"):
            await line.edit(session, item.id, text=" ")
        assert await texts(server, session) == ["one"]

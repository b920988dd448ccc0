"""What happens at the same moment: two messages, Stop and a message, a read and a write."""

import asyncio
import collections
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shipmate.errors import StorageError
from shipmate.llm.model import ModelError, Part, Reply, StreamItem
from shipmate.llm.scripted import call, say
from shipmate.protocol import (
    AnyBlock,
    AskUser,
    Done,
    SessionChanged,
    SessionDeleted,
    System,
    Todo,
    TodoItem,
    ToolResult,
    User,
)
from shipmate.session import hub, rounds
from shipmate.tools.ask import ask_user
from shipmate.tools.todo import manage_todo_list
from shipmate.tools.tool import ToolContext, tool
from tests.play import Stage, stage

TRIES = 20


@tool(provider="shell")
async def act(ctx: ToolContext, command: str) -> str:
    """Runs."""
    with (ctx.root / "log").open("a") as log:
        log.write(command + "\n")
    return "ran"


TOOLS = [act, ask_user, manage_todo_list]


async def test_a_message_sent_twice_at_once_is_said_once(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("Yes.")] * 3, tools=TOOLS) as server:
        session = await server.create()
        sent = (server.executor.send(session, "hello", client_id="c1") for _ in range(10))
        said = await asyncio.gather(*sent)
        await server.watch(session)
        assert len({one.id for one in said}) == 1
        assert len(await server.blocks(session, User)) == 1


async def test_two_messages_at_once_close_what_waited_once(tmp_path: Path) -> None:
    script = [call("act", command="go"), say("One."), say("Two.")]
    async with stage(tmp_path, script, tools=TOOLS) as server:
        session = await server.create()
        await server.say(session, "run")
        await asyncio.gather(*(server.executor.send(session, text) for text in ("a", "b")))
        await server.watch(session)
        results = collections.Counter(r.call for r in await server.blocks(session, ToolResult))
        assert list(results.values()) == [1]
        assert [m.text for m in await server.blocks(session, User)] == ["run", "a", "b"]
        heard = [m.text for m in server.model.requests[-1].messages if m.role == "user"]
        assert {"a", "b"} <= set("\n\n".join(heard).split("\n\n"))


async def test_stop_before_the_first_step_of_a_round_leaves_the_session_usable(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, [say("Yes.")] * 2, tools=TOOLS) as server:
        session = await server.create()
        sending = asyncio.ensure_future(server.executor.send(session, "hello"))
        while not server.executor.runs(session):
            await asyncio.sleep(0)
        await server.executor.stop(session)
        await sending
        assert (await server.row(session)).status == "idle"
        events = await server.say(session, "again")
        assert events[-1] == Done(session=session, finished=True)


async def test_stop_twice_and_with_nothing_running_changes_nothing(tmp_path: Path) -> None:
    """FM096"""
    async with stage(tmp_path, [call("act", command="go"), say("Yes.")], tools=TOOLS) as server:
        session = await server.create()
        await server.executor.stop(session)
        await server.say(session, "run")
        await asyncio.gather(*(server.executor.stop(session) for _ in range(3)))
        once = await server.store.history(session)
        await server.executor.stop(session)
        assert await server.store.history(session) == once
        assert [b.is_error for b in once if isinstance(b, ToolResult)] == [True]
        assert (await server.say(session, "again"))[-1] == Done(session=session, finished=True)


async def test_a_message_sent_right_after_stop_is_answered(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def hang(_messages: Any, _tools: Any) -> Reply:
        begun.set()
        await asyncio.Event().wait()
        return say("never")

    async with stage(tmp_path, [hang, say("Yes.")] * TRIES, tools=TOOLS) as server:
        for _ in range(TRIES):
            begun.clear()
            session = await server.create()
            await server.executor.send(session, "one")
            await begun.wait()
            stopping = server.executor.stop(session)
            await asyncio.gather(stopping, server.executor.send(session, "two"))
            assert server.executor.runs(session)
            await server.until(session, lambda item: item.type == "message")
            await server.watch(session)
            assert (await server.row(session)).status == "idle"


async def test_what_is_read_while_something_is_written_is_not_stale(tmp_path: Path) -> None:
    async with stage(tmp_path, [], tools=TOOLS) as server:
        session = await server.create()
        todo = Todo(id="todo", items=(TodoItem(id=1, title="x"),))
        door, read = server.executor.door, server.store.history
        written = False

        async def while_written(session: str) -> list[AnyBlock]:
            nonlocal written
            blocks = await read(session)
            if not written:
                written = True
                await door.record(session, todo)
                await server.executor.update(session, bypass_approval=True)
            return blocks

        server.store.history = while_written  # type: ignore[method-assign]
        transcript = await door.transcript(session)
        assert transcript.todo
        assert transcript.todo.items == todo.items
        assert door.row(session).bypass_approval


async def test_an_unforeseen_failure_ends_its_round_and_nothing_else(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("Yes.")], tools=TOOLS) as server:
        session, other = await server.create(), await server.create()
        read = server.store.history

        async def broken(session: str) -> list[AnyBlock]:
            raise ValueError("a block that cannot be read")

        await server.executor.door.transcript(session)
        sent = await server.executor.send(session, "hello")
        assert sent
        server.executor.door.forget(session)
        server.store.history = broken  # type: ignore[method-assign]
        while server.executor.runs(session):
            await asyncio.sleep(0)
        server.store.history = read  # type: ignore[method-assign]
        assert (await server.say(other, "hello"))[-1] == Done(session=other, finished=True)


async def test_a_message_that_came_while_the_round_failed_is_answered(tmp_path: Path) -> None:
    server: Stage

    async def fail(_messages: Any, _tools: Any) -> Reply:
        await server.executor.send(session, "still there?")
        raise ModelError("down", kind="auth")

    async with stage(tmp_path, [fail, say("Yes.")], tools=TOOLS) as server:
        session = await server.create()
        events = await server.say(session, "hello")
        assert events[-1] == Done(session=session, finished=True)
        assert (await server.row(session)).status == "idle"
        assert [m.code for m in await server.blocks(session, System)] == ["auth"]


async def test_who_falls_behind_still_hears_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "MAX_WAITING_BYTES", 2_000)
    away = asyncio.Event()

    async def speak() -> AsyncGenerator[StreamItem]:
        yield Part(text="one ")
        await away.wait()
        for _ in range(1000):
            yield Part(text="word ")
        yield say("one " + "word " * 1000)

    async with stage(tmp_path, [lambda _messages, _tools: speak()], tools=TOOLS) as server:
        session = await server.create()
        await server.executor.send(session, "go")
        behind = server.executor.until_done(session)
        told: list[str] = []
        while "delta" not in told:
            told += [item.type for item in await anext(behind)]
        reading = asyncio.ensure_future(anext(behind))
        await asyncio.sleep(0)  # it has seen that the round runs, and waits for news
        away.set()
        rest = await reading
        while server.executor.runs(session):
            await asyncio.sleep(0)
        rest += [item async for batch in behind for item in batch]
        assert rest[-1].type == "done"
        assert msgspec.json.decode(rest[-1].data, type=Done).finished


async def test_the_row_in_a_snapshot_is_never_older_than_what_was_told(tmp_path: Path) -> None:
    async with stage(tmp_path, [], tools=TOOLS) as server:
        sessions = [await server.create() for _ in range(2)]
        read = server.store.session

        async def slow(session: str) -> Any:
            row = await read(session)
            if session == sessions[0]:
                await server.executor.update(session, title="new")
            return row

        server.store.session = slow  # type: ignore[method-assign]
        async with aclosing(server.executor.follow(dict.fromkeys(sessions, 0))) as batches:
            batch = await anext(batches)
        rows = [msgspec.json.decode(i.data, type=SessionChanged).row for i in batch]
        assert [row.title for row in rows if row.id == sessions[0]][-1] == "new"


async def test_a_session_that_is_gone_is_told_to_whoever_follows_it(tmp_path: Path) -> None:
    async with stage(tmp_path, [], tools=TOOLS) as server:
        session = await server.create()
        async with aclosing(server.executor.follow({"gone": 0, session: 0})) as batches:
            frames = [*await anext(batches), *await anext(batches)]
        gone = [msgspec.json.decode(f.data, type=SessionDeleted) for f in frames[:1]]
        assert gone == [SessionDeleted(session="gone")]
        assert frames[-1].type == "session"


async def test_a_question_closed_by_stop_does_not_say_that_the_user_wrote(tmp_path: Path) -> None:
    async with stage(tmp_path, [call("ask_user", question="Which?")], tools=TOOLS) as server:
        session = await server.create()
        await server.say(session, "ask")
        await server.executor.stop(session)
        [question] = await server.blocks(session, AskUser)
        [result] = await server.blocks(session, ToolResult)
        assert question.cancelled == "stop"
        assert "wrote" not in result.text


async def test_the_end_that_could_not_be_kept_is_kept_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "AGAIN_SECONDS", 0.01)
    full = True

    async with stage(tmp_path, [say("lost"), say("Yes.")], tools=TOOLS) as server:
        write = server.store.write

        async def written(session: str, blocks: Any = (), **more: Any) -> Any:
            if full and not any(isinstance(b, User) for b in blocks):
                raise StorageError("The disk is full.")
            return await write(session, blocks, **more)

        server.store.write = written  # type: ignore[method-assign]
        session = await server.create()
        events = await server.say(session, "hello")
        assert isinstance(events[-1], Done)
        assert "full" in events[-1].error
        full = False
        frames = await server.until(session, lambda item: item.type == "system")
        assert frames
        assert (await server.row(session)).status == "error"
        assert (await server.say(session, "again"))[-1] == Done(session=session, finished=True)

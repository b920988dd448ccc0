"""Stories of rounds: what a person does, what is kept, what the model is sent."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from shipmate.errors import ConflictError, NotFoundError, StorageError
from shipmate.llm.model import FunctionCall, ModelError, Reply
from shipmate.llm.scripted import Step, call, say, together
from shipmate.protocol import (
    ApprovalRequest,
    Done,
    Message,
    System,
    Todo,
    ToolCall,
    ToolResult,
    Usage,
    User,
)
from tests.play import stage
from tests.session.trade import TOOLS, done, log_of, roles


async def test_a_round_reads_and_answers(tmp_path: Path) -> None:
    usage = Usage(prompt=100, completion=20)
    script = [call("look", path="a.txt"), say("It says one.", usage=usage)]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        (tmp_path / "project" / "a.txt").write_text("one")
        session = await play.create()
        events = await play.say(session, "What does a.txt say?\nPlease.")
        assert done(events) == Done(session=session, finished=True)
        kinds = [type(b).__name__ for b in await play.store.history(session)]
        assert kinds == ["User", "Message", "ToolCall", "ToolResult", "Message"]
        assert [m.text for m in await play.blocks(session, Message)] == ["", "It says one."]
        row = await play.row(session)
        assert (row.status, row.title) == ("idle", "What does a.txt say?")
        assert row.context_usage
        assert (row.context_usage.tokens, row.context_usage.source) == (120, "api")
        assert roles(play.model.requests[1].messages) == ["system", "user", "assistant", "tool"]


async def test_a_tool_that_breaks_gives_an_error_the_model_can_read(tmp_path: Path) -> None:
    script = [call("act", command="break"), call("nothing"), call("look"), say("Hm.")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "go")
        await play.executor.decide(session, True)
        assert done(await play.watch(session)).finished
        texts = [r.text for r in await play.blocks(session, ToolResult)]
        assert "unexpectedly" in texts[0]
        assert "no tool 'nothing'" in texts[1]
        assert "path" in texts[2]


async def test_stop_keeps_what_was_said(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("word " * 200)], tools=TOOLS, pause=0.005) as play:
        session = await play.create()
        await play.executor.send(session, "talk")
        await play.until(session, lambda f: f.type == "delta")
        await play.executor.stop(session)
        (said,) = await play.blocks(session, Message)
        assert said.partial
        assert said.text.startswith("word ")
        assert (await play.row(session)).status == "idle"
        await play.executor.stop(session)


async def test_stop_ends_a_running_tool_with_its_output(tmp_path: Path) -> None:
    calls = together(call("act", command="hang"), call("act", command="later"))
    async with stage(tmp_path, [calls, say("Ok.")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "go")
        one, later = await play.blocks(session, ApprovalRequest)
        await play.executor.decide(session, True, block=one.id)
        while not (tmp_path / "project" / "running").exists():
            await asyncio.sleep(0.01)
        await play.executor.stop(session)
        results = await play.blocks(session, ToolResult)
        assert results[0].text.startswith("a\n")
        assert "stopped by the user" in results[1].text
        kept = [b for b in await play.blocks(session, ApprovalRequest) if b.id == later.id]
        assert (kept[0].result, kept[0].decided_by) == (False, "stop")
        assert done(await play.say(session, "and now?")).finished


async def test_stop_closes_what_waits(tmp_path: Path) -> None:
    async with stage(tmp_path, [call("act", command="go"), say("Ok.")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "go")
        await play.executor.stop(session)
        assert (await play.row(session)).status == "idle"
        with pytest.raises(ConflictError):
            await play.executor.decide(session, True)
        assert done(await play.say(session, "and now?")).finished
        assert log_of(tmp_path) == []


async def test_a_message_sent_while_it_runs_reaches_the_next_step(tmp_path: Path) -> None:
    async def slowly(_messages: object, _tools: object) -> Reply:
        await started.wait()
        return call("look", path="a.txt")

    started = asyncio.Event()
    async with stage(tmp_path, [slowly, say("Both.")], tools=TOOLS) as play:
        (tmp_path / "project" / "a.txt").write_text("one")
        session = await play.create()
        await play.executor.send(session, "first")
        await play.until(session, lambda f: f.type == "stream_start")
        await play.executor.send(session, "second")
        started.set()
        assert done(await play.watch(session)).finished
        sent = play.model.requests[1].messages
        assert roles(sent) == ["system", "user", "assistant", "tool", "user"]
        assert sent[-1].text == "second"


async def test_a_message_sent_with_the_same_client_id_is_said_once(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("Hi.")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "hello", client_id="c1")
        await play.executor.send(session, "hello", client_id="c1")
        assert len(await play.blocks(session, User)) == 1
        assert len(play.model.requests) == 1


async def test_a_killed_round_is_interrupted_and_goes_on(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("word " * 400)], tools=TOOLS, pause=0.005) as play:
        session = await play.create()
        await play.executor.send(session, "talk")
        await play.until(session, lambda f: f.type == "delta")
        while not await play.store.live_texts():
            await asyncio.sleep(0.01)
    async with stage(tmp_path, [say("All of it.")], tools=TOOLS) as play:
        assert (await play.row(session)).status == "interrupted"
        await play.executor.resume(session)
        assert done(await play.watch(session)).finished
        said = await play.blocks(session, Message)
        assert [m.partial for m in said] == [True, False]
        assert said[0].text.startswith("word")


async def test_a_call_cut_off_by_a_crash_is_never_run_again(tmp_path: Path) -> None:
    async with stage(tmp_path, [], tools=TOOLS) as play:
        session = await play.create()
        message = Message(id="m", text="")
        cut = ToolCall(id="c", message="m", name="act", arguments={"command": "x"}, started=True)
        await play.store.write(session, [User(text="go"), message, cut], row={"status": "running"})
    async with stage(tmp_path, [say("I looked.")], tools=TOOLS) as play:
        await play.executor.resume(session)
        assert done(await play.watch(session)).finished
        (result,) = await play.blocks(session, ToolResult)
        assert "outcome is unknown" in result.text
        assert log_of(tmp_path) == []


async def test_a_failing_provider_is_told_and_the_session_goes_on(tmp_path: Path) -> None:
    failure = ModelError("401: the key is wrong", kind="auth", partial=Reply(text="Half"))
    async with stage(tmp_path, [failure, say("Now.")], tools=TOOLS) as play:
        session = await play.create()
        assert done(await play.say(session, "go")).error == "401: the key is wrong"
        (notice,) = await play.blocks(session, System)
        assert (notice.level, notice.code) == ("error", "auth")
        assert (await play.blocks(session, Message))[0].partial
        assert (await play.row(session)).status == "error"
        await play.executor.resume(session)
        assert done(await play.watch(session)).finished


async def test_the_step_limit_ends_a_round_and_is_told(tmp_path: Path) -> None:
    script = [call("look", path=f"{n}.txt") for n in range(60)]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        assert done(await play.say(session, "loop")).reason == "limit"
        assert len(play.model.requests) == 50


async def test_of_a_thousand_calls_in_one_reply_the_first_ones_run(tmp_path: Path) -> None:
    many = together(*(call("look", path=f"{n}.txt") for n in range(1000)))
    async with stage(tmp_path, [many, say("Enough.")], tools=TOOLS) as play:
        session = await play.create()
        assert done(await play.say(session, "look")).finished
        results = await play.blocks(session, ToolResult)
        assert len(results) == 1000
        assert sum("may make 32 calls" in result.text for result in results) == 1000 - 32


async def test_the_todo_list_keeps_its_place(tmp_path: Path) -> None:
    items = [{"id": 1, "title": "one", "status": "in-progress"}]
    script = [call("manage_todo_list", todoList=items), say("Ok.")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "plan")
        (todo,) = await play.blocks(session, Todo)
        assert todo.items[0].title == "one"
        await play.executor.clear_todo(session)
        (cleared,) = await play.blocks(session, Todo)
        assert (cleared.items, cleared.pos) == ((), todo.pos)


async def test_a_deleted_session_does_not_come_back(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("word " * 200)], tools=TOOLS, pause=0.005) as play:
        session = await play.create()
        await play.executor.send(session, "talk")
        await play.until(session, lambda f: f.type == "delta")
        await play.executor.delete(session)
        with pytest.raises(NotFoundError):
            await play.row(session)
        with pytest.raises(NotFoundError):
            await play.executor.send(session, "again")


async def test_a_database_that_is_locked_fails_the_round_and_nothing_else(tmp_path: Path) -> None:
    async def lock(_messages: object, _tools: object) -> Reply:
        other.execute("BEGIN IMMEDIATE")
        return say("Lost?")

    async with stage(tmp_path, [lock, say("Here.")], tools=TOOLS) as play:
        await play.store.execute(lambda db: db.execute("PRAGMA busy_timeout=20"))
        other = sqlite3.connect(play.store.path, isolation_level=None)
        session = await play.create()
        failed = done(await play.say(session, "go"))
        assert (failed.reason, "locked" in failed.error) == ("error", True)
        other.execute("ROLLBACK")
        other.close()
        assert done(await play.say(session, "again")).finished
        assert (await play.row(session)).status == "idle"


@pytest.mark.parametrize("what", ["talk", "call"])
async def test_stop_while_the_database_is_locked_is_kept_later(tmp_path: Path, what: str) -> None:
    first = say("word " * 2_000) if what == "talk" else call("act", command="hang")
    script: list[Step] = [first, say("Here.")]
    async with stage(tmp_path, script, tools=TOOLS, pause=0.005) as play:
        await play.store.execute(lambda db: db.execute("PRAGMA busy_timeout=20"))
        session = await play.create()
        await play.executor.send(session, "go")
        if what == "talk":
            await play.until(session, lambda f: f.type == "delta")
        else:
            await play.until(session, lambda f: f.type == "approval_request")
            await play.watch(session)
            await play.executor.decide(session, True)
            while not (tmp_path / "project" / "running").exists():
                await asyncio.sleep(0.01)
        with closing(sqlite3.connect(play.store.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StorageError, match="locked"):
                await asyncio.wait_for(play.executor.stop(session), 30)
            assert not play.executor.runs(session)
        while (await play.row(session)).status != "idle":
            await asyncio.sleep(0.05)
        if what == "talk":
            (said,) = await play.blocks(session, Message)
            assert said.partial
            assert said.text.startswith("word ")
        else:
            (result,) = await play.blocks(session, ToolResult)
            assert result.is_error
        play.model.pause = 0
        assert done(await play.say(session, "again")).finished


async def test_arguments_that_are_no_object_are_answered_and_never_guessed(tmp_path: Path) -> None:
    calls = Reply(
        calls=(
            FunctionCall("act", None, '{"command": "x"'),
            FunctionCall("look", None, "[]"),
            FunctionCall("manage_todo_list", None, ""),
        )
    )
    async with stage(tmp_path, [calls, say("Ok.")], tools=TOOLS) as play:
        session = await play.create()
        assert done(await play.say(session, "go")).finished
        results = await play.blocks(session, ToolResult)
        assert [r.is_error for r in results] == [True, True, True]
        texts = {r.text.split(":")[0] for r in results}
        assert len(texts) == 3
        assert log_of(tmp_path) == []

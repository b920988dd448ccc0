"""Stories of rounds: what a person does, what is kept, what the model is sent."""

import asyncio
import hashlib
import sqlite3
from pathlib import Path

import pytest

from shipmate.errors import ConflictError, NotFoundError
from shipmate.llm.model import ChatMessage, FunctionCall, ModelError, Reply
from shipmate.llm.scripted import call, say, together
from shipmate.protocol import (
    AnyEvent,
    ApprovalRequest,
    AskUser,
    Block,
    Delta,
    DiffDetail,
    Done,
    FileChange,
    Message,
    System,
    Todo,
    ToolCall,
    ToolResult,
    Usage,
    User,
)
from shipmate.safety.verdict import Level, Verdict
from shipmate.session.executor import DecidedError
from shipmate.tools.ask import ask_user
from shipmate.tools.todo import manage_todo_list
from shipmate.tools.tool import ToolContext, ToolError, ToolOutput, ToolStopped, never_ask, tool
from tests.play import Stage, decode_block, stage


@tool(provider="read_only", judge=never_ask, effect=False)
async def look(ctx: ToolContext, path: str) -> str:
    """Reads."""
    file = ctx.root / path
    if not file.exists():
        raise ToolError(f"There is no {path!r}")
    return file.read_text()


async def changes_file(ctx: ToolContext, path: str, content: str) -> Verdict:
    file = ctx.root / path
    before = file.read_bytes() if file.exists() else b""
    return Verdict(
        Level.DANGER if path.startswith(".git") else Level.ASK,
        title=f"Write {path}",
        details=DiffDetail(files=(FileChange(path=path, added=content.count("\n")),)),
        binds={str(file): hashlib.sha256(before).hexdigest()},
        bypassable=True,
    )


@tool(provider="read_write", judge=changes_file)
async def put(ctx: ToolContext, path: str, content: str) -> str:
    """Writes."""
    with (ctx.root / path).open("a") as file:
        file.write(content)
    return f"Wrote {path}"


async def by_word(ctx: ToolContext, command: str) -> Verdict:
    if command == "format c:":
        return Verdict(Level.REFUSE, reason="formats a drive", rule="format")
    return Verdict(Level.ASK, title=command)


@tool(provider="shell", judge=by_word)
async def act(ctx: ToolContext, command: str) -> str:
    """Runs."""
    if command == "hang":
        try:
            (ctx.root / "running").touch()
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            raise ToolStopped(ToolOutput("a\nStopped by the user.", is_error=True)) from error
    with (ctx.root / "log").open("a") as log:
        log.write(command + "\n")
    if command == "break":
        raise RuntimeError("boom")
    return f"ran {command}"


TOOLS = [look, put, act, ask_user, manage_todo_list]


def log_of(folder: Path) -> list[str]:
    log = folder / "project" / "log"
    return log.read_text().split("\n")[:-1] if log.exists() else []


def done(events: list[AnyEvent]) -> Done:
    assert isinstance(events[-1], Done)
    return events[-1]


def roles(messages: tuple[ChatMessage, ...]) -> list[str]:
    return [m.role for m in messages]


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


async def test_an_approved_call_runs_once(tmp_path: Path) -> None:
    script = [call("put", path="b.txt", content="hi"), say("Done.")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        assert done(await play.say(session, "write")).reason == "waiting_approval"
        assert not (tmp_path / "project" / "b.txt").exists()
        row = await play.row(session)
        (asked,) = await play.blocks(session, ApprovalRequest)
        assert (row.status, row.pending_approval) == ("waiting_approval", asked.id)
        after = row.last_seq
        await play.executor.decide(session, True)
        assert done(await play.watch(session, after)).finished
        assert (tmp_path / "project" / "b.txt").read_text() == "hi"
        assert (await play.row(session)).pending_approval == ""


async def test_a_denial_reaches_the_model_with_its_reason(tmp_path: Path) -> None:
    script = [call("put", path="b.txt", content="hi"), say("Understood.")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "write")
        await play.executor.decide(session, False, feedback="use c.txt")
        await play.watch(session)
        (result,) = await play.blocks(session, ToolResult)
        assert result.is_error
        assert "use c.txt" in result.text
        assert not (tmp_path / "project" / "b.txt").exists()


async def test_an_approval_survives_a_restart(tmp_path: Path) -> None:
    async with stage(tmp_path, [call("act", command="go")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "run")
    async with stage(tmp_path, [say("Done.")], tools=TOOLS) as play:
        assert (await play.row(session)).status == "waiting_approval"
        await play.executor.decide(session, True)
        assert done(await play.watch(session)).finished
        assert log_of(tmp_path) == ["go"]
        assert roles(play.model.requests[0].messages) == ["system", "user", "assistant", "tool"]


async def test_the_first_of_many_clicks_wins(tmp_path: Path) -> None:
    script = [call("act", command="go"), say("Done.")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "run")
        clicks = (play.executor.decide(session, i % 2 == 0) for i in range(6))
        outcomes = await asyncio.gather(*clicks, return_exceptions=True)
        late = [o for o in outcomes if isinstance(o, DecidedError)]
        assert len(late) == 5
        assert all(isinstance(o.block, ApprovalRequest) and o.block.result for o in late)
        await play.watch(session)
        assert log_of(tmp_path) == ["go"]


async def test_an_approval_of_another_session_is_not_found(tmp_path: Path) -> None:
    async with stage(tmp_path, [call("act", command="go")], tools=TOOLS) as play:
        session, other = await play.create(), await play.create()
        await play.say(session, "run")
        pending = (await play.row(session)).pending_approval
        with pytest.raises(NotFoundError):
            await play.executor.decide(other, True, block=pending)
        with pytest.raises(ConflictError, match="Nothing waits"):
            await play.executor.decide(other, True)


async def test_what_changed_since_it_was_approved_is_not_run(tmp_path: Path) -> None:
    script = [call("put", path="b.txt", content="mine"), say("I see.")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "write")
        (tmp_path / "project" / "b.txt").write_text("theirs")
        await play.executor.decide(session, True)
        await play.watch(session)
        assert (tmp_path / "project" / "b.txt").read_text() == "theirs"
        (result,) = await play.blocks(session, ToolResult)
        assert "changed since" in result.text


async def test_a_blocked_call_makes_no_request(tmp_path: Path) -> None:
    script = [call("act", command="format c:"), say("No.")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        assert done(await play.say(session, "format")).finished
        assert await play.blocks(session, ApprovalRequest) == []
        (result,) = await play.blocks(session, ToolResult)
        assert result.details
        assert log_of(tmp_path) == []


async def test_the_bypass_covers_files_but_neither_danger_nor_commands(tmp_path: Path) -> None:
    calls = together(
        call("put", path="b.txt", content="x"),
        call("put", path=".git", content="x"),
        call("act", command="ls"),
    )
    async with stage(tmp_path, [calls], tools=TOOLS) as play:
        session = await play.create(bypass=True)
        await play.say(session, "go")
        assert (tmp_path / "project" / "b.txt").exists()
        asked = await play.blocks(session, ApprovalRequest)
        assert [(a.title, a.level) for a in asked] == [
            ("Write .git", "dangerous"),
            ("ls", "normal"),
        ]


async def test_calls_with_effects_run_in_their_order_whatever_is_approved_first(
    tmp_path: Path,
) -> None:
    calls = together(call("act", command="first"), call("act", command="second"))
    async with stage(tmp_path, [calls, say("Done.")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "go")
        one, two = await play.blocks(session, ApprovalRequest)
        with pytest.raises(ConflictError, match="Several"):
            await play.executor.decide(session, True)
        await play.executor.decide(session, True, block=two.id)
        await play.watch(session)
        assert log_of(tmp_path) == []
        await play.executor.decide(session, True, block=one.id)
        assert done(await play.watch(session)).finished
        assert log_of(tmp_path) == ["first", "second"]


async def test_a_change_of_the_same_file_is_asked_about_after_the_first(tmp_path: Path) -> None:
    calls = together(
        call("put", path="b.txt", content="1"),
        call("put", path="b.txt", content="2"),
        call("put", path="c.txt", content="3"),
    )
    async with stage(tmp_path, [calls, say("Done.")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "go")
        one, three = await play.blocks(session, ApprovalRequest)
        assert (one.title, three.title) == ("Write b.txt", "Write c.txt")
        await play.executor.decide(session, True, block=one.id)
        await play.watch(session)
        asked = await play.blocks(session, ApprovalRequest)
        assert len(asked) == 3
        for request in asked[1:]:
            await play.executor.decide(session, True, block=request.id)
        assert done(await play.watch(session)).finished
        assert (tmp_path / "project" / "b.txt").read_text() == "12"


async def test_a_question_waits_and_its_answer_is_the_result(tmp_path: Path) -> None:
    script = [call("ask_user", question="Which?", options=["a", "b"]), say("Good.")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        assert done(await play.say(session, "go")).reason == "waiting_answer"
        assert (await play.row(session)).pending_question
        await play.executor.answer(session, "b")
        assert done(await play.watch(session)).finished
        (result,) = await play.blocks(session, ToolResult)
        assert "b" in result.text
        with pytest.raises(ConflictError):
            await play.executor.answer(session, "c")


async def test_a_message_in_place_of_an_answer_closes_what_waits(tmp_path: Path) -> None:
    calls = together(call("act", command="go"), call("ask_user", question="Which?"))
    async with stage(tmp_path, [calls, say("Fine.")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "go")
        await play.say(session, "never mind")
        (asked,) = await play.blocks(session, ApprovalRequest)
        (question,) = await play.blocks(session, AskUser)
        assert (asked.result, asked.decided_by) == (False, "moved_on")
        assert (question.result, question.cancelled) == ("", "moved_on")
        assert roles(play.model.requests[1].messages) == [
            *("system", "user", "assistant", "tool", "tool", "user")
        ]
        with pytest.raises(DecidedError):
            await play.executor.decide(session, True, block=asked.id)
        assert log_of(tmp_path) == []


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
    script = [call("look", path="a.txt") for _ in range(60)]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        assert done(await play.say(session, "loop")).reason == "limit"
        assert len(play.model.requests) == 50


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


async def joined_text(play: Stage, session: str, after: int) -> str:
    text = ""
    for event in await play.watch(session, after):
        if isinstance(event, Delta):
            assert event.offset == len(text)
            text += event.text
    return text


async def test_who_joins_in_mid_message_gets_the_text_so_far(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("word " * 100)], tools=TOOLS, pause=0.002) as play:
        session = await play.create()
        await play.executor.send(session, "talk")
        first = asyncio.ensure_future(joined_text(play, session, 0))
        await play.until(session, lambda f: f.type == "delta")
        texts = await asyncio.gather(first, *(joined_text(play, session, 1) for _ in range(5)))
        assert set(texts) == {"word " * 100}


async def test_a_reader_that_returns_gets_each_change_once(tmp_path: Path) -> None:
    script = [call("put", path="b.txt", content="hi"), say("Done.")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "write")
        seen = (await play.row(session)).last_seq
        await play.executor.decide(session, True)
        await play.watch(session, seen)
        changed = await play.store.changes(session, seen)
        replayed = [e for e in await play.watch(session, seen) if isinstance(e, Block)]
        assert [(k.seq, k.type) for k in changed] == [
            (e.seq, e.__struct_config__.tag) for e in replayed
        ]
        assert [decode_block(k.json) for k in changed] == replayed


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

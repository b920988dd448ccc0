"""Stories of sub-agents that are stopped, lost or cut off."""

import asyncio
from pathlib import Path

import pytest

from shipmate.errors import NotFoundError
from shipmate.llm.model import Reply
from shipmate.llm.scripted import call, say, together
from shipmate.protocol import (
    ApprovalRequest,
    Message,
    ToolCall,
    ToolResult,
    User,
)
from tests.session.team import ask, result_of, team, until, waits
from tests.session.trade import done, log_of, roles


async def test_one_is_stopped_alone_and_the_parent_goes_on(tmp_path: Path) -> None:
    calls = together(call("act", command="hang"), call("act", command="later"), say("I try."))
    async with team(
        tmp_path,
        assistant=[ask("explorer", "x"), say("Without it.")],
        explorer=[calls],
    ) as play:
        session = await play.create()
        await play.say(session, "go")
        one, later = await play.blocks(session, ApprovalRequest)
        await play.executor.decide(session, True, block=one.id)
        while not (tmp_path / "project" / "running").exists():
            await asyncio.sleep(0.005)
        after = (await play.row(session)).last_seq
        await play.executor.stop_agent(session, one.parent)
        assert done(await play.watch(session, after)).finished
        (result,) = await result_of(play, session)
        assert result.is_error
        assert "Stopped by the user after 1 step" in result.text
        assert "I try." in result.text
        kept = [b for b in await play.blocks(session, ApprovalRequest) if b.id == later.id]
        assert (kept[0].result, kept[0].decided_by) == (False, "stop")
        assert play.sent("assistant")[-1].text == result.text
        assert log_of(tmp_path) == []
        with pytest.raises(NotFoundError):
            await play.executor.stop_agent(session, one.parent)


async def test_one_that_waits_is_stopped_alone(tmp_path: Path) -> None:
    asked = together(ask("one", "x"), ask("two", "y"))
    async with team(
        tmp_path,
        assistant=[asked, say("Done.")],
        one=[call("act", command="first")],
        two=[call("act", command="second"), say("ran")],
    ) as play:
        session = await play.create()
        await play.say(session, "go")
        one, two = sorted(await play.blocks(session, ApprovalRequest), key=lambda b: b.title)
        await play.executor.stop_agent(session, one.parent)
        assert done(await play.watch(session)).reason == "waiting_approval"
        assert (await play.row(session)).pending_approval == two.id
        await play.executor.decide(session, True)
        assert done(await play.watch(session)).finished
        stopped, ran = await result_of(play, session)
        assert ("Stopped by the user" in stopped.text, ran.text) == (True, "ran")
        assert log_of(tmp_path) == ["second"]
        assert play.broken() == []


async def test_one_that_waits_is_stopped_while_another_works(tmp_path: Path) -> None:
    free = asyncio.Event()

    async def long(_messages: object, _tools: object) -> Reply:
        await free.wait()
        return say("late")

    asked = together(ask("quick", "x"), ask("slow", "y"))
    async with team(
        tmp_path,
        assistant=[asked, say("Both.")],
        quick=[call("act", command="go")],
        slow=[long],
    ) as play:
        session = await play.create()
        await play.executor.send(session, "go")
        await play.until(session, lambda f: f.type == "approval_request")
        await until(lambda: waits(play, session))
        (pending,) = await play.blocks(session, ApprovalRequest)
        await play.executor.stop_agent(session, pending.parent)
        await play.until(session, lambda f: f.type == "tool_result" and b"after 1 step" in f.data)
        free.set()
        assert done(await play.watch(session)).finished
        stopped, late = await result_of(play, session)
        assert ("Stopped by the user" in stopped.text, late.text) == (True, "late")
        assert len(play.models["quick"].requests) == 1
        assert log_of(tmp_path) == []
        assert play.broken() == []


async def test_an_agent_that_is_gone_when_it_goes_on_leaves_nothing_open(tmp_path: Path) -> None:
    async with team(tmp_path, assistant=[ask("one", "x")], one=[call("act", command="go")]) as play:
        session = await play.create()
        await play.say(session, "go")
    async with team(tmp_path, assistant=[say("Alone.")]) as play:
        await play.executor.decide(session, True)
        assert done(await play.watch(session)).finished
        (result,) = await result_of(play, session)
        assert "no agent 'one'" in result.text
        calls = {c.id for c in await play.blocks(session, ToolCall)}
        assert {r.call for r in await play.blocks(session, ToolResult)} == calls
        assert log_of(tmp_path) == []


async def test_stop_ends_all_of_them(tmp_path: Path) -> None:
    async def never(_messages: object, _tools: object) -> Reply:
        hanging.set()
        await asyncio.Event().wait()
        return say("")

    hanging = asyncio.Event()
    asked = together(ask("one", "x"), ask("two", "y"))
    async with team(
        tmp_path,
        assistant=[asked, say("I stopped.")],
        one=[ask("three", "z")],
        two=[call("act", command="go")],
        three=[never],
    ) as play:
        session = await play.create()
        await play.executor.send(session, "go")
        await play.until(session, lambda f: f.type == "approval_request")
        await hanging.wait()
        await play.executor.stop(session)
        row = await play.row(session)
        assert (row.status, row.pending_approval) == ("idle", "")
        calls = {c.id for c in await play.blocks(session, ToolCall)}
        assert {r.call for r in await play.blocks(session, ToolResult)} == calls
        assert all("topped by the user" in r.text for r in await play.blocks(session, ToolResult))
        assert [b.result for b in await play.blocks(session, ApprovalRequest)] == [False]
        assert done(await play.say(session, "and now?")).finished
        assert play.broken() == []


async def test_a_message_in_place_of_a_decision_closes_the_threads(tmp_path: Path) -> None:
    async with team(
        tmp_path,
        assistant=[ask("one", "x"), say("Fine.")],
        one=[call("act", command="go")],
    ) as play:
        session = await play.create()
        await play.say(session, "go")
        assert done(await play.say(session, "leave it")).finished
        results = await play.blocks(session, ToolResult)
        assert len(results) == 2
        assert all("moved on" in r.text for r in results)
        assert roles(play.sent("assistant")) == ["system", "user", "assistant", "tool", "user"]
        assert play.broken() == []


async def test_one_of_an_interrupted_round_is_stopped_and_the_round_rests(tmp_path: Path) -> None:
    async with team(tmp_path, assistant=[]) as play:
        session = await play.create()
        arguments = {"agent": "one", "task": "x"}
        asked = ToolCall(id="c", message="m", name="call_agent", arguments=arguments)
        blocks = [User(text="go"), Message(id="m"), asked, Message(id="n", parent="c", text="hm")]
        await play.store.write(session, blocks, row={"status": "interrupted"})
        await play.executor.stop_agent(session, "c")
        assert (await play.row(session)).status == "interrupted"
        (result,) = await result_of(play, session)
        assert "Its last words:\nhm" in result.text


async def test_a_crash_in_a_started_call_of_a_sub_agent_is_not_repeated(tmp_path: Path) -> None:
    async with team(tmp_path, assistant=[]) as play:
        session = await play.create()
        arguments = {"agent": "one", "task": "x"}
        asked = ToolCall(id="c", message="m", name="call_agent", arguments=arguments)
        inner = ToolCall(
            id="d", message="n", name="act", arguments={"command": "go"}, started=True, parent="c"
        )
        blocks = [User(text="go"), Message(id="m"), asked, Message(id="n", parent="c"), inner]
        await play.store.write(session, blocks, row={"status": "running"})
        play.store.append_text(session, "c-live", "half a sen", "")
    async with team(tmp_path, assistant=[say("Done.")], one=[say("I looked.")]) as play:
        assert (await play.row(session)).status == "interrupted"
        (half,) = [m for m in await play.blocks(session, Message) if m.partial]
        assert (half.parent, half.text) == ("c", "half a sen")
        await play.executor.resume(session)
        assert done(await play.watch(session)).finished
        inside, outside = await play.blocks(session, ToolResult)
        assert "outcome is unknown" in inside.text
        assert (inside.parent, outside.text) == ("c", "I looked.")
        assert log_of(tmp_path) == []
        assert play.broken() == []

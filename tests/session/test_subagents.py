"""Stories of sub-agents: what they do, what they wait for, how they end."""

import asyncio
from itertools import pairwise
from pathlib import Path

from shipmate.llm.model import ChatMessage, ModelError, Reply
from shipmate.llm.scripted import call, say, together
from shipmate.protocol import (
    AgentDetail,
    ApprovalRequest,
    AskUser,
    Message,
    SessionChanged,
    Todo,
    ToolCall,
    ToolResult,
    Usage,
    User,
)
from tests.session.team import ask, result_of, team, until, waits
from tests.session.trade import done, log_of, roles


async def test_a_sub_agent_works_in_a_thread_of_its_own(tmp_path: Path) -> None:
    used = Usage(prompt=70, completion=5)
    async with team(
        tmp_path,
        assistant=[ask("explorer", "Read a.txt."), say("It says one.")],
        explorer=[call("look", path="a.txt"), say("one", usage=used)],
    ) as play:
        (tmp_path / "project" / "a.txt").write_text("one")
        session = await play.create()
        assert done(await play.say(session, "What does a.txt say?")).finished
        (asked,) = [c for c in await play.blocks(session, ToolCall) if c.name == "call_agent"]
        (result,) = await result_of(play, session)
        assert (result.text, result.is_error) == ("one", False)
        assert isinstance(result.details, AgentDetail)
        assert (result.details.steps, result.details.calls) == (2, 1)
        thread = [b for b in await play.store.history(session) if b.parent == asked.id]
        assert [type(b) for b in thread] == [Message, ToolCall, ToolResult, Message]
        assert {b.agent for b in thread if isinstance(b, Message | ToolCall)} == {"explorer"}
        sent = play.sent("explorer")
        assert roles(sent) == ["system", "user", "assistant", "tool"]
        assert [m.text for m in sent[:2]] == ["You are the explorer.", "Read a.txt."]
        assert roles(play.sent("assistant")) == ["system", "user", "assistant", "tool"]
        assert play.broken() == []


async def test_tokens_count_for_the_session_and_the_context_stays_the_parent_s(
    tmp_path: Path,
) -> None:
    def said(text: str, tokens: int) -> Reply:
        return say(text, usage=Usage(prompt=tokens, completion=0))

    async with team(
        tmp_path,
        assistant=[together(ask("explorer", "x"), said("", 100)), said("Done.", 200)],
        explorer=[said("found", 1000)],
    ) as play:
        session = await play.create()
        told = await play.say(session, "go")
        assert (await play.row(session)).tokens == 1300
        rows = [event.row for event in told if isinstance(event, SessionChanged)]
        usages = [row.context_usage.tokens for row in rows if row.context_usage]
        assert set(usages) == {100, 200}


async def test_five_work_at_once_and_the_sixthwaits(tmp_path: Path) -> None:
    working = 0
    five, free = asyncio.Event(), asyncio.Event()

    async def work(_messages: object, _tools: object) -> Reply:
        nonlocal working
        working += 1
        if working == 5:
            five.set()
        await free.wait()
        return say("found")

    asked = together(*(ask("explorer", f"part {n}") for n in range(6)))
    async with team(tmp_path, assistant=[asked, say("All.")], explorer=[work] * 6) as play:
        session = await play.create()
        await play.executor.send(session, "go")
        await five.wait()
        for _ in range(100):  # all that can go on does
            await asyncio.sleep(0)
        assert working == 5
        free.set()
        assert done(await play.watch(session)).finished
        assert [r.text for r in await result_of(play, session)] == ["found"] * 6
        assert play.broken() == []


async def test_two_messages_are_streamed_at_once_and_both_can_be_joined(tmp_path: Path) -> None:
    asked = together(ask("explorer", "x"), ask("reviewer", "y"))
    async with team(
        tmp_path,
        pause=0.01,
        assistant=[asked, say("Both.")],
        explorer=[say("found " * 100)],
        reviewer=[say("fine " * 100)],
    ) as play:
        session = await play.create()
        await play.executor.send(session, "go")
        speaking: set[str] = set()
        await play.until(session, lambda f: f.type == "delta" and _second(f.data, speaking))
        view = play.executor.door.speeches[session].messages()
        parents = {live.start.parent for live in view}
        assert len(parents - {""}) == 2
        assert all(live.said[0] for live in view)
        joined = await play.until(session, lambda f: f.type == "session")
        starts = [f for f in joined if f.type == "stream_start"]
        texts = [f.delta.text for f in joined if f.delta]
        assert len(starts) == 2
        assert {text.split()[0] for text in texts} == {"found", "fine"}


def _second(data: bytes, seen: set[str]) -> bool:
    seen |= {word for word in ("found", "fine") if word.encode() in data}
    return len(seen) == 2


async def test_agents_call_agents_three_deep_and_no_deeper(tmp_path: Path) -> None:
    async with team(
        tmp_path,
        assistant=[ask("one", "down"), say("Back.")],
        one=[ask("two", "down"), say("from one")],
        two=[ask("three", "down"), say("from two")],
        three=[ask("one", "down"), say("from three")],
    ) as play:
        session = await play.create()
        assert done(await play.say(session, "go")).finished
        texts = [r.text for r in await play.blocks(session, ToolResult)]
        assert "3 deep at most" in texts[0]
        assert texts[1:] == ["from three", "from two", "from one"]
        calls = await play.blocks(session, ToolCall)
        assert [c.parent for c in calls] == ["", *(c.id for c in calls[:-1])]
        assert play.broken() == []


async def test_an_approval_inside_survives_a_restart(tmp_path: Path) -> None:
    async with team(
        tmp_path,
        assistant=[ask("one", "down")],
        one=[ask("two", "deeper")],
        two=[call("act", command="go")],
    ) as play:
        session = await play.create()
        assert done(await play.say(session, "run")).reason == "waiting_approval"
        (asked,) = await play.blocks(session, ApprovalRequest)
        assert (asked.agent, (await play.row(session)).pending_approval) == ("two", asked.id)
    async with team(
        tmp_path, assistant=[say("Done.")], one=[say("from one")], two=[say("from two")]
    ) as play:
        assert (await play.row(session)).status == "waiting_approval"
        await play.executor.decide(session, True)
        assert done(await play.watch(session)).finished
        assert log_of(tmp_path) == ["go"]
        assert [m.text for m in play.sent("two")] == ["You are the two.", "deeper", "", "ran go"]
        assert (await result_of(play, session))[0].text == "from one"
        assert play.broken() == []


async def test_a_question_inside_is_answered_where_it_was_asked(tmp_path: Path) -> None:
    async with team(
        tmp_path,
        assistant=[ask("explorer", "x"), say("Done.")],
        explorer=[call("ask_user", question="Which?"), say("That one.")],
    ) as play:
        session = await play.create()
        assert done(await play.say(session, "go")).reason == "waiting_answer"
        (asked,) = await play.blocks(session, AskUser)
        assert (asked.agent, bool(asked.parent)) == ("explorer", True)
        await play.executor.answer(session, "the first")
        assert done(await play.watch(session)).finished
        assert play.sent("explorer")[-1].text == "the first"


async def test_who_waits_goes_on_while_another_still_works(tmp_path: Path) -> None:
    free = asyncio.Event()

    async def long(_messages: object, _tools: object) -> Reply:
        await free.wait()
        return say("late")

    asked = together(ask("quick", "x"), ask("slow", "y"))
    async with team(
        tmp_path,
        assistant=[asked, say("Both.")],
        quick=[call("act", command="go"), say("ran")],
        slow=[long],
    ) as play:
        session = await play.create()
        await play.executor.send(session, "go")
        await play.until(session, lambda f: f.type == "approval_request")
        await until(lambda: waits(play, session))
        await play.executor.decide(session, True)
        await play.until(session, lambda f: f.type == "tool_result" and b'"ran"' in f.data)
        assert not free.is_set()
        free.set()
        assert done(await play.watch(session)).finished
        assert [r.text for r in await result_of(play, session)] == ["ran", "late"]
        assert log_of(tmp_path) == ["go"]


async def test_the_answer_of_a_thread_that_had_come_to_its_end_is_not_asked_for_again(
    tmp_path: Path,
) -> None:
    async with team(tmp_path, assistant=[]) as play:
        session = await play.create()
        asked = ToolCall(
            id="c", message="m", name="call_agent", arguments={"agent": "one", "task": "x"}
        )
        said = Message(id="n", parent="c", text="the answer")
        blocks = [User(text="go"), Message(id="m"), asked, said]
        await play.store.write(session, blocks, row={"status": "running"})
    async with team(tmp_path, assistant=[say("Done.")], one=[]) as play:
        await play.executor.resume(session)
        assert done(await play.watch(session)).finished
        assert [r.text for r in await play.blocks(session, ToolResult)] == ["the answer"]


async def test_a_failing_model_is_an_error_result(tmp_path: Path) -> None:
    async with team(
        tmp_path,
        assistant=[ask("one", "x"), ask("nobody", "x"), say("Alone, then.")],
        one=[ModelError("401: the key is wrong", kind="auth")],
    ) as play:
        session = await play.create()
        assert done(await play.say(session, "go")).finished
        failed, unknown = await result_of(play, session)
        assert failed.is_error
        assert "the key is wrong" in failed.text
        assert "no agent 'nobody'" in unknown.text


async def test_its_step_limit_is_its_own(tmp_path: Path) -> None:
    looks = [together(call("look", path="a.txt"), say(f"look {n}")) for n in range(9)]
    async with team(tmp_path, steps=3, assistant=[ask("one", "x"), say("Hm.")], one=looks) as play:
        session = await play.create()
        assert done(await play.say(session, "go")).finished
        (result,) = await result_of(play, session)
        assert len(play.models["one"].requests) == 3
        assert "step limit of 3" in result.text
        assert "look 2" in result.text


async def test_its_tools_are_its_own_and_no_more_than_the_caller_has(tmp_path: Path) -> None:
    async with team(
        tmp_path,
        providers={"reader": ("read_only", "agents"), "one": ("read_only", "shell", "agents")},
        assistant=[ask("reader", "x"), say("Done.")],
        reader=[ask("one", "y"), say("read")],
        one=[call("act", command="go"), say("could not")],
    ) as play:
        session = await play.create()
        assert done(await play.say(session, "go")).finished
        offered = [[t.name for t in m.requests[0].tools] for m in play.models.values()]
        assert offered[1:] == [["look", "call_agent"]] * 2
        assert log_of(tmp_path) == []


async def test_its_todo_list_does_not_take_the_place_of_the_session_s(tmp_path: Path) -> None:
    def listed(title: str) -> Reply:
        item = {"id": 1, "title": title, "status": "in-progress"}
        return call("manage_todo_list", todoList=[item])

    async with team(
        tmp_path,
        assistant=[listed("mine"), ask("one", "x"), say("Done.")],
        one=[listed("its own"), call("manage_todo_list", operation="read"), say("ok")],
    ) as play:
        session = await play.create()
        await play.say(session, "go")
        mine, its = await play.blocks(session, Todo)
        assert (mine.id, mine.items[0].title) == ("todo", "mine")
        assert its.id == f"todo-{its.parent}"
        assert "its own" in play.sent("one")[-1].text
        transcript = await play.executor.door.transcript(session)
        assert transcript.todo == mine


async def test_what_was_sent_is_sent_again_as_the_same_objects(tmp_path: Path) -> None:
    async with team(
        tmp_path,
        assistant=[ask("one", "x"), ask("one", "y"), say("Done.")],
        one=[call("look", path="a.txt"), call("look", path="b.txt"), say("1"), say("2")],
    ) as play:
        session = await play.create()
        await play.say(session, "go")
        for agent in ("assistant", "one"):
            sent = [r.messages for r in play.models[agent].requests[:3]]
            assert all(_same(before, after) for before, after in pairwise(sent))
        assert play.models["one"].requests[0].tools == play.models["one"].requests[3].tools


def _same(before: tuple[ChatMessage, ...], after: tuple[ChatMessage, ...]) -> bool:
    return all(a is b for a, b in zip(before, after[: len(before)], strict=True))


async def test_the_user_calls_an_agent_by_a_line(tmp_path: Path) -> None:
    text = (
        "Look first.\nCALL: explorer find x\nand y\nCALL: nobody to do it\n```\nCALL: one no\n```"
    )
    async with team(
        tmp_path,
        providers={"assistant": ("read_only",)},
        assistant=[say("It is there."), say("Again."), say("No.")],
        explorer=[call("act", command="go"), say("at line 3")],
        one=[],
    ) as play:
        session = await play.create()
        assert done(await play.say(session, text)).reason == "waiting_approval"
        assert play.models["assistant"].requests == []
        await play.executor.decide(session, True)
        assert done(await play.watch(session)).finished
        (asked,) = [c for c in await play.blocks(session, ToolCall) if not c.parent]
        assert asked.arguments["agent"] == "explorer"
        assert asked.arguments["task"].startswith("find x\nand y")
        assert roles(play.sent("assistant")) == ["system", "user", "assistant", "tool"]
        assert play.sent("assistant")[-1].text == "at line 3"
        await play.say(session, "and?")
        assert len(play.models["explorer"].requests) == 2
        assert done(await play.say(session, "I said: CALL: explorer x")).finished
        assert len(play.models["explorer"].requests) == 2
        assert play.broken() == []

"""Budgets and compaction in the threads of sub-agents."""

from collections.abc import Sequence
from pathlib import Path

from shipmate.agent.budgets import Budgets
from shipmate.llm.model import ChatMessage, Reply
from shipmate.llm.scripted import call, say, together
from shipmate.protocol import AskUser, Summary, ToolCall, ToolResult, Usage
from tests.session.team import ask, team
from tests.session.trade import done

USED = Usage(prompt=900, completion=100)


def looks(path: str) -> Reply:
    return together(call("look", path=path), Reply(usage=USED))


async def test_a_sub_agent_pauses_the_round_at_its_budget_and_goes_on(tmp_path: Path) -> None:
    async with team(
        tmp_path,
        budgets=Budgets(round_tokens=2_500),
        assistant=[together(ask("explorer", "Look."), Reply(usage=USED)), say("Done.")],
        explorer=[looks("1"), looks("2"), say("Found.", usage=USED)],
    ) as play:
        session = await play.create()
        paused = done(await play.say(session, "go"))
        assert paused.reason == "waiting_answer"
        (question,) = await play.blocks(session, AskUser)
        (made,) = [c for c in await play.blocks(session, ToolCall) if c.name == "call_agent"]
        assert (question.agent, question.parent) == ("budget", made.id)
        row = await play.row(session)
        assert (row.status, row.pending_question) == ("waiting_answer", question.id)
        await play.executor.answer(session, "Continue")
        assert done(await play.watch(session, row.last_seq)).finished
        assert play.broken() == []


async def test_stop_at_a_sub_agent_s_budget_ends_the_whole_round(tmp_path: Path) -> None:
    async with team(
        tmp_path,
        budgets=Budgets(round_tokens=2_500),
        assistant=[together(ask("explorer", "Look."), Reply(usage=USED))],
        explorer=[looks("1"), looks("2")],
    ) as play:
        session = await play.create()
        await play.say(session, "go")
        after = (await play.row(session)).last_seq
        await play.executor.answer(session, "Stop")
        assert done(await play.watch(session, after)).reason == "budget"
        row = await play.row(session)
        assert (row.status, row.pending_question) == ("idle", "")
        calls = {c.id for c in await play.blocks(session, ToolCall)}
        assert {r.call for r in await play.blocks(session, ToolResult)} == calls


async def test_the_same_call_again_and_again_in_a_sub_agent_is_asked_about(tmp_path: Path) -> None:
    async with team(
        tmp_path,
        assistant=[ask("explorer", "Look."), say("Done.")],
        explorer=[*[call("look", path="x")] * 6, say("Found.")],
    ) as play:
        session = await play.create()
        assert done(await play.say(session, "go")).reason == "waiting_answer"
        (question,) = await play.blocks(session, AskUser)
        assert "same call of look for the 5th time" in question.question
        after = (await play.row(session)).last_seq
        await play.executor.answer(session, "Continue")
        assert done(await play.watch(session, after)).finished


async def test_a_sub_agent_s_thread_is_compacted_by_itself(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    for n in range(6):
        (tmp_path / "project" / f"{n}.txt").write_text(f"file {n} " + "word " * 400)
    steps = iter([*(call("look", path=f"{n}.txt") for n in range(6)), say("Found.")])

    def explore(messages: Sequence[ChatMessage], _tools: object) -> Reply:
        return say("Read some.") if len(messages) == 1 else next(steps)

    async with team(
        tmp_path,
        window=4_000,
        assistant=[ask("explorer", "Look at all files."), say("Done.")],
        explorer=[explore] * 9,
    ) as play:
        session = await play.create()
        assert done(await play.say(session, "go")).finished
        summary = (await play.blocks(session, Summary))[0]
        (made,) = [c for c in await play.blocks(session, ToolCall) if c.name == "call_agent"]
        assert summary.parent == made.id
        last = "\n".join(m.text for m in play.sent("explorer"))
        assert "Look at all files." in last
        assert "file 0" not in last
        assert "Read some." in last
        assert play.broken() == []

"""The scripted demo through the real loop, with the real tools: approval, question, restart."""

from pathlib import Path

import pytest

from shipmate.llm.demo import DEMO_FILE, DemoModel
from shipmate.protocol import ApprovalRequest, AskUser, DiffDetail, Done, Message, Todo, ToolResult
from shipmate.tools import ask, read_only, read_write, todo
from tests.play import stage

TOOLS = [*read_only.TOOLS, *read_write.TOOLS, *todo.TOOLS, *ask.TOOLS]
STEPS = [DemoModel(pause=0).stream] * 12


@pytest.mark.parametrize(
    ("task", "label", "approve"), [("Hello", "scripted demo", True), ("你好", "脚本演示", False)]
)
async def test_the_tour_is_played_through_restarts(
    tmp_path: Path, task: str, label: str, approve: bool
) -> None:
    file = tmp_path / "project" / DEMO_FILE
    async with stage(tmp_path, STEPS, tools=TOOLS) as play:
        (tmp_path / "project" / "README.md").write_text("# A\n\nproject\n")
        session = await play.create()
        events = await play.say(session, task)
        assert isinstance(events[-1], Done)
        assert events[-1].reason == "waiting_approval"
        (asked,) = await play.blocks(session, ApprovalRequest)
        assert isinstance(asked.details, DiffDetail)
        assert asked.details.files[0].path == DEMO_FILE
    assert not file.exists()

    async with stage(tmp_path, STEPS, tools=TOOLS) as play:
        after = (await play.row(session)).last_seq
        await play.executor.decide(session, approve)
        events = await play.watch(session, after)
        assert isinstance(events[-1], Done)
        assert events[-1].reason == "waiting_answer"
        assert file.exists() == approve

    async with stage(tmp_path, STEPS, tools=TOOLS) as play:
        (question,) = await play.blocks(session, AskUser)
        after = (await play.row(session)).last_seq
        await play.executor.answer(session, question.options[1])
        events = await play.watch(session, after)
        assert isinstance(events[-1], Done)
        assert events[-1].finished
        said = await play.blocks(session, Message)
        assert question.options[1] in said[-1].text
        assert all(label in message.text for message in said)
        (items,) = await play.blocks(session, Todo)
        assert [item.status for item in items.items] == ["completed"] * 3
        results = await play.blocks(session, ToolResult)
        assert [r for r in results if r.is_error] == ([] if approve else [results[3]])
        follow_up = await play.say(session, "more")
        assert isinstance(follow_up[-1], Done)
        assert follow_up[-1].finished

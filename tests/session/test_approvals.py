"""Stories of calls that wait for a person, and of questions."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from shipmate.errors import ConflictError, NotFoundError
from shipmate.llm.scripted import call, say, together
from shipmate.protocol import (
    ApprovalRequest,
    AskUser,
    ToolResult,
)
from shipmate.session.deciding import DecidedError
from shipmate.session.decision import UnfitError
from tests.play import stage
from tests.session.trade import TOOLS, done, log_of, roles


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
        assert [(a.title, a.level, a.result, a.decided_by) for a in asked] == [
            ("Write b.txt", "normal", True, "bypass"),
            ("Write .git", "dangerous", UNSET, ""),
            ("ls", "normal", UNSET, ""),
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


@pytest.mark.parametrize(
    ("multiple", "wrong", "right"),
    [
        (False, ["", "c", "A", "a, b", "a, b,"], "a"),
        (True, ["", "c", "a, c", "a,", "a; b, c", "a b, c"], "b, c, a"),
    ],
)
async def test_a_question_takes_its_options_alone_where_it_says_so(
    tmp_path: Path, multiple: bool, wrong: list[str], right: str
) -> None:
    asked: dict[str, Any] = {"options": ["a", "b, c", "b"], "multiple": multiple}
    script = [call("ask_user", question="Which?", allow_freeform=False, **asked), say("Good.")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "go")
        for text in wrong:
            with pytest.raises(UnfitError, match="a, b, c, b"):
                await play.executor.answer(session, text)
        assert (await play.row(session)).status == "waiting_answer"
        await play.executor.answer(session, f" {right}\n")
        assert done(await play.watch(session)).finished
        (question,) = await play.blocks(session, AskUser)
        assert question.result == right


async def test_a_question_without_options_takes_any_answer(tmp_path: Path) -> None:
    """As MCP servers ask for a list of anything."""
    async with stage(tmp_path, [say("Good.")], tools=TOOLS) as play:
        session = await play.create()
        asked = AskUser(id="q", call="", question="Which?", multiple=True, allow_freeform=False)
        await play.executor.door.record(session, asked)
        assert (await play.executor.answer(session, "red, blue")).result == "red, blue"


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

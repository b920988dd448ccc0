"""Branches of a session: whole units, nothing left open, the other session untouched."""

import asyncio
from pathlib import Path

import pytest
from msgspec import UNSET, structs

from shipmate.database.store import SessionFilter
from shipmate.errors import NotFoundError, ShipmateError
from shipmate.llm.scripted import call, say, together
from shipmate.protocol import (
    AnyBlock,
    ApprovalRequest,
    Attachment,
    Message,
    Summary,
    System,
    Todo,
    ToolCall,
    ToolResult,
    User,
)
from shipmate.session.branches import branch
from shipmate.session.executor import new_session_id
from tests.play import Stage, stage
from tests.session.trade import TOOLS, done, log_of, roles


def texts(blocks: list[AnyBlock]) -> list[str]:
    return [b.text for b in blocks if isinstance(b, (User, Message))]


async def fork(play: Stage, folder: Path, session: str, block: str, **options: str) -> str:
    return (await branch(play.executor, session, block, folder / "files", **options)).id


async def test_a_branch_goes_on_from_an_earlier_answer(tmp_path: Path) -> None:
    script = [say("one", reasoning="thought"), say("two"), say("other two")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create(bypass=True)
        await play.say(session, "first")
        await play.say(session, "second")
        before = await play.store.history(session)
        (answer, _) = await play.blocks(session, Message)
        made = await fork(play, tmp_path, session, answer.id)
        row = await play.row(made)
        assert (row.status, row.bypass_approval, row.tokens) == ("idle", False, 0)
        assert row.title == "first (branch)"
        assert done(await play.say(made, "second, else")).finished
        blocks = await play.store.history(made)
        assert texts(blocks) == ["first", "one", "second, else", "other two"]
        assert [m.reasoning for m in blocks if isinstance(m, Message)] == ["thought", ""]
        assert roles(play.model.requests[-1].messages) == ["system", "user", "assistant", "user"]
        assert {b.session for b in blocks} == {made}
        assert sorted(b.seq for b in blocks) == list(range(1, len(blocks) + 1))
        assert await play.store.history(session) == before


async def test_a_message_is_written_anew_with_what_was_attached(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("a"), say("b"), say("c")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "first")
        files = [Attachment(kind="text", name=f"{n}.txt", text="data") for n in "xy"]
        await play.say(session, "secnd", attachments=files)
        asked = (await play.blocks(session, User))[-1]
        made = await fork(play, tmp_path, session, asked.id, text="second", client_id="c1")
        again = await fork(play, tmp_path, session, asked.id, text="second", client_id="c1")
        assert made == again
        await play.watch(made)
        assert texts(await play.store.history(made)) == ["first", "a", "second", "c"]
        assert [a.name for a in await play.blocks(made, Attachment)] == ["x.txt", "y.txt"]
        first = (await play.blocks(session, User))[0]
        alone = await fork(play, tmp_path, session, first.id, text="anew")
        assert texts(await play.store.history(alone))[:1] == ["anew"]
        assert (await play.row(alone)).title == "anew"


@pytest.mark.parametrize("at", [Message, ToolCall, ToolResult])
async def test_a_reply_is_taken_with_all_its_results(
    tmp_path: Path, at: type[Message | ToolCall | ToolResult]
) -> None:
    calls = together(call("look", path="a"), call("act", command="go"))
    async with stage(tmp_path, [calls, say("done"), say("on")], tools=TOOLS) as play:
        (tmp_path / "project" / "a").write_text("content")
        session = await play.create()
        await play.say(session, "both")
        (asked,) = await play.blocks(session, ApprovalRequest)
        last = (await play.row(session)).last_seq
        await play.executor.decide(session, True, block=asked.id)
        await play.watch(session, last)
        block = (await play.blocks(session, at))[0]
        made = await fork(play, tmp_path, session, block.id)
        blocks = await play.store.history(made)
        assert len([b for b in blocks if isinstance(b, ToolResult)]) == 2
        assert "done" not in texts(blocks)
        assert done(await play.say(made, "and now?")).finished
        wanted = ["system", "user", "assistant", "tool", "tool", "user"]
        assert roles(play.model.requests[-1].messages) == wanted
        assert log_of(tmp_path) == ["go"]


async def test_what_waits_is_closed_in_the_branch_and_waits_on_in_the_session(
    tmp_path: Path,
) -> None:
    script = [call("act", command="go"), say("branch"), say("session")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "run")
        (asked,) = await play.blocks(session, ApprovalRequest)
        made = await fork(play, tmp_path, session, asked.id)
        (closed,) = await play.blocks(made, ApprovalRequest)
        assert closed.result is False
        (result,) = await play.blocks(made, ToolResult)
        assert "branch was made before it ran" in result.text
        assert (await play.row(made)).pending_approval == ""
        assert done(await play.say(made, "go on")).finished
        (waiting,) = await play.blocks(session, ApprovalRequest)
        assert waiting.result is UNSET
        assert (await play.row(session)).status == "waiting_approval"
        after = (await play.row(session)).last_seq
        await play.executor.decide(session, True)
        assert done(await play.watch(session, after)).finished
        assert log_of(tmp_path) == ["go"]


async def test_the_todo_list_stands_as_it_did_then(tmp_path: Path) -> None:
    def plan(status: str) -> list[dict[str, object]]:
        return [{"id": 1, "title": "t", "status": status}]

    script = [
        call("manage_todo_list", todoList=plan("not-started")),
        say("planned"),
        call("manage_todo_list", todoList=plan("completed")),
        say("done"),
    ]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "plan")
        await play.say(session, "do")
        first = (await play.blocks(session, Message))[0]
        question = (await play.blocks(session, User))[0]
        last = (await play.blocks(session, Message))[-1]
        for block, status in ((question, None), (first, "not-started"), (last, "completed")):
            made = await fork(play, tmp_path, session, block.id)
            found = [t.items[0].status for t in await play.blocks(made, Todo)]
            assert found == ([status] if status else [])


async def test_places_that_blocks_name_are_those_of_the_branch(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("x")], tools=TOOLS) as play:
        session = await play.create()
        record = play.executor.door.record
        await record(session, Todo(id="todo"), User(id="u1", text="one"))
        for _ in range(5):
            await record(session, Todo(id="todo"))  # takes numbers, no places
        await record(session, Message(id="m1", text="a", heard=2), User(id="u2", text="two"))
        await record(session, Message(id="m2", text="b", heard=9))
        await record(session, Summary(id="s", text="sum", replaces=(2, 8)))
        made = await fork(play, tmp_path, session, "s")
        blocks = {b.id: b for b in await play.store.history(made)}
        m1, m2, summary = blocks["m1"], blocks["m2"], blocks["s"]
        assert isinstance(m1, Message)
        assert isinstance(m2, Message)
        assert isinstance(summary, Summary)
        assert m1.heard == blocks["u1"].pos
        assert m2.heard == blocks["u2"].pos
        assert summary.replaces == (blocks["u1"].pos, blocks["m1"].pos)


async def test_whole_outputs_go_along_and_survive_the_other_session(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("x")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "hi")
        outputs = tmp_path / "files" / "outputs"
        (outputs / session).mkdir(parents=True)
        (outputs / session / "c1.txt").write_text("long")
        (said,) = await play.blocks(session, Message)
        made = await fork(play, tmp_path, session, said.id)
        assert (outputs / made / "c1.txt").read_text() == "long"
        (note,) = await play.blocks(made, System)
        assert "“hi”" in note.text


async def test_what_cannot_be_branched_is_refused(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("x")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "hi")
        (said,) = await play.blocks(session, Message)
        with pytest.raises(NotFoundError):
            await fork(play, tmp_path, session, "nope")
        with pytest.raises(NotFoundError):
            await fork(play, tmp_path, "nope", said.id)
        with pytest.raises(ShipmateError, match="message of yours"):
            await fork(play, tmp_path, session, said.id, text="x")


async def test_a_branch_that_a_dying_server_left_without_its_message_gets_it(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, [say("a"), say("b")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "frist")
        (asked,) = await play.blocks(session, User)
        made = new_session_id("c1", "")
        # the branch is kept, its message not yet: here the server died
        await play.store.fill_session(structs.replace(await play.row(session), id=made), [])
        assert await fork(play, tmp_path, session, asked.id, text="first", client_id="c1") == made
        await play.watch(made)
        assert texts(await play.store.history(made)) == ["first", "b"]


async def test_asked_for_at_once_there_is_one_branch(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("a"), say("b")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "first")
        (asked,) = await play.blocks(session, User)
        options = {"text": "anew", "client_id": "c1"}
        forks = (fork(play, tmp_path, session, asked.id, **options) for _ in range(5))
        (made,) = set(await asyncio.gather(*forks))
        await play.watch(made)
        assert texts(await play.store.history(made)) == ["anew", "b"]
        assert len(await play.blocks(made, System)) == 1
        assert len(await play.store.sessions(SessionFilter())) == 2


async def test_nothing_is_made_for_an_empty_message(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("a")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "first")
        (asked,) = await play.blocks(session, User)
        with pytest.raises(ShipmateError, match="empty"):
            await fork(play, tmp_path, session, asked.id, text=" \n")
        assert len(await play.store.sessions(SessionFilter())) == 1

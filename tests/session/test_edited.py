"""Stories of calls that the user changes before approving: arguments, hunks."""

from pathlib import Path

import pytest
from msgspec import UNSET

from shipmate.errors import ConflictError
from shipmate.llm.scripted import call, say
from shipmate.protocol import ApprovalRequest, CommandDetail, DiffDetail, ToolCall, ToolResult
from shipmate.session.deciding import DecidedError
from shipmate.session.decision import UnfitError
from tests.play import Stage, stage
from tests.session.test_rules import TOOLS, shell
from tests.session.trade import done

LINES = [f"line {n}" for n in range(40)]
CHANGED = [line.upper() if n in (3, 20, 37) else line for n, line in enumerate(LINES)]
REWRITE = call("write_file", path="f.txt", content="\n".join(CHANGED) + "\n")


async def asked(play: Stage, session: str) -> ApprovalRequest:
    return (await play.blocks(session, ApprovalRequest))[-1]


async def test_what_the_user_made_of_it_runs_and_the_model_is_told(tmp_path: Path) -> None:
    async with stage(tmp_path, [shell("touch a"), say("Fine.")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "go")
        decided = await play.executor.decide(session, True, arguments={"command": "touch b"})
        assert decided.result is True
        assert isinstance(decided.details, CommandDetail)
        assert decided.details.command == "touch b"
        assert done(await play.watch(session)).finished
        assert [path.name for path in (tmp_path / "project").iterdir()] == ["b"]
        (made,) = await play.blocks(session, ToolCall)
        assert made.arguments == {"command": "touch a"}  # what the model said stays
        (result,) = await play.blocks(session, ToolResult)
        assert "The user changed the arguments" in result.text
        assert '{"command":"touch b"}' in result.text


async def test_an_edit_that_is_worse_is_shown_before_it_runs(tmp_path: Path) -> None:
    async with stage(tmp_path, [shell("touch a"), say("Fine.")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "go")
        worse = {"command": "rm -rf build"}
        shown = await play.executor.decide(session, True, arguments=worse)
        assert (shown.result, shown.level) == (UNSET, "dangerous")
        row = await play.row(session)
        assert (row.status, row.pending_approval) == ("waiting_approval", shown.id)
        (tmp_path / "project/build").mkdir()
        assert (await play.executor.decide(session, True)).result is True
        assert done(await play.watch(session)).finished
        assert not (tmp_path / "project/build").exists()


async def test_who_saw_the_old_request_does_not_approve_the_new_one(tmp_path: Path) -> None:
    async with stage(tmp_path, [shell("touch a"), say("Fine.")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "go")
        seen = await asked(play, session)
        await play.executor.decide(session, True, arguments={"command": "rm -rf ."})
        with pytest.raises(ConflictError, match="look at it again"):
            await play.executor.decide(session, True, block=seen.id, digest=seen.digest)
        now = await asked(play, session)
        assert now.result is UNSET
        decided = await play.executor.decide(session, True, block=now.id, digest=now.digest)
        assert decided.result is True


@pytest.mark.parametrize(
    "arguments", [{"command": "mkfs /dev/sda"}, {"commands": "ls"}, {"command": 5}]
)
async def test_an_edit_that_cannot_run_decides_nothing(tmp_path: Path, arguments: object) -> None:
    async with stage(tmp_path, [shell("touch a"), say("Fine.")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "go")
        with pytest.raises(UnfitError, match="cannot run"):
            await play.executor.decide(session, True, arguments=arguments)
        assert (await asked(play, session)).result is UNSET


async def test_an_edit_beside_a_change_of_the_file_is_shown_again(tmp_path: Path) -> None:
    script = [call("write_file", path="f.txt", content="mine\n"), say("Fine.")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        file = tmp_path / "project/f.txt"
        file.write_text("before\n")
        session = await play.create()
        await play.say(session, "go")
        file.write_text("theirs\n")
        edit = {"path": "f.txt", "content": "edited\n"}
        shown = await play.executor.decide(session, True, arguments=edit)
        assert shown.result is UNSET
        assert isinstance(shown.details, DiffDetail)
        assert "-theirs" in shown.details.files[0].hunks[0].lines
        assert file.read_text() == "theirs\n"
        await play.executor.decide(session, True)
        await play.watch(session)
        assert file.read_text() == "edited\n"


async def test_an_edit_is_bound_as_what_was_shown_is(tmp_path: Path) -> None:
    script = [call("write_file", path="f.txt", content="mine\n")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        file = tmp_path / "project/f.txt"
        file.write_text("before\n")
        session = await play.create()
        await play.say(session, "go")
        edit = {"path": "f.txt", "content": "edited\n"}
        first = await asked(play, session)
        second = await play.executor.decide(session, True, arguments=edit)
        assert first.digest != second.digest
        with pytest.raises(DecidedError):
            await play.executor.decide(session, True, arguments=edit, block=first.id)


async def test_only_the_accepted_hunks_are_written(tmp_path: Path) -> None:
    async with stage(tmp_path, [REWRITE, say("Fine.")], tools=TOOLS) as play:
        file = tmp_path / "project/f.txt"
        file.write_text("\n".join(LINES) + "\n")
        session = await play.create()
        await play.say(session, "go")
        request = await asked(play, session)
        assert isinstance(request.details, DiffDetail)
        first, _, third = request.details.files[0].hunks
        decided = await play.executor.decide(session, True, hunks=(third.id, first.id))
        assert decided.hunks == (first.id, third.id)
        assert decided.digest != request.digest
        await play.watch(session)
        wanted = [*CHANGED[:20], LINES[20], *CHANGED[21:]]
        assert file.read_text() == "\n".join(wanted) + "\n"
        (result,) = await play.blocks(session, ToolResult)
        assert "+LINE 20" in result.text
        assert "+LINE 3" not in result.text
        assert isinstance(result.details, DiffDetail)
        assert len(result.details.files[0].hunks) == 2


async def test_hunks_that_were_not_shown_decide_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path, [REWRITE], tools=TOOLS) as play:
        (tmp_path / "project/f.txt").write_text("\n".join(LINES) + "\n")
        session = await play.create()
        await play.say(session, "go")
        for hunks in (("nothing",), ()):
            with pytest.raises(UnfitError):
                await play.executor.decide(session, True, hunks=hunks)
        with pytest.raises(UnfitError):
            await play.executor.decide(session, False, hunks=("x",))
        assert (await asked(play, session)).result is UNSET


async def test_hunks_of_a_file_that_changed_are_not_written(tmp_path: Path) -> None:
    async with stage(tmp_path, [REWRITE, say("Fine.")], tools=TOOLS) as play:
        file = tmp_path / "project/f.txt"
        file.write_text("\n".join(LINES) + "\n")
        session = await play.create()
        await play.say(session, "go")
        request = await asked(play, session)
        assert isinstance(request.details, DiffDetail)
        file.write_text("\n".join([*LINES, "theirs"]) + "\n")
        await play.executor.decide(session, True, hunks=(request.details.files[0].hunks[0].id,))
        await play.watch(session)
        assert file.read_text() == "\n".join([*LINES, "theirs"]) + "\n"

"""Rounds with the real tools: calls with effects in one answer (EDT-27), links, an end."""

import asyncio
from pathlib import Path

import pytest

from shipmate.llm.scripted import call, say, together
from shipmate.protocol import ApprovalRequest, Done, ToolCall, ToolResult
from shipmate.tools.read_write import replace_string_in_file
from shipmate.tools.shell import shell_exec
from tests.play import Stage, stage

RUNS = 5
TOOLS = [replace_string_in_file, shell_exec]
ANSWER = together(
    call("replace_string_in_file", path="r.txt", oldString="\n50\n", newString="\nFIFTY\n"),
    call("replace_string_in_file", path="./r.txt", oldString="\n75\n", newString="\nX\n"),
    call("shell_exec", command="grep -c . r.txt; grep -n FIFTY r.txt; grep -n X r.txt"),
)
LINES = "".join(f"{n}\n" for n in range(1, 101))
CHANGED = LINES.replace("\n50\n", "\nFIFTY\n").replace("\n75\n", "\nX\n")


async def approved_to_the_end(server: Stage, session: str, *, last_first: bool) -> int:
    """Approve what waits, one after the other; how often something waited."""
    clicks = 0
    while (await server.row(session)).status == "waiting_approval":
        asked = await server.blocks(session, ApprovalRequest)
        waiting = [block for block in asked if not isinstance(block.result, bool)]
        chosen = waiting[-1 if last_first else 0]
        await server.executor.decide(session, True, block=chosen.id)
        clicks += 1
        await server.watch(session)
    return clicks


async def assert_all_done(server: Stage, session: str, file: Path) -> None:
    assert file.read_text() == CHANGED
    calls = [c.id for c in await server.blocks(session, ToolCall)]
    results = await server.blocks(session, ToolResult)
    assert [r.call for r in results] == calls
    assert not any(r.is_error for r in results)
    assert "50:FIFTY" in results[2].text
    assert "75:X" in results[2].text
    assert (await server.row(session)).status == "idle"


@pytest.mark.parametrize("last_first", [False, True])
async def test_each_is_approved_and_sees_what_those_before_it_did(
    tmp_path: Path, last_first: bool
) -> None:
    async with stage(tmp_path, [ANSWER, say("Done.")] * RUNS, tools=TOOLS) as server:
        file = tmp_path / "project" / "r.txt"
        for _ in range(RUNS):
            file.write_text(LINES)
            session = await server.create()
            await server.say(session, "edit")
            assert await approved_to_the_end(server, session, last_first=last_first) == 3
            await assert_all_done(server, session, file)


async def test_with_the_bypass_only_the_command_asks(tmp_path: Path) -> None:
    async with stage(tmp_path, [ANSWER, say("Done.")] * RUNS, tools=TOOLS) as server:
        file = tmp_path / "project" / "r.txt"
        for _ in range(RUNS):
            file.write_text(LINES)
            session = await server.create(bypass=True)
            told = await server.say(session, "edit")
            assert told[-1] == Done(session=session, finished=False, reason="waiting_approval")
            assert file.read_text() == CHANGED
            assert await approved_to_the_end(server, session, last_first=False) == 1
            await assert_all_done(server, session, file)


async def test_what_was_approved_is_refused_when_the_file_became_a_link_out(
    tmp_path: Path,
) -> None:
    script = [
        call("replace_string_in_file", path="d/r.txt", oldString="\n50\n", newString="\nX\n"),
        say("Done."),
    ]
    async with stage(tmp_path, script, tools=TOOLS) as server:
        inside, outside = tmp_path / "project" / "d", tmp_path / "outside"
        for folder in (inside, outside):
            folder.mkdir()
            (folder / "r.txt").write_text(LINES)
        session = await server.create()
        await server.say(session, "edit")
        inside.rename(tmp_path / "project" / "e")
        inside.symlink_to(outside)
        await server.executor.decide(session, True)
        await server.watch(session)
        [result] = await server.blocks(session, ToolResult)
        assert result.is_error
        assert (outside / "r.txt").read_text() == LINES
        assert (tmp_path / "project" / "e" / "r.txt").read_text() == LINES


async def test_a_command_cut_by_the_end_of_the_server_does_not_say_that_the_user_did_it(
    tmp_path: Path,
) -> None:
    script = [call("shell_exec", command="touch running; sleep 99")]
    async with stage(tmp_path, script, tools=TOOLS) as server:
        session = await server.create()
        await server.say(session, "wait")
        await server.executor.decide(session, True)
        while not (tmp_path / "project" / "running").exists():
            await asyncio.sleep(0)
        await server.executor.close()
        [result] = await server.blocks(session, ToolResult)
        assert "as the server ended" in result.text
        assert "user" not in result.text
        assert (await server.row(session)).status == "interrupted"

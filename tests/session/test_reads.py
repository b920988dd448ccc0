"""How often a file is read in a round, and what the agent knows of it: kept in the transcript."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from shipmate.llm.scripted import Step, call, say, together
from shipmate.protocol import Summary, ToolCall, ToolResult
from shipmate.tools import read_only, read_write
from tests.play import Stage, stage
from tests.session.team import ask, team
from tests.session.trade import act, apart, done

REAL = (*read_only.TOOLS, *read_write.TOOLS, act)
PAUSE = call("act", command="ls")
READ = call("read_file", filePath="a.txt")
ADVICE = "was read 3 times in this round"


@pytest.fixture(autouse=True)
def file(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    made = tmp_path / "project" / "a.txt"
    made.write_text("one\ntwo\n")
    return made


async def results(play: Stage, session: str, tool: str = "read_file") -> list[str]:
    calls = [c.id for c in await play.blocks(session, ToolCall) if c.name == tool]
    return [r.text for r in await play.blocks(session, ToolResult) if r.call in calls]


def refused(texts: Iterable[str]) -> list[bool]:
    return [ADVICE in text for text in texts]


async def test_three_reads_a_round_hold_through_pauses_and_restarts(tmp_path: Path) -> None:
    async with stage(tmp_path, [READ, together(READ, PAUSE)], tools=REAL) as play:
        session = await play.create()
        assert done(await play.say(session, "go")).reason == "waiting_approval"
    script = [together(READ, READ), say("Done."), READ, say("Again.")]
    async with stage(tmp_path, script, tools=REAL) as play:
        await play.executor.decide(session, True)
        assert done(await play.watch(session)).finished
        told = await results(play, session)
        assert sorted(refused(told)) == [False, False, False, True]
        assert any("(lines 1-2, 1-2, 1-2)" in text for text in told)
        await play.say(session, "again")
        assert refused(await results(play, session))[-1] is False, "a new round counts anew"


async def test_a_file_that_changed_may_be_read_again_after_a_restart(
    tmp_path: Path, file: Path
) -> None:
    async with stage(tmp_path, [together(READ, READ, READ, PAUSE)], tools=REAL) as play:
        session = await play.create()
        await play.say(session, "go")
    file.write_text("three\n")
    async with stage(tmp_path, [READ, say("Done.")], tools=REAL) as play:
        await play.executor.decide(session, True)
        await play.watch(session)
        assert (await results(play, session))[-1].startswith("three\n")


async def test_a_file_changed_by_others_is_not_overwritten_after_a_restart(
    tmp_path: Path, file: Path
) -> None:
    async with stage(tmp_path, [READ, say("Read.")], tools=REAL) as play:
        session = await play.create()
        await play.say(session, "go")
    file.write_text("by someone else\n")
    write = call("write_file", filePath="a.txt", content="mine\n")
    async with stage(tmp_path, [write, say("Done.")], tools=REAL) as play:
        assert done(await play.say(session, "write")).finished
        (told,) = await results(play, session, "write_file")
        assert "was changed by someone else since you read it" in told
        assert file.read_text() == "by someone else\n"


async def test_what_the_agent_wrote_itself_it_may_overwrite_after_a_restart(
    tmp_path: Path, file: Path
) -> None:
    one = call("write_file", filePath="a.txt", content="one\n")
    async with stage(tmp_path, [READ, one, say("Done.")], tools=REAL) as play:
        session = await play.create(bypass=True)
        assert done(await play.say(session, "go")).finished
    two = call("write_file", filePath="a.txt", content="two\n")
    async with stage(tmp_path, [two, say("Done.")], tools=REAL) as play:
        assert done(await play.say(session, "go on")).finished
        assert file.read_text() == "two\n"


async def test_after_a_compaction_it_may_be_read_again(tmp_path: Path) -> None:
    script: list[Step] = [READ, call("list_files"), together(READ, READ, PAUSE), READ, say("Done.")]
    async with stage(tmp_path, apart(script, [say("Summed up.")]), tools=REAL) as play:
        session = await play.create()
        await play.say(session, "go")
        await play.executor.compacting.now(session)
        await play.executor.decide(session, True)
        assert done(await play.watch(session)).finished
        assert len(await play.blocks(session, Summary)) == 1
        assert refused(await results(play, session)) == [False] * 4


async def test_two_parts_in_one_call_count_once(tmp_path: Path) -> None:
    twice = call("read_files", files=[{"path": "a.txt"}, {"path": "a.txt", "startLine": 2}])
    script: list[Step] = [twice, READ, READ, READ, say("Done.")]
    async with stage(tmp_path, script, tools=REAL) as play:
        session = await play.create()
        await play.say(session, "go")
        assert refused(await results(play, session)) == [False, False, True]


async def test_sub_agents_count_for_themselves(tmp_path: Path) -> None:
    reads = [READ, READ, READ, READ, say("Read.")]
    async with team(
        tmp_path,
        real=True,
        assistant=[together(READ, READ, READ), ask("explorer", "x"), READ, say("Done.")],
        explorer=reads,
    ) as play:
        session = await play.create()
        assert done(await play.say(session, "go")).finished
        assert refused(await results(play, session)).count(True) == 2

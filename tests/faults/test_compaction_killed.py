"""A server that dies in the middle of a compaction leaves the old context or the new (FM009)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shipmate.agent.summaries import SUMMARY
from shipmate.llm.scripted import say
from shipmate.protocol import Summary, ToolResult
from tests.faults.table import TABLE
from tests.play import stage
from tests.session.trade import TOOLS, done

ROOT = Path(__file__).resolve().parents[2]
STORY = """
import asyncio, sys
from pathlib import Path
from shipmate import faults
from shipmate.llm.scripted import call, say
from tests.play import stage
from tests.session.trade import TOOLS

async def main(folder, point):
    def dies(*_):
        if point == "asked":
            faults._die()
        faults._name = point
        return say("Summed up.")

    script = [call("look", path="0.txt"), call("look", path="1.txt"), say("Read."), dies]
    async with stage(folder, script, tools=TOOLS) as play:
        for n in range(2):
            (folder / "project" / f"{n}.txt").write_text(f"file {n} " + "word " * 500)
        session = await play.create()
        await play.say(session, "the task")
        print(session, flush=True)
        await play.executor.compacting.now(session)

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""
OLD = ("asked", "compact.asked", "record.before_commit")
NEW = ("record.committed", "record.before_publish", "record.after_publish", "compact.recorded")
TRIES = 8
"""Of each point, with `--faults`."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("point", [*OLD, *NEW])
async def test_killed_while_it_compacts_the_context_is_the_old_one_or_the_new_one(
    tmp_path: Path, point: str, full: bool
) -> None:
    tries = TRIES if full else 1
    for number in range(tries):
        folder = tmp_path / str(number)
        folder.mkdir()
        await killed_and_gone_on(folder, point)
    known = int(TABLE.rows.get("kills in a compaction", 0))
    TABLE.put("kills in a compaction", known + tries)


async def killed_and_gone_on(folder: Path, point: str) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", STORY, str(folder), point],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert killed.returncode == -9, killed.stderr
    session = killed.stdout.strip()
    async with stage(folder, [say("Done.")], tools=TOOLS) as play:
        assert len(await play.blocks(session, ToolResult)) == 2, "what is stored stays"
        made = await play.blocks(session, Summary)
        assert len(made) == (point in NEW)
        assert done(await play.say(session, "go on")).finished
        sent = "\n".join(m.text for m in play.model.requests[0].messages)
        old = ("the task" in sent, "file 0" in sent, SUMMARY in sent)
        assert old == ((True, False, True) if made else (True, True, False))

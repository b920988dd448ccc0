"""The packaged model (Qwen2.5-Coder-1.5B) at work: it reads and changes a file with approval.

A long check that one runs by hand: `./dev test --offline-model`.
"""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from shipmate.llm.connections import Connections
from shipmate.llm.model import Model
from shipmate.llm.offline.process import OfflineServer
from shipmate.llm.offline.served import offline_model
from shipmate.protocol import ApprovalRequest, Done, Message, ToolCall
from shipmate.tools import ask, read_only, read_write, todo
from tests.llm.offline_play import fetched
from tests.play import Stage, stage

KEY = "qwen2.5-coder-1.5b"
TOOLS = [*read_only.TOOLS, *read_write.TOOLS, *todo.TOOLS, *ask.TOOLS]

pytestmark = [pytest.mark.offline_model, pytest.mark.timeout(1800)]


@pytest.fixture
async def qwen() -> AsyncGenerator[Model]:
    server, connections = OfflineServer(KEY, await fetched(KEY)), Connections()
    yield offline_model(server, connections)
    await server.close()
    await connections.close()


async def carried_out(play: Stage, session: str, task: str) -> Done:
    """The round to its end; every approval is given."""
    events = await play.say(session, task)
    while isinstance(done := events[-1], Done) and done.reason == "waiting_approval":
        after = (await play.row(session)).last_seq
        await play.executor.decide(session, True)
        events = await play.watch(session, after)
    assert isinstance(done, Done)
    return done


async def test_it_reads_a_file(qwen: Model, tmp_path: Path) -> None:
    async with stage(tmp_path, [qwen.stream] * 10, tools=TOOLS) as play:
        (tmp_path / "project" / "notes.txt").write_text("The password of the day is: walrus\n")
        session = await play.create()
        task = "Read notes.txt and tell me the password of the day."
        assert (await carried_out(play, session, task)).finished
        calls = await play.blocks(session, ToolCall)
        assert ("read_file", {"path": "notes.txt"}) in [(c.name, c.arguments) for c in calls]
        assert "walrus" in (await play.blocks(session, Message))[-1].text


async def test_it_changes_a_file_after_approval(qwen: Model, tmp_path: Path) -> None:
    async with stage(tmp_path, [qwen.stream] * 12, tools=TOOLS) as play:
        readme = tmp_path / "project" / "README.md"
        readme.write_text("# Demo\n\nYou will recieve mail.\n")
        session = await play.create()
        task = "README.md has the typo 'recieve'. Correct it to 'receive' in the file."
        await carried_out(play, session, task)
        assert readme.read_text() == "# Demo\n\nYou will receive mail.\n"
        approvals = await play.blocks(session, ApprovalRequest)
        assert approvals
        assert all(asked.result is True for asked in approvals)

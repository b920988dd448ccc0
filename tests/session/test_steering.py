"""A message that steers a round belongs to it: what is counted in a round is counted on."""

import asyncio
from pathlib import Path

from shipmate.agent.budgets import Budgets
from shipmate.agent.profile import ASSISTANT, Agent
from shipmate.llm.model import Reply
from shipmate.llm.scripted import ScriptedModel, Step, call, say
from shipmate.protocol import AskUser, SessionRow, ToolResult, User
from shipmate.session.changed import rounds_of
from shipmate.tools import read_only, read_write
from shipmate.tools.tool import Workspace
from tests.play import Stage, stage
from tests.session.test_budgets import looks
from tests.session.trade import TOOLS, done


class Steered:
    """Steps that say something to the session before the model answers."""

    server: Stage
    session: str

    async def create(self, server: Stage) -> str:
        self.server, self.session = server, await server.create()
        return self.session

    def by(self, step: Reply, text: str = "and this") -> Step:
        async def answered(_messages: object, _tools: object) -> Reply:
            await self.server.executor.send(self.session, text)
            return step

        return answered


def only(steps: list[Step]) -> Reply:
    [step] = steps
    assert isinstance(step, Reply)
    return step


async def test_the_budget_of_a_round_goes_on_counting(tmp_path: Path) -> None:
    steer = Steered()
    script = [*looks(1, 1), steer.by(only(looks(2, 2))), *looks(3, 4), say("Done.")]
    budgets = Budgets(round_tokens=2_000)
    async with stage(tmp_path, script, tools=TOOLS, budgets=budgets) as server:
        session = await steer.create(server)
        assert done(await server.say(session, "go")).reason == "budget"
        assert len(server.model.requests) == 2
        [began, steers] = await server.blocks(session, User)
        assert (began.steers, steers.steers) == (False, True)
        after = (await server.row(session)).last_seq
        await server.executor.answer(session, "Continue")
        assert done(await server.watch(session, after)).reason == "budget"
        assert len(server.model.requests) == 4, "raised once, not begun anew"
        sent = [m.text for m in server.model.requests[2].messages if m.role == "user"]
        assert sent == ["go", "and this"]
    async with stage(tmp_path, [], tools=TOOLS, budgets=budgets) as server:
        await server.executor.stop(session)
        transcript = await server.executor.door.transcript(session)
        assert transcript.spending.tokens == 4_000, "told by the blocks, after a restart too"


async def test_the_steps_and_the_reads_of_a_round_go_on_counting(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.txt").write_text("one\n")
    steer, read = Steered(), call("read_file", filePath="a.txt")
    script = [read, read, steer.by(read), read, say("Done.")]
    async with stage(tmp_path, script, tools=read_only.TOOLS) as server:
        session = await steer.create(server)
        assert done(await server.say(session, "go")).finished
        refused = ["was read 3 times" in r.text for r in await server.blocks(session, ToolResult)]
        assert refused == [False, False, False, True]
        transcript = await server.executor.door.transcript(session)
        assert transcript.steps == 5


async def test_what_is_written_after_it_was_written_in_that_round(tmp_path: Path) -> None:
    steer = Steered()
    writes = [
        call("write_file", filePath=f"{name}.txt", content="x\n") for name in ("before", "after")
    ]
    script = [writes[0], steer.by(writes[1]), say("Done.")]
    async with stage(tmp_path, script, tools=read_write.TOOLS) as server:
        session = await server.create(bypass=True)
        steer.server, steer.session = server, session
        assert done(await server.say(session, "go")).finished
        [one] = rounds_of(await server.store.writing(session))
        assert [Path(write.path).name for write in one.writes] == ["before.txt", "after.txt"]


async def test_a_message_that_comes_after_the_users_stop_at_a_limit_begins_a_round(
    tmp_path: Path,
) -> None:
    script = [*looks(1, 2), say("Done.")]
    budgets = Budgets(round_tokens=1_500)
    async with stage(tmp_path, script, tools=TOOLS, budgets=budgets) as server:
        session = await server.create()
        assert done(await server.say(session, "go")).reason == "budget"
        async with asyncio.TaskGroup() as tasks:  # the round that ends by it still runs
            tasks.create_task(server.executor.answer(session, "Stop"))
            tasks.create_task(server.executor.send(session, "again"))
        while (await server.row(session)).status == "running":
            await asyncio.sleep(0)
        assert server.model.requests[-1].messages[-1].text == "again"
        assert [b.steers for b in await server.blocks(session, User)] == [False, False]
        assert [q.result for q in await server.blocks(session, AskUser)] == ["Stop"]


async def test_a_first_round_that_was_steered_gives_a_title(tmp_path: Path) -> None:
    steer = Steered()
    model = ScriptedModel([steer.by(say("Hello.")), say("Both."), say("A greeting")])

    async def assemble(row: SessionRow) -> Agent:
        return Agent(ASSISTANT, model, "You help.", {}, Workspace(tmp_path, row.id))

    async with stage(tmp_path, [], tools=(), assemble=assemble) as server:
        session = await steer.create(server)
        assert done(await server.say(session, "hi there")).finished
        while (await server.row(session)).title != "A greeting":
            await asyncio.sleep(0.01)

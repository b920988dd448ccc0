"""What is changed in mid-round: told in the thread, with the time from when it holds (FM100)."""

import asyncio
from pathlib import Path

from shipmate.agent.profile import ASSISTANT, Agent
from shipmate.llm.model import ModelInfo, Reply
from shipmate.llm.scripted import DEMO, ScriptedModel, Step, call, say, together
from shipmate.protocol import ApprovalRequest, Message, SessionRow, System
from shipmate.session.changing import BYPASS_OFF, BYPASS_ON, CODE
from shipmate.tools.tool import Workspace
from tests.play import Stage, stage
from tests.session.trade import TOOLS, done, log_of


async def notices(play: Stage, session: str) -> list[str]:
    return [b.text for b in await play.blocks(session, System) if b.code == CODE]


async def test_a_bypass_turned_on_is_for_what_comes_not_for_what_waits(tmp_path: Path) -> None:
    script = [
        call("put", path="a.txt", content="x"),
        call("put", path="b.txt", content="x"),
        say("Done."),
    ]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        assert done(await play.say(session, "go")).reason == "waiting_approval"
        await play.executor.update(session, bypass_approval=True)
        await play.executor.update(session, bypass_approval=True)
        assert (await play.row(session)).status == "waiting_approval"
        assert not (tmp_path / "project" / "a.txt").exists()
        after = (await play.row(session)).last_seq
        await play.executor.decide(session, True)
        assert done(await play.watch(session, after)).finished
        asked = await play.blocks(session, ApprovalRequest)
        assert [a.decided_by for a in asked] == ["user", "bypass"]
        assert await notices(play, session) == [BYPASS_ON]


async def test_a_bypass_turned_off_holds_from_the_next_call(tmp_path: Path) -> None:
    asked, go = asyncio.Event(), asyncio.Event()

    async def slow(_messages: object, _tools: object) -> Reply:
        asked.set()
        await go.wait()
        return call("put", path="b.txt", content="x")

    script: list[Step] = [call("put", path="a.txt", content="x"), slow]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create(bypass=True)
        await play.executor.send(session, "go")
        await asked.wait()
        await play.executor.update(session, bypass_approval=False)
        go.set()
        assert done(await play.watch(session)).reason == "waiting_approval"
        assert (tmp_path / "project" / "a.txt").exists()
        assert not (tmp_path / "project" / "b.txt").exists()
        assert await notices(play, session) == [BYPASS_OFF]


async def test_a_model_changed_in_mid_round_takes_over_when_it_was_said_to(tmp_path: Path) -> None:
    asked, go = asyncio.Event(), asyncio.Event()

    async def slow(_messages: object, _tools: object) -> Reply:
        asked.set()
        await go.wait()
        return call("look", path="a.txt")

    first = ScriptedModel([slow, call("act", command="ls")], info=ModelInfo("scripted/one"))
    second = ScriptedModel([say("Done."), say("Again.")], info=ModelInfo("scripted/two"))
    models = {"scripted/demo": first, "scripted/two": second}

    async def assemble(row: SessionRow) -> Agent:
        work = Workspace(tmp_path, row.id)
        tools = {t.name: t for t in TOOLS}
        return Agent(ASSISTANT, models[row.provider], "You help.", tools, work, titles=False)

    async with stage(tmp_path, (), tools=(), assemble=assemble) as play:
        session = await play.create()
        await play.executor.send(session, "go")
        await asked.wait()
        await play.executor.update(session, provider="scripted/two")
        go.set()
        assert done(await play.watch(session)).reason == "waiting_approval"
        (told,) = await notices(play, session)
        assert told == (
            "The model was changed to scripted/two. What runs keeps scripted/demo; scripted/two "
            "takes over with the next message, or when the round goes on after a pause."
        )
        after = (await play.row(session)).last_seq
        await play.executor.decide(session, True)
        assert done(await play.watch(session, after)).finished
        models_used = [m.model for m in await play.blocks(session, Message)]
        assert models_used == ["scripted/one", "scripted/one", "scripted/two"]


async def test_between_rounds_nothing_has_to_be_told(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("Hi.")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "go")
        await play.executor.update(session, bypass_approval=True, provider="scripted/two")
        assert await notices(play, session) == []


async def test_a_title_is_no_matter_of_the_thread(tmp_path: Path) -> None:
    script = [together(call("act", command="ls"))]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "go")
        await play.executor.update(session, title="Mine", archived=True, provider=DEMO.id)
        assert await notices(play, session) == []
        assert log_of(tmp_path) == []

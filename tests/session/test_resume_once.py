"""`resume_once`: what was cut off goes on by itself at the start, once."""

from pathlib import Path

from shipmate.llm.scripted import say
from shipmate.protocol import Message, System
from tests.play import stage
from tests.session.trade import TOOLS


async def cut_off(folder: Path) -> str:
    """A session whose round was cut off before its answer."""
    async with stage(folder, [say("never heard")], tools=TOOLS, pause=60) as server:
        session = await server.create()
        await server.executor.send(session, "hello")
        await server.until(session, lambda item: item.type == "stream_start")
    return session


async def test_a_round_that_was_cut_off_goes_on_by_itself(tmp_path: Path) -> None:
    session = await cut_off(tmp_path)
    async with stage(tmp_path, [say("Hello.")], tools=TOOLS) as server:
        assert (await server.row(session)).status == "interrupted"
        await server.executor.recover(resume_once=True)
        await server.watch(session)
        assert [m.text for m in await server.blocks(session, Message)] == ["Hello."]


async def test_a_round_that_ends_the_server_again_is_left_to_the_user(tmp_path: Path) -> None:
    session = await cut_off(tmp_path)
    async with stage(tmp_path, [say("never heard")], tools=TOOLS, pause=60) as server:
        await server.executor.recover(resume_once=True)
        await server.until(session, lambda item: item.type == "stream_start")
    async with stage(tmp_path, [say("Hello.")], tools=TOOLS) as server:
        await server.executor.recover(resume_once=True)
        assert not server.executor.runs(session)
        assert (await server.row(session)).status == "interrupted"
        notes = [note.code for note in await server.blocks(session, System)]
        assert notes.count("resumed") == 1
        await server.executor.resume(session)
        await server.watch(session)
        assert [m.text for m in await server.blocks(session, Message)] == ["Hello."]


async def test_after_a_new_message_it_goes_on_by_itself_again(tmp_path: Path) -> None:
    session = await cut_off(tmp_path)
    async with stage(tmp_path, [say("never heard")] * 2, tools=TOOLS, pause=60) as server:
        await server.executor.recover(resume_once=True)
        await server.executor.send(session, "and now?")
    async with stage(tmp_path, [say("Hello.")], tools=TOOLS) as server:
        await server.executor.recover(resume_once=True)
        await server.watch(session)
        assert [m.text for m in await server.blocks(session, Message)] == ["Hello."]

"""Titles in the model's own words."""

import asyncio
from pathlib import Path

import pytest

from shipmate.agent.profile import ASSISTANT, Agent
from shipmate.llm.model import Reply
from shipmate.llm.scripted import ScriptedModel, say
from shipmate.protocol import SessionRow, Usage
from shipmate.tools.tool import Workspace
from tests.play import stage


@pytest.mark.parametrize(("renamed", "title"), [("", "A greeting"), ("Mine", "Mine")])
async def test_a_title_is_given_once_and_what_it_took_is_counted(
    tmp_path: Path, renamed: str, title: str
) -> None:
    asked, given = asyncio.Event(), asyncio.Event()

    async def titled(_messages: object, _tools: object) -> Reply:
        asked.set()
        await given.wait()
        return say("“A greeting”", usage=Usage(prompt=50, completion=4))

    model = ScriptedModel([say("Hello.", usage=Usage(prompt=10, completion=2)), titled])

    async def assemble(row: SessionRow) -> Agent:
        return Agent(ASSISTANT, model, "You help.", {}, Workspace(tmp_path, row.id))

    async with stage(tmp_path, [], tools=(), assemble=assemble) as play:
        session = await play.create()
        await play.say(session, "hi there")
        assert (await play.row(session)).title == "hi there"
        await asked.wait()
        if renamed:
            await play.executor.update(session, title=renamed)
        given.set()
        while (await play.row(session)).tokens < 66:
            await asyncio.sleep(0.01)
        assert (await play.row(session)).title == title
        (used,) = await play.store.usage(session)
        assert (used.prompt, used.completion) == (60, 6)

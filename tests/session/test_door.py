"""What is kept at hand of sessions, when there are more than are remembered."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from shipmate.llm.model import Reply
from shipmate.llm.scripted import call, say
from shipmate.protocol import Done, Message
from shipmate.session import door
from shipmate.tools.todo import manage_todo_list
from tests.play import stage


async def test_more_sessions_run_at_once_than_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "REMEMBERED", 1)
    all_asked = asyncio.Event()
    asked: list[str] = []

    async def together(messages: Any, _tools: Any) -> Reply:
        asked.append(messages[-1].text)
        if len(asked) == 4:
            all_asked.set()
        await all_asked.wait()
        return call("manage_todo_list", operation="read")

    async def finish(messages: Any, _tools: Any) -> Reply:
        return say(f"{len(messages)} messages")

    script = [together] * 4 + [finish] * 4
    async with stage(tmp_path, script, tools=[manage_todo_list]) as server:
        sessions = [await server.create() for _ in range(4)]
        stories = await asyncio.gather(*(server.say(one, f"go {one}") for one in sessions))
        assert [story[-1] for story in stories] == [
            Done(session=one, finished=True) for one in sessions
        ]
        for one in sessions:
            said = await server.blocks(one, Message)
            assert [m.text for m in said] == ["", "4 messages"]

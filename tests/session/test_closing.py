"""Who or what ended a thing that was open is told as it was, wherever it is told."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from shipmate.llm.scripted import call, say, together
from shipmate.protocol import ApprovalRequest, AskUser, Message, ToolCall, ToolResult
from shipmate.session.branches import branch
from shipmate.session.exports import export
from shipmate.session.imports import Document, bring_in
from tests.session.team import TeamStage, ask, result_of, team

End = Callable[[TeamStage, str, Path], Awaitable[str]]
"""Ends what is open in a session; where it is closed."""


async def branched(play: TeamStage, session: str, folder: Path) -> str:
    [answer] = [m for m in await play.blocks(session, Message) if not m.parent]
    return (await branch(play.executor, session, answer.id, folder / "files")).id


async def imported(play: TeamStage, session: str, folder: Path) -> str:
    view = await play.store.view(session)
    content = export(view.row, view.blocks, "json", lambda _: None)
    document = msgspec.json.decode(content, type=Document)
    return (await bring_in(play.executor, document, "", folder / "files")).id


async def dismissed(play: TeamStage, session: str, _folder: Path) -> str:
    await play.store.write(session, row={"status": "interrupted"})
    play.executor.door.forget(session)
    await play.executor.dismiss(session)
    return session


async def stopped(play: TeamStage, session: str, _folder: Path) -> str:
    await play.executor.stop(session)
    return session


async def moved_on(play: TeamStage, session: str, _folder: Path) -> str:
    await play.say(session, "something else")
    return session


ENDS: list[tuple[End, str, str]] = [
    (branched, "cut_off", "This branch was made"),
    (imported, "cut_off", "The session was exported"),
    (dismissed, "cut_off", "Interrupted, and not resumed by the user,"),
    (stopped, "stop", "Stopped by the user"),
    (moved_on, "moved_on", "Ended, as the user moved on,"),
]


@pytest.mark.parametrize(("end", "why", "words"), ENDS, ids=[end.__name__ for end, *_ in ENDS])
async def test_what_a_sub_agent_did_not_finish_says_what_ended_it(
    tmp_path: Path, end: End, why: str, words: str
) -> None:
    asked = together(call("ask_user", question="Which?"), call("act", command="go"), say("I try."))
    async with team(
        tmp_path, assistant=[ask("explorer", "x"), say("Fine.")], explorer=[asked]
    ) as play:
        session = await play.create()
        await play.say(session, "go")
        where = await end(play, session, tmp_path)
        [result] = await result_of(play, where)
        assert result.text == (
            f"{words} after 1 step, before it had an answer. What it did until then is done. "
            "Its last words:\nI try."
        )
        [question] = await play.blocks(where, AskUser)
        [approval] = await play.blocks(where, ApprovalRequest)
        assert (question.cancelled, approval.decided_by, approval.result) == (why, why, False)
        calls = {one.name: one.id for one in await play.blocks(where, ToolCall)}
        told = {one.call: one.text for one in await play.blocks(where, ToolResult)}
        wrote = "they wrote a message" in told[calls["ask_user"]]
        assert wrote == (end is moved_on)
        assert ("stopped" in told[calls["act"]]) == (end is stopped)
        assert "moved on" not in " ".join(told.values()) or end is moved_on
        assert play.broken() == []

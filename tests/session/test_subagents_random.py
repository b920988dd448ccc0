"""Any order of decisions, stops and restarts leaves a valid history, and runs nothing twice."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from shipmate.errors import ConflictError, NotFoundError
from shipmate.llm.model import ChatMessage, Reply
from shipmate.llm.scripted import call, say, together
from shipmate.protocol import ApprovalRequest, ToolCall, ToolResult
from tests.session.team import TeamStage, ask, team
from tests.session.trade import log_of

STEPS = 12
"""Replies of one thread before it answers."""


def improvising(chance: random.Random) -> Callable[[Sequence[ChatMessage], object], Reply]:
    """A model that does anything, each command only once."""

    def one() -> Reply:
        return chance.choice(
            [
                call("act", command=f"c{chance.getrandbits(60)}"),
                call("look", path="a.txt"),
                call("ask_user", question="Which?"),
                ask(chance.choice(["one", "two"]), "help"),
                ask("nobody", "help"),
            ]
        )

    def reply(messages: Sequence[ChatMessage], _tools: object) -> Reply:
        said = sum(message.role == "assistant" for message in messages)
        if said % STEPS == STEPS - 1 or chance.random() < 0.35:
            return say("enough")
        return together(*(one() for _ in range(chance.randint(1, 3))))

    return reply


async def act(play: TeamStage, session: str, chance: random.Random) -> None:
    """Something that a person can do now."""
    if (await play.row(session)).status == "interrupted":
        await play.executor.resume(session)
        return
    transcript = await play.executor.door.transcript(session)
    pending = transcript.pending()
    if not pending or chance.random() < 0.1:
        await play.executor.send(session, chance.choice(["go", "CALL: one help", "go on"]))
        return
    block = chance.choice(pending)
    way = chance.random()
    if way < 0.1:
        await play.executor.stop(session)
    elif way < 0.25 and block.parent:
        await play.executor.stop_agent(session, block.parent)
    elif isinstance(block, ApprovalRequest):
        await play.executor.decide(session, chance.random() < 0.7, block=block.id)
    else:
        answer = chance.choice(block.options or ("this",))
        await play.executor.answer(session, answer, block=block.id)


@pytest.mark.parametrize("seed", range(6))
async def test_any_order_of_what_people_do_is_survived(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    session = ""
    for _ in range(4):
        scripts = {name: [improvising(chance)] * 2000 for name in ("assistant", "one", "two")}
        async with team(
            tmp_path, assistant=scripts["assistant"], one=scripts["one"], two=scripts["two"]
        ) as play:
            session = session or await play.create()
            for _ in range(12):
                with suppress(ConflictError, NotFoundError):  # the round was quicker
                    await act(play, session, chance)
                if chance.random() < 0.7:
                    await play.watch(session)
            assert play.broken() == []  # and then it is cut, wherever it is
    async with team(tmp_path, assistant=[], one=[], two=[]) as play:
        await play.executor.stop(session)
        results = Counter(r.call for r in await play.blocks(session, ToolResult))
        assert set(results.values()) == {1}
        assert set(results) == {c.id for c in await play.blocks(session, ToolCall)}
        assert len(set(log_of(tmp_path))) == len(log_of(tmp_path)) > 0
        assert all(isinstance(b.result, bool) for b in await play.blocks(session, ApprovalRequest))

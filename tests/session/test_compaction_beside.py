"""A summary is made while the round goes on: what is added meanwhile stays, every end is clean."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from shipmate.agent.summaries import SUMMARY
from shipmate.errors import ConflictError, NotFoundError
from shipmate.llm.model import ModelInfo, Reply
from shipmate.llm.scripted import Step, call, say, together
from shipmate.protocol import Message, Summary, ToolResult
from shipmate.session.branches import branch
from tests.play import Stage, stage
from tests.session.trade import TOOLS, apart, done, is_summary

TASK = "Read them all, word for word: αβγ."
WINDOW = 10_000
SMALL = ModelInfo("scripted/small", context_length=WINDOW)
CROWDED = 11
"""Files after which the window is three quarters full, and far from overflowing."""


@dataclass
class Slow:
    """A summary that takes until it is let go."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)
    ended: bool = False

    async def __call__(self, _messages: object, _tools: object) -> Reply:
        self.asked.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.ended = True
            raise
        return say("Summed up.")


def look(n: int) -> Reply:
    return call("look", path=f"{n}.txt")


@asynccontextmanager
async def reading(
    folder: Path, *then: Step, summaries: tuple[Step, ...]
) -> AsyncGenerator[tuple[Stage, str]]:
    """An agent that has read until its window is crowded; `then` are its further replies."""
    script: list[Step] = [*(look(n) for n in range(CROWDED)), *then]
    async with stage(folder, apart(script, summaries), tools=TOOLS, info=SMALL) as play:
        for n in range(20):
            (folder / "project" / f"{n}.txt").write_text(f"file {n} " + "word " * 480)
        yield play, await play.create()


def loops(play: Stage) -> list[str]:
    """What the loop's own requests were sent."""
    asked = [r.messages for r in play.model.requests]
    return ["\n".join(m.text for m in sent) for sent in asked if not is_summary(sent)]


async def test_the_round_goes_on_while_the_summary_is_made(tmp_path: Path) -> None:
    slow, kept = Slow(), asyncio.Event()

    async def lets_go(_messages: object, _tools: object) -> Reply:
        await slow.asked.wait()
        slow.go.set()
        await kept.wait()
        return look(12)

    async with reading(tmp_path, look(11), lets_go, say("Done."), summaries=(slow,)) as (p, s):
        await p.executor.send(s, TASK)
        await p.until(s, lambda frame: frame.type == "summary")
        kept.set()
        assert done(await p.watch(s)).finished
        (summary,) = await p.blocks(s, Summary)
        assert summary.tokens_after < 0.8 * summary.tokens_before
        before, after = loops(p)[-2:]
        assert "file 0 " in before, "it was asked while the summary was made"
        assert SUMMARY not in before
        assert (TASK in after, SUMMARY in after, "file 0 " in after) == (True, True, False)
        for added in (11, 12):
            assert f"file {added} " in after, "what was added meanwhile stays, whole"
        assert len(await p.blocks(s, ToolResult)) == 13


async def test_a_request_that_would_not_fit_waits_for_the_summary(tmp_path: Path) -> None:
    slow = Slow()
    many = together(*(look(n) for n in range(11, 16)))
    async with reading(tmp_path, many, say("Done."), summaries=(slow,)) as (p, s):
        await p.executor.send(s, TASK)
        await p.until(s, lambda frame: frame.type == "tool_result" and b"file 15" in frame.data)
        await slow.asked.wait()
        assert len(loops(p)) == CROWDED + 1
        slow.go.set()
        assert done(await p.watch(s)).finished
        assert SUMMARY in loops(p)[-1]


async def test_stop_ends_the_summary_and_leaves_the_old_context_whole(tmp_path: Path) -> None:
    slow, hangs = Slow(), Slow()
    summaries = (slow, say("Summed up."))
    async with reading(tmp_path, hangs, look(11), say("Done."), summaries=summaries) as (p, s):
        await p.executor.send(s, TASK)
        await slow.asked.wait()
        await hangs.asked.wait()
        await p.executor.stop(s)
        assert slow.ended
        assert await p.blocks(s, Summary) == []
        assert done(await p.say(s, "go on")).finished
        await p.until(s, lambda frame: frame.type == "summary")


async def test_a_summary_outlives_the_round_that_began_it(tmp_path: Path) -> None:
    slow = Slow()
    async with reading(tmp_path, say("Done."), say("More."), summaries=(slow,)) as (p, s):
        assert done(await p.say(s, TASK)).finished
        assert await p.blocks(s, Summary) == []
        slow.go.set()
        await p.until(s, lambda frame: frame.type == "summary")
        assert done(await p.say(s, "and now?")).finished
        assert SUMMARY in loops(p)[-1]


async def test_stop_between_rounds_ends_it_too(tmp_path: Path) -> None:
    slow = Slow()
    async with reading(tmp_path, say("Done."), summaries=(slow,)) as (p, s):
        await p.say(s, TASK)
        await slow.asked.wait()
        await p.executor.stop(s)
        assert slow.ended


async def test_a_session_deleted_meanwhile_stays_deleted(tmp_path: Path) -> None:
    slow = Slow()
    async with reading(tmp_path, say("Done."), summaries=(slow,)) as (p, s):
        await p.say(s, TASK)
        await slow.asked.wait()
        await p.executor.delete(s)
        assert slow.ended
        with pytest.raises(NotFoundError):
            await p.row(s)


async def test_a_branch_made_meanwhile_has_all_of_it(tmp_path: Path) -> None:
    slow = Slow()
    then = (say("Done."), say("In the branch."))
    async with reading(tmp_path, *then, summaries=(slow, say("Of the branch."))) as (p, s):
        await p.say(s, TASK)
        await slow.asked.wait()
        last = (await p.blocks(s, Message))[-1]
        other = await branch(p.executor, s, last.id, tmp_path / "files")
        slow.go.set()
        await p.until(s, lambda frame: frame.type == "summary")
        assert await p.blocks(other.id, Summary) == []
        await p.say(other.id, "go on")
        assert "file 0 " in loops(p)[-1]


async def test_by_hand_while_it_is_made_gives_the_same_summary(tmp_path: Path) -> None:
    slow = Slow()
    async with reading(tmp_path, say("Done."), summaries=(slow,)) as (p, s):
        await p.say(s, TASK)
        await slow.asked.wait()
        by_hand = asyncio.ensure_future(p.executor.compacting.now(s))
        slow.go.set()
        made = await by_hand
        assert made.text == "Summed up."
        assert len(await p.blocks(s, Summary)) == 1


async def test_stop_ends_what_was_begun_by_hand(tmp_path: Path) -> None:
    slow = Slow()
    script: list[Step] = [look(0), look(1), say("Done.")]
    async with stage(tmp_path, apart(script, [slow]), tools=TOOLS) as play:
        for n in range(2):
            (tmp_path / "project" / f"{n}.txt").write_text("word " * 300)
        session = await play.create()
        await play.say(session, TASK)
        by_hand = asyncio.ensure_future(play.executor.compacting.now(session))
        await slow.asked.wait()
        await play.executor.stop(session)
        with pytest.raises(ConflictError, match="was ended"):
            await by_hand
        assert await play.blocks(session, Summary) == []


async def test_a_restart_meanwhile_leaves_the_old_context(tmp_path: Path) -> None:
    slow = Slow()
    async with reading(tmp_path, say("Done."), summaries=(slow,)) as (p, s):
        await p.say(s, TASK)
        await slow.asked.wait()
    assert slow.ended
    script = apart([say("Again.")], [say("Summed up.")])
    async with stage(tmp_path, script, tools=TOOLS, info=SMALL) as play:
        await play.say(s, "go on")
        assert "file 0 " in loops(play)[0]
        await play.until(s, lambda frame: frame.type == "summary")

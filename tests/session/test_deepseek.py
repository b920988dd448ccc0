"""DeepSeek's thinking through all that happens to a session: it goes back as it was given, and
the beginning of each request is that of the one before, byte for byte."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shipmate.protocol import Message, Summary, ToolResult
from shipmate.session.branches import branch
from shipmate.session.exports import export
from shipmate.session.imports import Document, bring_in
from tests.deepseek import DeepSeek, Thought
from tests.provider import Provider, call_reply, text_reply
from tests.session.ship import begun, ship
from tests.session.trade import done

LOOK = (("look", {"path": "a.txt"}),)
READ = (Thought("I must look.", calls=LOOK), Thought("Now I know.", "It says hello."))


@pytest.fixture
def sea() -> Iterator[DeepSeek]:
    provider = DeepSeek()
    yield provider
    provider.close()
    assert provider.refused == []
    assert provider.broken == []


def thoughts(body: dict[str, Any]) -> list[str | None]:
    """What each of the model's turns has as its reasoning in a request."""
    return [m.get("reasoning_content") for m in body["messages"] if m["role"] == "assistant"]


async def test_reasoning_is_shown_stored_and_sent_back_after_a_restart(
    tmp_path: Path, sea: DeepSeek
) -> None:
    sea.script += [*READ, Thought("Again.", "Yes.")]
    async with ship(tmp_path, sea) as play:
        session = await begun(play)
        events = await play.say(session, "What does it say?")
        assert done(events).finished
        streamed = "".join(
            getattr(e, "reasoning", "") for e in events if type(e).__name__ == "Delta"
        )
        assert streamed == "I must look.Now I know."
        kept = await play.blocks(session, Message)
        assert [(m.reasoning, m.text) for m in kept] == [
            ("I must look.", ""),
            ("Now I know.", "It says hello."),
        ]
    async with ship(tmp_path, sea) as play:
        assert done(await play.say(session, "Sure?")).finished
    assert thoughts(sea.seen[-1].body) == ["I must look.", "Now I know."]
    first = sea.seen[0].body
    assert (first["thinking"], first["reasoning_effort"]) == ({"type": "enabled"}, "high")


async def test_the_beginning_of_each_request_is_the_one_before(
    tmp_path: Path, sea: DeepSeek
) -> None:
    sea.script += [Thought("Hm.", "Hello."), *READ, *READ]
    async with ship(tmp_path, sea) as play:
        session = await begun(play)
        for text in ("hi", "What does it say?", "And now?"):
            assert done(await play.say(session, text)).finished
        usages = [m.usage for m in await play.blocks(session, Message)]
    bodies = [seen.body for seen in sea.seen]
    assert len(bodies) == 5
    for before, after in pairwise(bodies):
        assert json.dumps(after["tools"]) == json.dumps(before["tools"]), "order included"
        begin = json.dumps(before["messages"])[:-1]
        assert json.dumps(after["messages"]).startswith(begin)
    hits = [usage.cached for usage in usages if not isinstance(usage, msgspec.UnsetType)]
    assert hits[0] == 0
    assert all(later >= before > 0 for before, later in pairwise(hits[1:]))


async def test_branches_and_imports_lose_none_of_it(tmp_path: Path, sea: DeepSeek) -> None:
    sea.script += READ
    async with ship(tmp_path, sea) as play:
        session = await begun(play)
        await play.say(session, "What does it say?")
        answer = (await play.blocks(session, Message))[-1].id
        fork = (await branch(play.executor, session, answer, tmp_path / "files")).id
        assert done(await play.say(fork, "go on")).finished
        assert thoughts(sea.seen[-1].body) == ["I must look.", "Now I know."]
        given = export(
            await play.row(session), await play.store.window(session), "json", lambda _: b""
        )
        document = msgspec.json.decode(given, type=Document)
        copy = await bring_in(play.executor, document, "demo", tmp_path / "files")
        assert done(await play.say(copy.id, "go on")).finished
        assert thoughts(sea.seen[-1].body) == ["I must look.", "Now I know."]


async def test_a_compaction_keeps_that_of_the_steps_it_keeps(tmp_path: Path, sea: DeepSeek) -> None:
    summary = Thought("Summing.", "It says hello.", when='"messages":[{"role":"user"')
    looks = [Thought(f"Look {n}.", calls=(("look", {"path": f"{n}.txt"}),)) for n in range(8)]
    sea.script += [*(summary for _ in range(4)), *looks, Thought("Now I know.", "It says hello.")]
    async with ship(tmp_path, sea, window=6_000) as play:
        for n in range(8):
            (tmp_path / "project" / f"{n}.txt").write_text("hello " * 500)
        session = await begun(play)
        assert done(await play.say(session, "What does it say?")).finished
        assert await play.blocks(session, Summary)
    sent = sea.seen[-1].body
    assert "Look 0." not in json.dumps(sent)
    assert thoughts(sent)[-1] == "Look 7."
    assert None not in thoughts(sent)


async def test_another_family_never_sees_it_and_its_calls_come_back_without(
    tmp_path: Path, sea: DeepSeek
) -> None:
    other = Provider()
    try:
        sea.script += READ
        async with ship(tmp_path, sea, other=other.url) as play:
            session = await begun(play)
            await play.say(session, "What does it say?")
            await play.executor.update(session, provider="other/m")
            assert done(await play.say(session, "you?")).finished
            assert thoughts(other.seen[-1].body) == [None, None]
            await play.executor.update(session, provider="deepseek/deepseek-v4-pro")
            assert done(await play.say(session, "and you?")).finished
            assert thoughts(sea.seen[-1].body) == ["I must look.", "Now I know.", None]
        assert other.broken == []
    finally:
        other.close()


async def test_calls_of_another_model_are_taken(tmp_path: Path, sea: DeepSeek) -> None:
    other = Provider()
    other.queue(call_reply(*LOOK), text_reply("It says hello."))
    try:
        async with ship(tmp_path, sea, other=other.url) as play:
            session = await begun(play)
            await play.executor.update(session, provider="other/m")
            assert done(await play.say(session, "What does it say?")).finished
            await play.executor.update(session, provider="deepseek/deepseek-v4-pro")
            assert done(await play.say(session, "and you?")).finished
            assert thoughts(sea.seen[-1].body) == ["", None]
    finally:
        other.close()


async def test_sub_agents_have_a_thread_of_thought_of_their_own(
    tmp_path: Path, sea: DeepSeek
) -> None:
    task = {"agent": "explorer", "task": "read it"}
    sea.script += [
        Thought("Let another one do it.", calls=(("call_agent", task),)),
        Thought("I look for him.", calls=LOOK, when="You are the explorer."),
        Thought("Found.", "hello, it says", when="You are the explorer."),
        Thought("He knows.", "It says hello."),
    ]
    async with ship(tmp_path, sea) as play:
        session = await begun(play)
        assert done(await play.say(session, "What does it say?")).finished
        assert not any(r.is_error for r in await play.blocks(session, ToolResult))
    assert [thoughts(seen.body) for seen in sea.seen] == [
        [],
        [],
        ["I look for him."],
        ["Let another one do it."],
    ]


async def test_the_fake_refuses_what_the_real_one_refuses(tmp_path: Path) -> None:
    """Without this, the tests above could not fail."""
    sea = DeepSeek(*READ, *READ)
    try:
        async with ship(tmp_path, sea, d=sea.url) as play:
            session = await begun(play)
            await play.executor.update(session, provider="d/m")
            ended = done(await play.say(session, "What does it say?"))
            assert not ended.finished
            assert "reasoning_content" in ended.error
        assert sea.refused
    finally:
        sea.close()

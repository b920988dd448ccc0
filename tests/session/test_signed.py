"""Thinking that is signed, through all that happens to a session: Anthropic and Gemini get it back
as they gave it, and refuse nothing."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shipmate.protocol import Message, Summary, System, ToolResult
from shipmate.session.branches import branch
from shipmate.session.exports import export
from shipmate.session.imports import Document, bring_in
from tests.anthropic import Anthropic
from tests.deepseek import Thought
from tests.dialects import ANTHROPIC, GEMINI
from tests.gemini import Gemini
from tests.provider import Provider, call_reply, text_reply
from tests.session.ship import begun, ship
from tests.session.trade import done

LOOK = (("look", {"path": "a.txt"}),)
READ = (Thought("I must look.", calls=LOOK), Thought("Now I know.", "It says hello."))
SEAS = {
    "anthropic/claude-sonnet-5-5": Anthropic,
    "anthropic/claude-opus-4-1": Anthropic,
    "gemini/gemini-3.8-flash": Gemini,
    "gemini/gemini-2.5-pro": Gemini,
}
Sea = Anthropic | Gemini


@pytest.fixture(params=SEAS)
def model(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def sea(model: str) -> Iterator[Sea]:
    provider = SEAS[model]()
    yield provider
    provider.close()
    assert provider.refused == []
    assert provider.broken == []


def signatures(body: dict[str, Any]) -> int:
    """How many signatures go back, of either dialect."""
    said = json.dumps(body.get("messages") or body.get("contents"))
    return said.count('"signature": "sig-') + said.count('"thoughtSignature": "sig-')


def beginning(body: dict[str, Any]) -> tuple[str, str]:
    """What a cache of prefixes sees: the tools and the system text; then the conversation."""
    plain = json.loads(json.dumps(body).replace(', "cache_control": {"type": "ephemeral"}', ""))
    head = [plain.get("tools"), plain.get("system") or plain.get("systemInstruction")]
    return json.dumps(head), json.dumps(plain.get("messages") or plain.get("contents"))[:-1]


async def test_thinking_is_shown_kept_and_sent_back_after_a_restart(
    tmp_path: Path, sea: Sea, model: str
) -> None:
    sea.script += [*READ, Thought("Again.", "Yes.")]
    async with ship(tmp_path, sea, model=model) as play:
        session = await begun(play, model)
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
        assert all(m.signed for m in kept)
    async with ship(tmp_path, sea, model=model) as play:
        assert done(await play.say(session, "Sure?")).finished
    assert [signatures(seen.body) for seen in sea.seen] == [0, 1, 2]


async def test_the_beginning_of_each_request_is_the_one_before(
    tmp_path: Path, sea: Sea, model: str
) -> None:
    sea.script += [Thought("Hm.", "Hello."), *READ, *READ]
    async with ship(tmp_path, sea, model=model) as play:
        session = await begun(play, model)
        for text in ("hi", "What does it say?", "And now?"):
            assert done(await play.say(session, text)).finished
        usages = [m.usage for m in await play.blocks(session, Message)]
    assert len(sea.seen) == 5
    for before, after in pairwise(beginning(seen.body) for seen in sea.seen):
        assert after[0] == before[0]
        assert after[1].startswith(before[1])
    counted = [usage for usage in usages if not isinstance(usage, msgspec.UnsetType)]
    assert all(usage.cached > 0 for usage in counted[1:])
    if isinstance(sea, Anthropic):
        assert all(later.cached > before.cached for before, later in pairwise(counted))
        assert all(usage.cache_write > 0 for usage in counted)


async def test_branches_and_imports_lose_none_of_it(tmp_path: Path, sea: Sea, model: str) -> None:
    sea.script += READ
    async with ship(tmp_path, sea, model=model) as play:
        session = await begun(play, model)
        await play.say(session, "What does it say?")
        answer = (await play.blocks(session, Message))[-1].id
        fork = (await branch(play.executor, session, answer, tmp_path / "files")).id
        assert done(await play.say(fork, "go on")).finished
        assert signatures(sea.seen[-1].body) == 2
        given = export(
            await play.row(session), await play.store.window(session), "json", lambda _: b""
        )
        document = msgspec.json.decode(given, type=Document)
        copy = await bring_in(play.executor, document, "demo", tmp_path / "files")
        assert done(await play.say(copy.id, "go on")).finished
        assert signatures(sea.seen[-1].body) == 2


async def test_a_compaction_keeps_that_of_the_steps_it_keeps(
    tmp_path: Path, sea: Sea, model: str
) -> None:
    summary = Thought("Summing.", "It says hello.", when="Below is the earlier part")
    looks = [Thought(f"Look {n}.", calls=(("look", {"path": f"{n}.txt"}),)) for n in range(8)]
    sea.script += [*(summary for _ in range(4)), *looks, Thought("Now I know.", "It says hello.")]
    async with ship(tmp_path, sea, model=model, window=6_000) as play:
        for n in range(8):
            (tmp_path / "project" / f"{n}.txt").write_text("hello " * 500)
        session = await begun(play, model)
        assert done(await play.say(session, "What does it say?")).finished
        assert await play.blocks(session, Summary)
    assert 0 < signatures(sea.seen[-1].body) < 8


async def test_a_prompt_that_is_too_long_is_compacted_and_asked_again(
    tmp_path: Path, sea: Sea, model: str
) -> None:
    words = {
        Anthropic: "prompt is too long: 9400 tokens > 8000 maximum",
        Gemini: "The input token count (9400) exceeds the maximum number of tokens allowed (8000).",
    }
    speak = ANTHROPIC if isinstance(sea, Anthropic) else GEMINI
    looks = [Thought(f"Look {n}.", calls=(("look", {"path": f"{n}.txt"}),)) for n in range(6)]
    summary = Thought("", "It says hello.", when="Below is the earlier part")
    sea.script += [*(summary for _ in range(4)), *looks, Thought("Now I know.", "It says hello.")]
    sea.queue(replace(speak.refusal(400, words[type(sea)]), when="4.txt"))
    async with ship(tmp_path, sea, model=model) as play:
        for n in range(6):
            (tmp_path / "project" / f"{n}.txt").write_text("hello " * 1000)
        session = await begun(play, model)
        assert done(await play.say(session, "What does it say?")).finished
        assert await play.blocks(session, Summary)
    assert "Look 0." not in json.dumps(sea.seen[-1].body)


async def test_other_models_never_see_it_and_calls_of_others_are_taken(
    tmp_path: Path, sea: Sea, model: str
) -> None:
    other = Provider()
    other.queue(text_reply("Fine."), call_reply(*LOOK), text_reply("It says hello."))
    try:
        sea.script += READ
        async with ship(tmp_path, sea, model=model, other=other.url) as play:
            session = await begun(play, model)
            await play.say(session, "What does it say?")
            await play.executor.update(session, provider="other/m")
            for text in ("you?", "look again"):
                assert done(await play.say(session, text)).finished
            assert "sig-" not in json.dumps(other.seen[-1].body)
            await play.executor.update(session, provider=model)
            assert done(await play.say(session, "and you?")).finished
            assert signatures(sea.seen[-1].body) == 2
        assert other.broken == []
    finally:
        other.close()


async def test_a_step_that_another_model_began_goes_on(
    tmp_path: Path, sea: Sea, model: str
) -> None:
    """As when it stands in for one that failed between the call and its result."""
    other = Provider()
    other.queue(call_reply(*LOOK))
    try:
        async with ship(tmp_path, sea, model=model, other=other.url) as play:
            session = await begun(play, model)
            await play.executor.update(session, provider="other/m")
            other.close()
            assert not done(await play.say(session, "What does it say?")).finished
            await play.executor.update(session, provider=model)
            assert done(await play.say(session, "and you?")).finished
    finally:
        other.closing = True


async def test_sub_agents_have_a_thread_of_thought_of_their_own(
    tmp_path: Path, sea: Sea, model: str
) -> None:
    task = {"agent": "explorer", "task": "read it"}
    sea.script += [
        Thought("Let another one do it.", calls=(("call_agent", task),)),
        Thought("I look for him.", calls=LOOK, when="You are the explorer."),
        Thought("Found.", "hello, it says", when="You are the explorer."),
        Thought("He knows.", "It says hello."),
    ]
    async with ship(tmp_path, sea, model=model) as play:
        session = await begun(play, model)
        assert done(await play.say(session, "What does it say?")).finished
        assert not any(r.is_error for r in await play.blocks(session, ToolResult))
    assert [signatures(seen.body) for seen in sea.seen] == [0, 0, 1, 1]


async def test_thoughts_that_are_refused_are_left_out_and_that_is_told(tmp_path: Path) -> None:
    """Some models take a thought back only after what was before it: not after a compaction."""
    model, sea = "anthropic/claude-opus-5-5", Anthropic(*READ, *READ, binds=True)
    try:
        async with ship(tmp_path, sea, model=model) as play:
            session = await begun(play, model)
            await play.say(session, "What does it say?")
            assert sea.refused == []
            await play.executor.update(session, agent="explorer")  # another system text
            assert done(await play.say(session, "And now?")).finished
            assert len(sea.refused) == 1
            told = [b.text for b in await play.blocks(session, System)]
            assert any("did not take back what it had thought" in text for text in told)
            assert done(await play.say(session, "And then?")).finished
        assert len(sea.refused) == 1, "only the first time"
        assert [signatures(seen.body) for seen in sea.seen[-2:]] == [1, 2]
    finally:
        sea.close()

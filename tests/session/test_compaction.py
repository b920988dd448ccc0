"""Stories of compaction: when it happens, what is carried over, what becomes of a summary."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from shipmate.agent.summaries import FACTS, SUMMARY
from shipmate.errors import ConflictError
from shipmate.llm.model import ChatMessage, ModelError, ModelInfo, Reply
from shipmate.llm.scripted import Step, call, say, together
from shipmate.protocol import Message, Summary, System, ToolResult, Usage, User
from tests.play import Stage, stage
from tests.session.trade import TOOLS, apart, done, is_summary

CASES = Path(__file__).parent.parent / "cases" / "reports.jsonl"
WINDOW = 4_000
SMALL = ModelInfo("scripted/small", context_length=WINDOW)
TASK = "Find out which of the files is the longest, word for word: αβγ."


def reports(*names: str) -> dict[str, Any]:
    rows = (json.loads(line) for line in CASES.read_text("utf-8").split("\n") if line)
    return {row["id"]: row for row in rows if row["id"] in names}


def shown(messages: Sequence[ChatMessage]) -> str:
    return "\n".join(m.text for m in messages)


async def filled(folder: Path, play: Stage, steps: int, size: int = 2_000) -> str:
    """A session whose agent has read `steps` files of `size` characters, in a round each."""
    for n in range(steps):
        (folder / "project" / f"{n}.txt").write_text(f"file {n} " + "word " * (size // 5))
    return await play.create()


def reads(steps: int) -> list[Reply]:
    return [call("look", path=f"{n}.txt") for n in range(steps)]


async def test_a_window_that_fills_is_compacted_before_the_next_call(tmp_path: Path) -> None:
    summed = say("It read 0.txt to 2.txt.", usage=Usage(prompt=900, completion=10))
    script = [*reads(3), together(*reads(6)[3:]), say("5.txt.")]
    async with stage(tmp_path, apart(script, [summed]), tools=TOOLS, info=SMALL) as play:
        session = await filled(tmp_path, play, 6, size=2_500)
        assert done(await play.say(session, TASK)).finished
        (summary,) = await play.blocks(session, Summary)
        assert summary.text == "It read 0.txt to 2.txt."
        assert summary.tokens_after < summary.tokens_before * 0.8
        asked = [r.messages for r in play.model.requests]
        assert [is_summary(m) for m in asked] == [False] * 4 + [True, False]
        assert summary.tokens_before >= 0.95 * WINDOW, "the next request would not have fit"
        after = shown(asked[5])
        assert TASK in after
        assert SUMMARY in after
        assert FACTS in after
        assert ("file 0" in after, "file 4" in after) == (False, True), "the last units stay"
        assert "Files read: 0.txt" in after
        results = await play.blocks(session, ToolResult)
        assert len(results) == 6, "what is stored stays"
        row = await play.row(session)
        assert row.context_usage
        assert row.context_usage.max == WINDOW
        used = await play.store.usage(session)
        assert used[0].prompt == 900, "the summary's own tokens count"


@pytest.mark.parametrize(
    "given",
    [ModelError("down", kind="provider"), say(" "), say("word " * 40_000)],
    ids=["fails", "nothing", "no end"],
)
async def test_a_summary_that_is_none_is_replaced_by_an_extract(
    tmp_path: Path, given: Reply | ModelError
) -> None:
    script = [*reads(4), together(*reads(7)[4:]), say("Done.")]
    async with stage(tmp_path, apart(script, [given]), tools=TOOLS, info=SMALL) as play:
        session = await filled(tmp_path, play, 7)
        assert done(await play.say(session, TASK)).finished
        (summary,) = await play.blocks(session, Summary)
        assert "gave no usable summary" in summary.text
        assert 'called look {"path":"0.txt"}' in summary.text


REFUSALS = [
    (ModelError("This model's maximum context length is 3000 tokens. However", kind="too_long")),
    (ModelError("Request Entity Too Large", kind="too_long")),
    Reply(finish="length", usage=Usage(prompt=3_999)),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=["named", "bare", "length"])
async def test_too_long_compacts_once_and_asks_once_more(tmp_path: Path, refusal: Step) -> None:
    script: list[Step] = [*reads(3), refusal, say("Summed up."), say("Done.")]
    async with stage(tmp_path, script, tools=TOOLS, info=SMALL) as play:
        session = await filled(tmp_path, play, 4)
        assert done(await play.say(session, TASK)).finished
        assert len(await play.blocks(session, Summary)) == 1
        assert await play.blocks(session, System) == []
        assert len(play.model.requests) == 6
        assert TASK in shown(play.model.requests[-1].messages)


async def test_too_long_twice_is_told_and_never_a_loop(tmp_path: Path) -> None:
    refusal = ModelError("prompt is too long. Compact it.", kind="too_long")
    script: list[Step] = [*reads(3), refusal, say("Summed up."), refusal]
    async with stage(tmp_path, script, tools=TOOLS, info=SMALL) as play:
        session = await filled(tmp_path, play, 4)
        failed = done(await play.say(session, TASK))
        assert (failed.reason, failed.error) == ("error", str(refusal))
        assert len(play.model.requests) == 6
        (notice,) = await play.blocks(session, System)
        assert notice.code == "too_long"


async def test_too_long_with_nothing_to_leave_out_is_told_at_once(tmp_path: Path) -> None:
    refusal = ModelError("prompt is too long. Compact it.", kind="too_long")
    async with stage(tmp_path, [refusal], tools=TOOLS, info=SMALL) as play:
        session = await play.create()
        assert done(await play.say(session, "word " * 9_000)).error == str(refusal)
        assert len(play.model.requests) == 1


async def test_a_window_that_was_told_counts_from_then_on(tmp_path: Path) -> None:
    refusal = ModelError("maximum context length is 2000 tokens", kind="too_long")
    script: list[Step] = [*reads(3), refusal, say("Summed up."), say("Done.")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await filled(tmp_path, play, 4)
        await play.say(session, TASK)
        row = await play.row(session)
        assert row.context_usage
        assert row.context_usage.max == 2_000


async def test_two_poor_results_end_it_with_a_message(tmp_path: Path) -> None:
    script: list[Step] = [
        *reads(3),
        say("Nothing."),
        call("look", path="3.txt"),
        say("Nothing."),
        call("look", path="4.txt"),
        say("Done."),
    ]
    async with stage(tmp_path, script, tools=TOOLS, info=SMALL) as play:
        session = await filled(tmp_path, play, 5, size=1_500)
        assert done(await play.say(session, TASK + " word" * 1_700)).finished
        assert len(await play.blocks(session, Summary)) == 2
        (notice,) = await play.blocks(session, System)
        assert (notice.code, notice.level) == ("compaction", "warning")
        assert len(play.model.requests) == len(script), "it is not tried again"


async def test_compacting_by_hand_edited_and_taken_back(tmp_path: Path) -> None:
    script: list[Step] = [*reads(3), say("Long."), say("By hand."), say("A."), say("B.")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await filled(tmp_path, play, 3)
        await play.say(session, TASK)
        made = await play.executor.compacting.now(session)
        assert (made.text, made.tokens_after < made.tokens_before) == ("By hand.", True)
        edited = await play.executor.compacting.edit(session, made.id, "My own words.")
        assert (edited.edited, edited.pos) == (True, made.pos)
        await play.say(session, "and now?")
        assert "My own words." in shown(play.model.requests[-1].messages)
        assert "file 0" not in shown(play.model.requests[-1].messages)
        await play.executor.compacting.undo(session, made.id)
        with pytest.raises(ConflictError):
            await play.executor.compacting.undo(session, made.id)
        await play.say(session, "and then?")
        sent = shown(play.model.requests[-1].messages)
        assert "file 0" in sent
        assert SUMMARY not in sent
        assert [u.text for u in await play.blocks(session, User)] == [TASK, "and now?", "and then?"]


async def test_nothing_to_sum_up_is_said(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("Hi.")], tools=TOOLS) as play:
        session = await play.create()
        with pytest.raises(ConflictError, match="nothing to sum up"):
            await play.executor.compacting.now(session)


async def test_a_call_that_waits_is_never_summed_up(tmp_path: Path) -> None:
    script: list[Step] = [*reads(2), call("act", command="x"), say("Summed."), say("Done.")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await filled(tmp_path, play, 2)
        assert done(await play.say(session, TASK)).reason == "waiting_approval"
        await play.executor.compacting.now(session)
        await play.executor.decide(session, True)
        assert done(await play.watch(session)).finished
        last = play.model.requests[-1].messages
        assert [c.name for m in last for c in m.calls] == ["act"]
        assert last[-1].text == "ran x"


async def test_a_server_that_cuts_silently_is_told_once_and_not_believed(tmp_path: Path) -> None:
    (case,) = reports("SES-13").values()
    assert "40,000 characters" in case["input"]["steps"][0]
    low = Usage(prompt=2_051, completion=20)
    script: list[Step] = [
        together(call("look", path="0.txt"), say("", usage=low)),
        say("Done.", usage=low),
    ]
    info = ModelInfo("ollama/q", context_length=131_072)
    async with stage(tmp_path, script, tools=TOOLS, info=info) as play:
        session = await filled(tmp_path, play, 1)
        await play.say(session, "many words " * 3_700)
        (notice,) = await play.blocks(session, System)
        assert notice.code == "server_cuts"
        assert "2-4 K" in notice.text
        assert "OLLAMA_CONTEXT_LENGTH" in notice.text
        first = (await play.blocks(session, Message))[0]
        assert first.tokens_source == "estimate"
        assert first.tokens > 8_000
        row = await play.row(session)
        assert row.context_usage
        assert row.context_usage.source == "estimate"


async def test_a_provider_that_counts_the_answer_alone_is_estimated(tmp_path: Path) -> None:
    script = [say("Yes.", usage=Usage(completion=7)), say("No.", usage=Usage(prompt=90))]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        for source in ("estimate", "api"):
            await play.say(session, TASK)
            usage = (await play.row(session)).context_usage
            assert usage
            assert (usage.source, usage.tokens > 80) == (source, True)
            assert (await play.blocks(session, Message))[-1].tokens_source == source
        assert not await play.blocks(session, System)

"""Budgets and calls that repeat themselves: the round pauses and asks."""

from pathlib import Path

import pytest
from msgspec import UNSET

from shipmate.agent.budgets import Budgets, Spending
from shipmate.llm.model import ModelInfo, Reply
from shipmate.llm.scripted import Step, call, say, together
from shipmate.protocol import AskUser, ToolCall, ToolResult, Usage
from tests.play import Stage, stage
from tests.session.trade import TOOLS, done, log_of

PRICED = ModelInfo("acme/m", price={"input": 10.0, "cached": 1.0, "output": 100.0})
USED = Usage(prompt=900, completion=100, cached=100)


def looks(first: int, last: int, usage: Usage = USED) -> list[Step]:
    return [
        together(call("look", path=f"{n}.txt"), Reply(usage=usage)) for n in range(first, last + 1)
    ]


async def asked(play: Stage, session: str) -> AskUser:
    return (await play.blocks(session, AskUser))[-1]


async def test_a_round_that_has_used_its_tokens_pauses_and_goes_on(tmp_path: Path) -> None:
    script = [*looks(1, 4), say("Done.", usage=USED)]
    budgets = Budgets(round_tokens=2_000)
    async with stage(tmp_path, script, tools=TOOLS, budgets=budgets) as play:
        session = await play.create()
        paused = done(await play.say(session, "go"))
        assert (paused.finished, paused.reason) == (False, "budget")
        assert len(play.model.requests) == 2
        question = await asked(play, session)
        assert (question.agent, question.options) == ("budget", ("Continue", "Stop"))
        assert "2,000 tokens" in question.question
        row = await play.row(session)
        assert (row.status, row.pending_question) == ("waiting_answer", question.id)
        assert done(await play.watch(session)).reason == "budget", "for who comes later too"
        await play.executor.answer(session, "Continue")
        assert done(await play.watch(session, row.last_seq)).reason == "budget"
        assert len(play.model.requests) == 4, "once more the same amount"
        after = (await play.row(session)).last_seq
        await play.executor.answer(session, "Continue")
        assert done(await play.watch(session, after)).finished


async def test_stop_ends_the_round_and_the_next_message_begins_anew(tmp_path: Path) -> None:
    script = [*looks(1, 2), say("Done.")]
    budgets = Budgets(round_tokens=1_500)
    async with stage(tmp_path, script, tools=TOOLS, budgets=budgets) as play:
        session = await play.create()
        await play.say(session, "go")
        after = (await play.row(session)).last_seq
        await play.executor.answer(session, "Stop")
        assert done(await play.watch(session, after)).reason == "budget"
        row = await play.row(session)
        assert (row.status, row.pending_question) == ("idle", "")
        assert len(play.model.requests) == 2
        assert done(await play.say(session, "again")).finished


@pytest.mark.parametrize("way", ["stop", "message"])
async def test_a_question_about_a_budget_is_closed_by_stop_and_by_a_message(
    tmp_path: Path, way: str
) -> None:
    script = [*looks(1, 2), say("Done.")]
    budgets = Budgets(round_tokens=1_500)
    async with stage(tmp_path, script, tools=TOOLS, budgets=budgets) as play:
        session = await play.create()
        await play.say(session, "go")
        if way == "stop":
            await play.executor.stop(session)
        else:
            assert done(await play.say(session, "never mind")).finished
        question = await asked(play, session)
        assert question.cancelled == ("stop" if way == "stop" else "moved_on")
        assert (await play.row(session)).status == "idle"


@pytest.mark.parametrize(
    ("budgets", "words"),
    [
        (Budgets(round_cost=0.03), "This round has cost 0.04, and the budget is 0.03."),
        (
            Budgets(session_tokens=1_500),
            "This session has used 2,000 tokens, and the budget is 1,5",
        ),
        (Budgets(day_tokens=1_500), "All sessions today have used 2,000 tokens"),
    ],
)
async def test_each_budget_pauses_goes_on_by_the_same_amount_and_stops(
    tmp_path: Path, budgets: Budgets, words: str
) -> None:
    script = [*looks(1, 4), say("Never.")]
    async with stage(tmp_path, script, tools=TOOLS, budgets=budgets, info=PRICED) as play:
        session = await play.create()
        assert done(await play.say(session, "go")).reason == "budget"
        assert words in (await asked(play, session)).question
        after = (await play.row(session)).last_seq
        await play.executor.answer(session, "Continue")
        assert done(await play.watch(session, after)).reason == "budget"
        assert len(play.model.requests) == (4 if budgets.round_cost else 3)
        after = (await play.row(session)).last_seq
        await play.executor.answer(session, "Stop")
        assert done(await play.watch(session, after)).finished is False
        assert (await play.row(session)).status == "idle"


async def test_what_a_session_and_a_day_cost_is_limited_over_all_sessions(tmp_path: Path) -> None:
    """One request costs 0.8 * 0.01 + 0.1 * 0.001 + 0.1 * 0.1 = 0.0181."""
    script = [*looks(1, 2), say("Done.", usage=USED), say("Ok.", usage=USED)]
    budgets = Budgets(session_cost=0.03, day_cost=0.05)
    async with stage(tmp_path, script, tools=TOOLS, budgets=budgets, info=PRICED) as play:
        session = await play.create()
        assert done(await play.say(session, "go")).reason == "budget"
        costs = await play.store.costs(session)
        assert costs.session == costs.day
        assert (costs.day.tokens, costs.day.cost) == (2_000, pytest.approx(0.0362))
        assert "This session has cost 0.04" in (await asked(play, session)).question
        after = (await play.row(session)).last_seq
        await play.executor.answer(session, "Continue")
        assert done(await play.watch(session, after)).finished
        other = await play.create()
        assert done(await play.say(other, "go")).reason == "budget"
        question = await asked(play, other)
        assert "All sessions today have cost 0.05" in question.question
        after = (await play.row(other)).last_seq
        await play.executor.answer(other, "Continue")
        assert done(await play.watch(other, after)).finished
        (row, _) = await play.store.usage()
        assert (row.model, row.cost) == ("acme/m", pytest.approx(0.0543))
        assert (row.requests, row.prompt, row.cached, row.completion) == (3, 2700, 300, 300)
        await play.executor.delete(session)
        assert (await play.store.costs(other)).day.cost == pytest.approx(0.0724), (
            "deleted ones count"
        )


REPEATING: dict[str, list[Step]] = {
    "a read": [call("look", path="x")],
    "the same write": [call("put", path="x", content="same")],
    "two in turn": [call("put", path="x", content="same"), call("look", path="x")],
    "date": [call("act", command="date")],
}


@pytest.mark.parametrize("steps", REPEATING.values(), ids=REPEATING)
async def test_the_same_call_again_and_again_is_noted_then_asked_about(
    tmp_path: Path, steps: list[Step]
) -> None:
    script = [*(steps * 12)[: len(steps) * 6]]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create(bypass=True)
        end = done(await play.say(session, "go"))
        while end.reason == "waiting_approval":
            after = (await play.row(session)).last_seq
            await play.executor.decide(session, True)
            end = done(await play.watch(session, after))
        assert end.reason == "budget"
        calls = [c for c in await play.blocks(session, ToolCall) if c.name == calls_of(steps)]
        assert len(calls) == 5
        results = {r.call: r.text for r in await play.blocks(session, ToolResult)}
        noted = ["[Notice] This very call" in results.get(c.id, "") for c in calls]
        assert noted == [False, False, True, True, False]
        assert calls[4].id not in results, "it has not run"
        after = (await play.row(session)).last_seq
        await play.executor.answer(session, "Stop")
        assert done(await play.watch(session, after)).reason == "budget"
        assert len(await play.blocks(session, ToolResult)) == len(
            await play.blocks(session, ToolCall)
        )


def calls_of(steps: list[Step]) -> str:
    first = steps[0]
    assert isinstance(first, Reply)
    return first.calls[0].name


async def test_continue_lets_the_call_run_again(tmp_path: Path) -> None:
    script = [*([call("look", path="x")] * 6), say("Done.")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        assert done(await play.say(session, "go")).reason == "budget"
        after = (await play.row(session)).last_seq
        await play.executor.answer(session, "Continue")
        assert done(await play.watch(session, after)).finished


async def test_tests_run_after_each_change_are_no_repetition(tmp_path: Path) -> None:
    script: list[Step] = []
    for n in range(7):
        script += [call("put", path="x", content=f"{n}\n"), call("act", command="test")]
    async with stage(tmp_path, [*script, say("Done.")], tools=TOOLS) as play:
        session = await play.create(bypass=True)
        end = done(await play.say(session, "go"))
        while end.reason == "waiting_approval":
            after = (await play.row(session)).last_seq
            await play.executor.decide(session, True)
            end = done(await play.watch(session, after))
        assert end.finished
        assert log_of(tmp_path) == ["test"] * 7
        assert await play.blocks(session, AskUser) == []


async def test_a_command_in_the_background_may_be_polled(tmp_path: Path) -> None:
    spending = Spending()
    arguments = {"backgroundId": "b1", "action": "wait"}
    for n in range(9):
        spending.add(
            ToolCall(
                id=f"c{n}", message="m", name="shell_exec", provider="shell", arguments=arguments
            )
        )
    last = ToolCall(id="c8", message="m", name="shell_exec", provider="shell", arguments=arguments)
    assert spending.repeats(last) == 0
    assert spending.stuck([last]) is None


async def test_a_question_that_waits_survives_a_restart(tmp_path: Path) -> None:
    budgets = Budgets(round_tokens=1_500)
    async with stage(tmp_path, looks(1, 2), tools=TOOLS, budgets=budgets) as play:
        session = await play.create()
        await play.say(session, "go")
    async with stage(tmp_path, [say("Done.")], tools=TOOLS, budgets=budgets) as play:
        assert (await asked(play, session)).result is UNSET
        after = (await play.row(session)).last_seq
        await play.executor.answer(session, "Continue")
        assert done(await play.watch(session, after)).finished

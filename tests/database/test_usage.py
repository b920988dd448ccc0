"""Tokens of messages that nobody counted, and what was used."""

import pytest

from shipmate.database.sql_store import SqlStore
from shipmate.database.usage import today
from shipmate.llm.prices import Costs, Spent, Sum, cost_of
from shipmate.protocol import Message, SessionRow, Usage, decode_block

ROW = SessionRow(id="s1", agent="assistant", provider="a/m", project="demo")


async def test_an_older_message_without_tokens_has_an_estimate(any_store: SqlStore) -> None:
    store = any_store
    await store.create_session(ROW)
    old = Message(id="m1", text='Half of it, and "tokens": 5 in it. ' * 10)
    counted = Message(id="m2", text="Counted.", tokens=70)
    nothing = Message(id="m3")
    await store.write("s1", [old, counted, nothing])
    for blocks in (
        await store.history("s1"),
        [decode_block(kept.json) for kept in await store.window("s1")],
        [decode_block(kept.json) for kept in await store.changes("s1", 0)],
    ):
        messages = [b for b in blocks if isinstance(b, Message)]
        assert [m.tokens_source for m in messages] == ["estimate", "api", "api"]
        assert messages[0].tokens == pytest.approx(97, abs=10)
        assert [m.tokens for m in messages[1:]] == [70, 0]


def test_cached_tokens_are_part_of_the_prompt_and_cost_once() -> None:
    usage = Usage(prompt=1_000_000, cached=400_000, completion=500_000)
    assert cost_of({"input": 1.0, "cached": 0.1, "output": 4.0}, usage) == pytest.approx(2.64)
    assert cost_of({"input": 1.0, "output": 4.0}, usage) == pytest.approx(3.0)
    assert cost_of({}, usage) == 0


async def test_what_is_used_is_summed_by_session_and_model(any_store: SqlStore) -> None:
    store = any_store
    await store.create_session(ROW)
    for model in ("a/m", "a/m", "b/n"):
        spent = Spent(model, prompt=10, cached=4, completion=5, cost=0.5)
        await store.write("s1", row={"add_tokens": 15, "usage": spent})
    await store.write("s1", row={"usage": None})
    rows = await store.usage("s1", 1)
    assert [(r.model, r.requests, r.prompt, r.cached, r.completion, r.cost) for r in rows] == [
        ("a/m", 2, 20, 8, 10, 1.0),
        ("b/n", 1, 10, 4, 5, 0.5),
    ]
    assert (await store.costs("s1")).session == Sum(45, 1.5)
    assert (await store.costs("other")) == Costs(day=Sum(45, 1.5), date=today())
    assert (await store.session("s1")).tokens == 45

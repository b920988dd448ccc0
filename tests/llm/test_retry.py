"""Asking again: when, how often, how long after, and what the user is told."""

from collections.abc import AsyncGenerator, Sequence

import pytest

from shipmate.llm.model import (
    ChatMessage,
    ErrorKind,
    ModelError,
    Part,
    Reply,
    Retrying,
    StreamItem,
    ToolSpec,
)
from shipmate.llm.retry import LONGEST_WAIT, RetryingModel
from shipmate.llm.scripted import ScriptedModel, Step, call, say

HELLO = [ChatMessage("user", "hello")]


class Run:
    """A request by way of `RetryingModel`, with a clock that does not wait."""

    def __init__(self, *steps: Step, jitter: float = 0) -> None:
        self.slept: list[float] = []
        self.items: list[StreamItem] = []
        self.script = ScriptedModel(steps)
        self.model = RetryingModel(self.script, sleep=self.sleep, jitter=lambda: jitter)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def follow(self) -> Reply:
        async for item in self.model.stream(HELLO, []):
            self.items.append(item)
        assert isinstance(self.items[-1], Reply)
        return self.items[-1]

    async def fails(self) -> ModelError:
        with pytest.raises(ModelError) as failure:
            await self.follow()
        return failure.value

    @property
    def told(self) -> list[Retrying]:
        return [item for item in self.items if isinstance(item, Retrying)]


def down(kind: ErrorKind = "overloaded", after: float | None = None) -> ModelError:
    return ModelError("down", kind=kind, retry_after=after)


async def test_it_waits_longer_each_time_and_says_so() -> None:
    run = Run(*[down()] * 4, say("Hi"))
    assert (await run.follow()).text == "Hi"
    assert run.slept == [1, 2, 4, 8]
    assert run.told[0] == Retrying(2, 5, 1, "down")
    assert [t.attempt for t in run.told] == [2, 3, 4, 5]


async def test_after_five_tries_it_gives_up() -> None:
    run = Run(*[down()] * 9)
    await run.fails()
    assert len(run.script.requests) == 5


async def test_waits_are_spread() -> None:
    run = Run(down(), down(), say("Hi"), jitter=1)
    await run.follow()
    assert run.slept == [1.25, 2.5]


async def test_it_waits_as_long_as_it_is_asked_to() -> None:
    run = Run(down("rate_limit", 3), down("rate_limit", 0), say("Hi"))
    await run.follow()
    assert run.slept == [3, 0.5]


async def test_a_wait_of_hours_is_cut_and_tried_once() -> None:
    run = Run(*[down("rate_limit", 36_000)] * 3, jitter=1)
    await run.fails()
    assert run.slept == [LONGEST_WAIT]


@pytest.mark.parametrize("kind", ["auth", "quota", "refused", "too_long", "unreachable"])
async def test_what_does_not_pass_is_not_tried_again(kind: ErrorKind) -> None:
    run = Run(down(kind), say("Hi"))
    assert (await run.fails()).kind == kind
    assert run.slept == []


async def test_nothing_is_asked_again_once_text_was_shown() -> None:
    run = Run(ModelError("cut", kind="truncated", partial=Reply("Half an")), say("Whole"))
    assert (await run.fails()).kind == "truncated"
    assert run.items == [Part("Half an")]


async def test_thinking_alone_is_void_and_asked_for_again() -> None:
    cut = ModelError("cut", kind="truncated", partial=Reply(reasoning="Hm"))
    run = Run(cut, say("Whole"))
    assert (await run.follow()).text == "Whole"
    assert len(run.told) == 1


async def test_an_empty_answer_is_asked_for_once_more_without_a_word() -> None:
    run = Run(Reply(), say("Hi"))
    assert (await run.follow()).text == "Hi"
    assert run.items == [Part("Hi"), say("Hi")]


async def test_a_second_empty_answer_is_a_failure() -> None:
    run = Run(Reply(" \n"), Reply(reasoning="Hm"))
    assert "empty answer" in str(await run.fails())
    assert len(run.script.requests) == 2


async def test_an_answer_that_only_calls_is_not_empty() -> None:
    run = Run(call("read_file", path="a"))
    await run.follow()
    assert len(run.script.requests) == 1


async def test_closing_it_closes_the_model_below() -> None:
    closed: list[bool] = []

    async def endless(
        _messages: Sequence[ChatMessage], _tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[StreamItem]:
        try:
            while True:
                yield Part("x")
        finally:
            closed.append(True)

    stream = Run(endless).model.stream(HELLO, [])
    assert await anext(stream) == Part("x")
    await stream.aclose()
    assert closed == [True]

"""The scripted model."""

from collections.abc import AsyncGenerator, Sequence

import pytest

from shipmate.llm.model import ChatMessage, ModelError, Part, Reply, StreamItem, ToolSpec
from shipmate.llm.scripted import ScriptedModel, call, say, together

HELLO = [ChatMessage("user", "hello")]


async def play(model: ScriptedModel) -> list[StreamItem]:
    return [item async for item in model.stream(HELLO, [])]


async def test_text_is_streamed_in_pieces_and_the_reply_comes_last() -> None:
    items = await play(ScriptedModel([say("Hello there", reasoning="hm")], chunk=5))
    assert items[:-1] == [Part(reasoning="hm"), Part("Hello"), Part(" ther"), Part("e")]
    assert items[-1] == say("Hello there", reasoning="hm")


async def test_requests_are_remembered() -> None:
    model = ScriptedModel([say("1"), say("2")])
    await play(model)
    await play(model)
    assert [r.messages[0].text for r in model.requests] == ["hello", "hello"]


async def test_calls_are_made_and_joined() -> None:
    reply = together(say("Both."), call("read_file", path="a"), call("read_file", path="b"))
    assert (reply.text, reply.finish) == ("Both.", "tool_calls")
    assert [(c.name, c.arguments) for c in reply.calls] == [
        ("read_file", {"path": "a"}),
        ("read_file", {"path": "b"}),
    ]


async def test_a_failure_comes_after_what_was_said_before_it() -> None:
    seen: list[StreamItem] = []
    model = ScriptedModel([ModelError("gone", partial=Reply("Hal"))])

    async def follow() -> None:
        async for item in model.stream(HELLO, []):
            seen.append(item)

    with pytest.raises(ModelError, match="gone"):
        await follow()
    assert seen == [Part("Hal")]


async def test_a_step_may_depend_on_what_was_sent() -> None:
    def echo(messages: Sequence[ChatMessage], _tools: Sequence[ToolSpec]) -> Reply:
        return say(messages[-1].text.upper())

    async def later(messages: Sequence[ChatMessage], _tools: Sequence[ToolSpec]) -> Reply:
        return say(messages[-1].text)

    async def freely(
        _messages: Sequence[ChatMessage], _tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[StreamItem]:
        yield Part("free")
        yield Reply("free")

    model = ScriptedModel([echo, later, freely])
    assert (await play(model))[-1] == say("HELLO")
    assert (await play(model))[-1] == say("hello")
    assert await play(model) == [Part("free"), Reply("free")]


async def test_a_script_that_is_over_says_so() -> None:
    with pytest.raises(ModelError, match="no step left for request 1"):
        await play(ScriptedModel([]))

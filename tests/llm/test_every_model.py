"""What the loop relies on, whichever model it is given: the contract of the port `Model`."""

import json
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import Any

import pytest

from shipmate.llm.connections import Connections
from shipmate.llm.demo import DemoModel
from shipmate.llm.endpoint import Endpoint
from shipmate.llm.model import ChatMessage, Model, ModelInfo, Part, Reply, Retrying, ToolSpec
from shipmate.llm.openai import OpenAIModel
from shipmate.llm.rescue import RescueModel
from shipmate.llm.retry import RetryingModel
from shipmate.llm.schema import SchemaModel
from shipmate.llm.scripted import ScriptedModel, call, say, together
from tests.dialects import ANTHROPIC, CHAT, GEMINI, Dialect
from tests.provider import Provider, text_reply

TOOL = ToolSpec(
    "read_file",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
HELLO = [ChatMessage("system", "You are A."), ChatMessage("user", "hello")]


def scripted(provider: Provider, _connections: Connections) -> Model:
    return ScriptedModel([say("Hello there"), together(say("See"), call("read_file", path="a"))])


def asked_in(dialect: Dialect, provider: Provider, connections: Connections) -> Model:
    read = ("read_file", {"path": "a"})
    provider.queue(dialect.text("Hello", " there"), dialect.calls(read, said="See"))
    return dialect.model(ModelInfo("acme/m"), Endpoint("Acme", provider.url), connections)


def openai(provider: Provider, connections: Connections) -> Model:
    return asked_in(CHAT, provider, connections)


def anthropic(provider: Provider, connections: Connections) -> Model:
    return asked_in(ANTHROPIC, provider, connections)


def gemini(provider: Provider, connections: Connections) -> Model:
    return asked_in(GEMINI, provider, connections)


def retrying(provider: Provider, connections: Connections) -> Model:
    return RetryingModel(openai(provider, connections))


def rescue(provider: Provider, connections: Connections) -> Model:
    written = json.dumps({"name": "read_file", "arguments": {"path": "a"}})
    provider.queue(text_reply("Hello", " there"), text_reply("See\n```json\n", written, "\n```"))
    return RescueModel(
        OpenAIModel(ModelInfo("acme/m"), Endpoint("Acme", provider.url), connections)
    )


def schema(provider: Provider, connections: Connections) -> Model:
    steps = [("final_answer", {"text": "Hello there"}), ("read_file", {"path": "a"})]
    provider.queue(*(text_reply(json.dumps({"name": n, "arguments": a})) for n, a in steps))

    def constrained(fields: Any) -> Model:
        end = Endpoint("Acme", provider.url, extra=fields)
        return OpenAIModel(ModelInfo("acme/m"), end, connections)

    return SchemaModel(constrained)


def demo(_provider: Provider, _connections: Connections) -> Model:
    return DemoModel(pause=0)


MODELS: list[Callable[[Provider, Connections], Model]] = [
    scripted, openai, anthropic, gemini, retrying, rescue, schema, demo
]  # fmt: skip
SAYS_HELLO = [model for model in MODELS if model is not demo]


@pytest.fixture
async def connections() -> AsyncGenerator[Connections]:
    connections = Connections()
    yield connections
    await connections.close()


@pytest.fixture
def provider() -> Iterator[Provider]:
    provider = Provider()
    yield provider
    provider.close()


@pytest.fixture(params=MODELS, ids=lambda model: model.__name__)
def model(request: Any, provider: Provider, connections: Connections) -> Model:
    return request.param(provider, connections)


async def follow(model: Model) -> tuple[list[Part | Retrying], Reply]:
    """One request; whatever the model, one reply comes, and it comes last."""
    shown: list[Part | Retrying] = []
    replies: list[Reply] = []
    async with aclosing(model.stream(HELLO, [TOOL])) as items:
        async for item in items:
            assert not replies, "nothing comes after the reply"
            if isinstance(item, Reply):
                replies.append(item)
            else:
                shown.append(item)
    (reply,) = replies
    return shown, reply


async def test_what_was_shown_is_what_was_said(model: Model) -> None:
    for _ in range(2):
        shown, reply = await follow(model)
        text = "".join(item.text for item in shown if isinstance(item, Part))
        assert reply.text.startswith(text.rstrip()) or text.startswith(reply.text)
        assert reply.text or reply.calls
        assert all(isinstance(item, Retrying) or item.text or item.reasoning for item in shown)


@pytest.mark.parametrize("make", SAYS_HELLO, ids=lambda make: make.__name__)
async def test_texts_and_calls_are_the_same_from_every_model(
    make: Callable[[Provider, Connections], Model], provider: Provider, connections: Connections
) -> None:
    model = make(provider, connections)
    _, hello = await follow(model)
    assert (hello.text, hello.calls) == ("Hello there", ())
    _, reply = await follow(model)
    assert [(c.name, c.arguments) for c in reply.calls] == [("read_file", {"path": "a"})]


async def test_a_stream_may_be_closed_after_its_first_part(model: Model) -> None:
    stream = model.stream(HELLO, [TOOL])
    await anext(stream)
    await stream.aclose()
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_a_model_says_what_it_is(model: Model) -> None:
    provider, _, name = model.info.id.partition("/")
    assert provider
    assert name
    assert model.info.context_length > 0

"""What a provider refuses of a request is put aside, told, and remembered for the model."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from shipmate.database.sqlite import SqliteStore
from shipmate.llm.model import ChatMessage, ModelError, Reply, ToolSpec
from shipmate.llm.providers import Providers
from shipmate.llm.refusals import most_tools, named_field, takes_no_tools
from shipmate.llm.settings import ModelSettings, ProviderSettings
from shipmate.llm.windows import Windows
from shipmate.safety.secrets import Secrets
from tests.provider import Provider, error_reply

TOOLS = [ToolSpec(f"t{n}", "Does it.", {"type": "object", "properties": {}}) for n in range(5)]
EFFORT = "Unsupported parameter: 'reasoning_effort' is not supported with this model."
RENAME = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead."
)
MANY = (
    "Invalid 'tools': array too long. Expected an array with maximum length 3, but got an array "
    "with length 5 instead."
)
NONE = "registry.ollama.ai/library/gemma:2b does not support tools"


@pytest.fixture
def provider() -> Any:
    served = Provider()
    yield served
    served.close()
    assert served.broken == []


@asynccontextmanager
async def house(
    folder: Path, provider: Provider, windows: Windows | None = None, **fields: Any
) -> AsyncGenerator[Providers]:
    settings = {"p": ProviderSettings(base_url=provider.url, **fields)}
    made = Providers(
        lambda: settings, Secrets(folder / "s", {}), folder / "models", windows=windows
    )
    try:
        yield made
    finally:
        await made.close()


async def asked(house: Providers) -> Reply:
    stream = house.model("p/m").stream([ChatMessage("user", "hi")], TOOLS)
    reply = [item async for item in stream][-1]
    assert isinstance(reply, Reply)
    return reply


def sent(provider: Provider) -> Mapping[str, Any]:
    return provider.seen[-1].body


async def test_a_field_is_left_out_from_then_on_also_after_a_restart(
    tmp_path: Path, provider: Provider
) -> None:
    store = await SqliteStore.open(tmp_path / "db")
    effort = {"reasoning_effort": "low"}
    provider.queue(error_reply(400, EFFORT))
    for told in (True, False):
        windows = Windows(await store.learned(), store.keep_learned)
        async with house(tmp_path, provider, windows, **effort) as one:
            reply = await asked(one)
            assert reply.text == "ok"
            assert any("p/m does not take reasoning_effort" in n for n in reply.notes) == told
            assert "reasoning_effort" not in sent(provider)
    assert len(provider.seen) == 3
    windows = Windows(await store.learned(), store.keep_learned)
    async with house(tmp_path, provider, windows, reasoning_effort="high") as one:
        await asked(one)
        assert sent(provider)["reasoning_effort"] == "high", "what is set anew is tried"
    await store.close()


async def test_several_fields_go_one_by_one_and_a_new_name_is_used(
    tmp_path: Path, provider: Provider
) -> None:
    provider.queue(error_reply(400, EFFORT), error_reply(400, RENAME))
    limited = (ModelSettings(id="m", max_output=500),)
    async with house(tmp_path, provider, reasoning_effort="low", models=limited) as one:
        reply = await asked(one)
        assert len(reply.notes) == 2
        assert "max_completion_tokens is sent in its place" in reply.notes[1]
    assert sent(provider)["max_completion_tokens"] == 500
    assert {"max_tokens", "reasoning_effort"}.isdisjoint(sent(provider))


async def test_too_many_tools_are_cut(tmp_path: Path, provider: Provider) -> None:
    provider.queue(error_reply(400, MANY))
    async with house(tmp_path, provider) as one:
        reply = await asked(one)
        assert "the last 2 of 5 are left out" in reply.notes[0]
        assert (await asked(one)).notes == ()
    assert [tool["function"]["name"] for tool in sent(provider)["tools"]] == ["t0", "t1", "t2"]


async def test_a_local_model_that_takes_no_tools_is_asked_by_schema(
    tmp_path: Path, provider: Provider
) -> None:
    provider.queue(error_reply(400, NONE))
    async with house(tmp_path, provider) as one:
        for _ in range(2):
            await asked(one)
            assert "tools" not in sent(provider)
            assert sent(provider)["response_format"]["type"] == "json_schema"
    assert len(provider.seen) == 3


async def test_what_is_not_about_a_field_is_an_error(tmp_path: Path, provider: Provider) -> None:
    provider.queue(error_reply(400, "Unsupported parameter: 'messages[0].name'"))
    async with house(tmp_path, provider, reasoning_effort="low") as one:
        with pytest.raises(ModelError, match="Unsupported parameter"):
            await asked(one)
    assert len(provider.seen) == 1


def refusal(words: str) -> ModelError:
    return ModelError(words, kind="refused")


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (EFFORT, "reasoning_effort"),
        (RENAME, "max_tokens"),
        ('[{"type":"extra_forbidden","loc":["body","thinking"],"msg":"Extra inputs"}]', "thinking"),
        ("Unrecognized request argument supplied: enable_thinking", "enable_thinking"),
        ('Unknown name "response_format": Cannot find field.', "response_format"),
        ("Missing `reasoning_content` beside thinking", ""),
        ("Invalid role", ""),
    ],
)
def test_the_field_is_read_from_the_refusal(words: str, field: str) -> None:
    known = ("reasoning_effort", "max_tokens", "thinking", "enable_thinking", "response_format")
    assert named_field(refusal(words), known) == field


def test_how_many_tools_are_taken_is_read_from_the_refusal() -> None:
    assert most_tools(refusal(MANY), 5) == 3
    assert most_tools(refusal("Too many functions: at most 128 are allowed, got 150"), 150) == 128
    assert most_tools(refusal("tools: exceeds the limit of 64"), 5) == 0
    assert takes_no_tools(refusal(NONE))
    assert takes_no_tools(refusal("No endpoints found that support tool use"))
    assert not takes_no_tools(refusal("tools.0: invalid schema"))

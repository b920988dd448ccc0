"""The selector's list, a model by its name, the test button."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from shipmate.errors import ConfigError, NotFoundError
from shipmate.llm.demo import DemoModel
from shipmate.llm.dialects import compact, endpoint_of, thinking_fields
from shipmate.llm.endpoint import PATIENT
from shipmate.llm.model import ChatMessage, Reply, ToolSpec
from shipmate.llm.providers import Providers
from shipmate.llm.rescue import RescueModel
from shipmate.llm.retry import RetryingModel
from shipmate.llm.schema import SchemaModel
from shipmate.llm.settings import ModelSettings, Price, ProviderSettings
from shipmate.safety.secrets import SecretRef, Secrets
from tests.llm.servers import Answer, serving

KEY = SecretRef(env="K")
CHAT = "/v1/chat/completions"


def providers(folder: Path, settings: Mapping[str, ProviderSettings]) -> Providers:
    return Providers(lambda: settings, Secrets(folder / "s", {"K": "sk-canary"}), folder / "models")


def listed(*models: Mapping[str, object]) -> Answer:
    return Answer(json.dumps({"data": models}).encode())


def said(text: str) -> Answer:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    return Answer(json.dumps({"choices": [choice]}).encode())


def test_without_settings_there_are_the_offline_model_and_the_demo(tmp_path: Path) -> None:
    house = providers(tmp_path, {})
    rows = house.models()
    assert [(r.id, r.available) for r in rows] == [
        ("offline/qwen2.5-coder-1.5b", False),
        ("scripted/demo", True),
    ]
    assert rows[0].download_size == 1_092_845_809
    assert "1092 MB to download" in rows[0].title
    assert rows[0].reason
    assert house.default() == "scripted/demo"
    assert isinstance(house.model("scripted/demo"), DemoModel)


def test_the_configuration_wins_over_the_table_and_the_default_is_marked(tmp_path: Path) -> None:
    models = (
        ModelSettings(id="gpt-4o", context_length=5000, vision=False, price=Price(input=2)),
        ModelSettings(id="gpt-4.1", title="Four"),
        ModelSettings(id="never/heard-of"),
    )
    house = providers(tmp_path, {"work": ProviderSettings(api_key=KEY, models=models)})
    rows = {row.id: row for row in house.models()}
    mine = rows["work/gpt-4o"]
    assert (mine.context_length, mine.context_source, mine.vision) == (5000, "config", False)
    assert mine.price == {"input": 2, "cached": 2, "output": 0}
    four = rows["work/gpt-4.1"]
    assert (four.title, four.context_length, four.context_source) == ("Four", 1_047_576, "table")
    unknown = rows["work/never/heard-of"]
    assert (unknown.context_length, unknown.context_source) == (128_000, "default")
    assert house.default() == "work/gpt-4o"
    assert house.model("work/never/heard-of").info.id == "work/never/heard-of"


def test_a_missing_key_is_the_reason_in_the_list_and_an_error_when_used(tmp_path: Path) -> None:
    settings = {"deepseek": ProviderSettings(type="deepseek", api_key=SecretRef(env="GONE"))}
    house = providers(tmp_path, settings)
    rows = [row for row in house.models() if row.provider == "deepseek"]
    assert rows
    assert all("env:GONE is not there" in row.reason for row in rows)
    assert house.default() == "scripted/demo"
    with pytest.raises(ConfigError, match="GONE"):
        house.model("deepseek/deepseek-flash")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("demo", "provider/model"),
        ("scritped/demo", "did you mean scripted"),
        ("scripted/other", "there is scripted/demo"),
        ("offline/nothing", "no offline model"),
        ("work/gpt-4p", "did you mean gpt-4o"),
    ],
)
def test_a_name_that_is_not_there_is_told_with_what_is(
    tmp_path: Path, name: str, said: str
) -> None:
    settings = {"work": ProviderSettings(models=(ModelSettings(id="gpt-4o"),))}
    with pytest.raises(NotFoundError, match=said):
        providers(tmp_path, settings).model(name)


def test_a_model_stays_the_same_object_until_its_settings_change(tmp_path: Path) -> None:
    settings = {"work": ProviderSettings(models=(ModelSettings(id="m"),))}
    house = providers(tmp_path, settings)
    first = house.model("work/m")
    assert house.model("work/m") is first
    settings["work"] = ProviderSettings(title="Other", models=(ModelSettings(id="m"),))
    assert house.model("work/m") is not first


def test_tools_are_called_in_the_way_that_fits_the_server(tmp_path: Path) -> None:
    models = tuple(
        ModelSettings(id=f"{mode}", tool_mode=mode)
        for mode in ("native", "native+rescue", "schema")
    )
    settings = {
        "far": ProviderSettings(base_url="https://api.example.com/v1"),
        "near": ProviderSettings(base_url="http://localhost:1/v1"),
        "ollama": ProviderSettings(type="ollama"),
        "set": ProviderSettings(base_url="https://api.example.com/v1", models=models),
    }
    house = providers(tmp_path, settings)
    kinds = {
        name: type(house.model(name))
        for name in ("far/m", "near/m", "ollama/m", "set/native", "set/native+rescue", "set/schema")
    }
    assert list(kinds.values()) == [
        *(RetryingModel, RescueModel, RescueModel),
        *(RetryingModel, RescueModel, SchemaModel),
    ]


def test_a_model_on_this_machine_is_given_time_to_read() -> None:
    far = ProviderSettings(base_url="https://api.example.com/v1")
    near = ProviderSettings(type="ollama")
    assert endpoint_of("it", "u", near, "").limits == PATIENT
    assert endpoint_of("it", "u", far, "").limits.first_byte < PATIENT.first_byte


async def test_a_server_is_asked_which_models_it_has(tmp_path: Path) -> None:
    models = listed({"id": "qwen3:8b", "context_length": 9000}, {"id": "llama3.1:8b"})
    async with serving({"/v1/models": models}) as served:
        settings = {
            "ollama": ProviderSettings(type="ollama", base_url=f"{served.url}/v1"),
            "jan": ProviderSettings(type="jan", base_url="http://127.0.0.1:9/v1"),
        }
        house = providers(tmp_path, settings)
        await house.refresh()
        rows = {row.id: row for row in house.models()}
        assert rows["ollama/qwen3:8b"].context_source == "server"
        assert rows["ollama/llama3.1:8b"].context_length == 131_072
        assert house.model("ollama/qwen3:8b").info.context_length == 9000
        assert "is the server running" in rows["jan/"].reason
        assert not rows["jan/"].available
        await house.close()


async def test_a_request_reaches_the_server_with_key_and_fields(tmp_path: Path) -> None:
    async with serving({CHAT: said("Hello.")}) as served:
        model = ModelSettings(id="m", max_output=77)
        settings = ProviderSettings(
            type="deepseek",
            base_url=f"{served.url}/v1",
            api_key=KEY,
            thinking_enabled=True,
            models=(model,),
        )
        house = providers(tmp_path, {"ds": settings})
        tool = ToolSpec("t", "", {"type": "object", "properties": {}})
        stream = house.model("ds/m").stream([ChatMessage("user", "hi")], [tool])
        reply = [item async for item in stream][-1]
        await house.close()
        assert isinstance(reply, Reply)
        assert reply.text == "Hello."
        assert "Bearer sk-canary" in served.heads[0]
        body = json.loads(served.bodies[0])
    assert body["model"] == "m"
    assert body["max_tokens"] == 77
    assert (body["thinking"], body["reasoning_effort"]) == ({"type": "enabled"}, "high")


def test_a_compact_listing_keeps_what_a_call_needs() -> None:
    schema = {
        "type": "object",
        "description": "All of it.",
        "properties": {
            "description": {"type": "string", "description": "Words."},
            "items": {"type": "array", "items": {"anyOf": [{"enum": ["a"], "description": "A"}]}},
        },
        "required": ["description"],
    }
    small = compact(ToolSpec("t", "Does it. And more.\nMuch more.", schema))
    assert small.description == "Does it."
    assert small.parameters == {
        "type": "object",
        "properties": {
            "description": {"type": "string"},
            "items": {"type": "array", "items": {"anyOf": [{"enum": ["a"]}]}},
        },
        "required": ["description"],
    }


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        (ProviderSettings(type="deepseek"), {}),
        (
            ProviderSettings(type="deepseek", reasoning_effort="max"),
            {"thinking": {"type": "enabled"}, "reasoning_effort": "max"},
        ),
        (
            ProviderSettings(type="deepseek", thinking_enabled=True, reasoning_effort="off"),
            {"thinking": {"type": "disabled"}},
        ),
        (ProviderSettings(type="openai", reasoning_effort="low"), {"reasoning_effort": "low"}),
        (ProviderSettings(type="openai", thinking_enabled=False), {"reasoning_effort": "none"}),
        (ProviderSettings(type="dashscope", thinking_enabled=False), {"enable_thinking": False}),
        (
            ProviderSettings(type="zhipu", thinking_enabled=False),
            {"thinking": {"type": "disabled"}},
        ),
        (ProviderSettings(type="ollama", thinking_enabled=True), {}),
    ],
)
def test_thinking_is_spelled_as_the_provider_spells_it(
    settings: ProviderSettings, fields: Mapping[str, object]
) -> None:
    assert thinking_fields(settings) == fields


async def test_the_test_button_tells_what_is_there_or_wrong(tmp_path: Path) -> None:
    house = providers(tmp_path, {})
    async with serving({"/v1/models": listed({"id": "m"}), "/bad/models": Answer(b"", 401)}) as at:
        good = await house.test(ProviderSettings(base_url=f"{at.url}/v1"), "sk-pasted")
        assert (good.ok, good.models) == (True, ("m",))
        assert "Bearer sk-pasted" in at.heads[0]
        bad = await house.test(ProviderSettings(base_url=f"{at.url}/bad", api_key=KEY))
        assert not bad.ok
        assert "refuses the key" in bad.detail
    assert not (await house.test(ProviderSettings(type="jan", base_url="http://127.0.0.1:9"))).ok
    assert not (await house.test(ProviderSettings(api_key=SecretRef(env="GONE")))).ok
    assert (await house.test(ProviderSettings(type="scripted"))).ok


async def test_a_key_is_checked_where_the_list_of_models_is_open_to_all(tmp_path: Path) -> None:
    async with serving({"/models": listed({"id": "m"}), "/key": Answer(b"{}", 401)}) as at:
        settings = ProviderSettings(type="openrouter", base_url=at.url)
        tested = await providers(tmp_path, {}).test(settings, "sk-wrong")
    assert not tested.ok
    assert "refuses the key" in tested.detail

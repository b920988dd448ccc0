"""Anthropic and Gemini as they are set up: their lists, keys, fields, prices."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from shipmate.llm.anthropic.thinking import fitted, output_of, thinking_of
from shipmate.llm.dialects import thinking_fields
from shipmate.llm.listing import base_url_of
from shipmate.llm.model import ChatMessage, ModelError, Reply, ToolSpec
from shipmate.llm.prices import cost_of
from shipmate.llm.providers import Providers
from shipmate.llm.settings import ModelSettings, Price, ProviderSettings
from shipmate.protocol import Usage
from shipmate.safety.secrets import SecretRef, Secrets
from tests.anthropic import Anthropic
from tests.dialects import ANTHROPIC, GEMINI, Dialect
from tests.gemini import Gemini
from tests.llm.servers import Answer, serving

KEY = SecretRef(env="K")
LISTS = {
    "anthropic": ("/v1/models?limit=1000", Anthropic, "x-api-key: sk-canary", 200_000),
    "gemini": ("/v1/models?pageSize=1000", Gemini, "x-goog-api-key: sk-canary", 1_048_576),
}


def house(folder: Path, **settings: ProviderSettings) -> Providers:
    return Providers(lambda: settings, Secrets(folder / "s", {"K": "sk-canary"}), folder / "models")


@pytest.mark.parametrize("kind", LISTS)
async def test_its_models_are_listed_with_their_windows(tmp_path: Path, kind: str) -> None:
    path, sea, header, window = LISTS[kind]
    fake = sea()
    fake.close()
    async with serving({path: Answer(json.dumps(fake.models).encode())}) as served:
        settings = ProviderSettings(type=kind, base_url=f"{served.url}/v1", api_key=KEY)
        providers = house(tmp_path, it=settings)
        tested = await providers.test(settings)
        assert (tested.ok, tested.models) == (True, ("m",))
        assert header in served.heads[0]
        await providers.refresh()
        (row,) = [row for row in providers.models() if row.provider == "it"]
        assert (row.id, row.title, row.context_length) == ("it/m", "M", window)
        assert row.context_source == "server"


@pytest.mark.parametrize("kind", LISTS)
async def test_a_wrong_key_is_told(tmp_path: Path, kind: str) -> None:
    path, *_ = LISTS[kind]
    async with serving({path: Answer(b"{}", 401)}) as served:
        settings = ProviderSettings(type=kind, base_url=f"{served.url}/v1", api_key=KEY)
        tested = await house(tmp_path).test(settings)
    assert not tested.ok
    assert "refuses the key" in tested.detail


def test_an_address_may_be_named_as_it_is_elsewhere() -> None:
    def address(kind: str, url: str) -> str:
        return base_url_of(ProviderSettings(type=kind, base_url=url))

    assert address("anthropic", "https://a.test") == "https://a.test/v1"
    assert address("anthropic", "https://a.test/anthropic/") == "https://a.test/anthropic/v1"
    assert address("anthropic", "https://a.test/v1") == "https://a.test/v1"
    assert address("gemini", "https://g.test/v1beta/openai") == "https://g.test/v1beta"


FIELDS: list[tuple[str, str, bool | None, Any, Mapping[str, Any]]] = [
    ("anthropic", "claude-opus-4-1", None, None, {}),
    ("anthropic", "claude-opus-4-1", True, None,
     {"thinking": {"type": "enabled", "budget_tokens": 16_384}}),
    ("anthropic", "claude-opus-4-1", False, None, {}),
    ("anthropic", "claude-opus-4-7", True, "max",
     {"thinking": {"type": "adaptive", "display": "summarized"},
      "output_config": {"effort": "max"}}),
    ("anthropic", "claude-opus-4-7", None, "off", {"thinking": {"type": "disabled"}}),
    ("anthropic", "claude-sonnet-5-5", None, None,
     {"thinking": {"type": "adaptive", "display": "summarized"}}),
    ("anthropic", "claude-sonnet-5-5", False, None, {"thinking": {"type": "between_tools"}}),
    ("anthropic", "claude-opus-5-5", None, "off", {"output_config": {"effort": "low"}}),
    ("anthropic", "somebody-elses", True, "high", {}),
    ("gemini", "gemini-3.8-flash", None, "max",
     {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "high"}}),
    ("gemini", "gemini-3.8-flash", False, None,
     {"thinkingConfig": {"includeThoughts": False, "thinkingLevel": "minimal"}}),
    ("gemini", "gemini-2.5-pro", None, "off",
     {"thinkingConfig": {"includeThoughts": False, "thinkingBudget": 128}}),
    ("gemini", "gemini-2.0-flash", True, "high", {}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "model", "enabled", "effort", "fields"), FIELDS)
def test_thinking_is_set_as_each_generation_takes_it(
    kind: str, model: str, enabled: bool | None, effort: Any, fields: Mapping[str, Any]
) -> None:
    settings = ProviderSettings(type=kind, thinking_enabled=enabled, reasoning_effort=effort)
    assert thinking_fields(settings, model) == fields


def test_a_budget_fits_into_the_reply() -> None:
    asked = thinking_of("claude-opus-4-1", enabled=True, effort="max")["thinking"]
    assert fitted(asked, 64_000)["budget_tokens"] == 32_768
    assert fitted(asked, 4_096)["budget_tokens"] == 2_048
    assert fitted(asked, 1_000) is None
    assert output_of("claude-3-haiku-20240307") == 4_096


async def asked(tmp_path: Path, url: str, speak: Dialect, **model: Any) -> Reply:
    settings = ProviderSettings(
        type=speak.name, base_url=url, api_key=KEY, models=(ModelSettings(id="m", **model),)
    )
    providers = house(tmp_path, it=settings)
    tool = ToolSpec("1st_tool", "", {"type": "object", "properties": {}, "anyOf": [{}]})
    try:
        items = providers.model("it/m").stream([ChatMessage("user", "hi")], [tool])
        *_, reply = [item async for item in items]
    finally:
        await providers.close()
    assert isinstance(reply, Reply)
    return reply


@pytest.mark.parametrize("speak", [ANTHROPIC, GEMINI], ids=["anthropic", "gemini"])
async def test_a_call_keeps_the_name_of_its_tool(tmp_path: Path, speak: Dialect) -> None:
    sea = speak.server()
    try:
        sent = "1st_tool" if speak is ANTHROPIC else "t_1st_tool"
        sea.queue(speak.calls((sent, {})))
        reply = await asked(tmp_path, sea.url, speak)
        assert [call.name for call in reply.calls] == ["1st_tool"]
        assert speak.tools(sea.seen[0].body) == [sent]
        assert sea.broken == []
    finally:
        sea.close()


async def test_a_reply_too_long_is_asked_for_shorter_and_told(tmp_path: Path) -> None:
    sea = Anthropic()
    try:
        reply = await asked(tmp_path, sea.url, ANTHROPIC, max_output=100_000)
        assert [seen.body["max_tokens"] for seen in sea.seen] == [100_000, 64_000]
        assert "64,000" in reply.notes[0]
    finally:
        sea.close()


async def test_a_model_that_takes_no_such_field_is_asked_without(tmp_path: Path) -> None:
    sea = Anthropic()
    try:
        sea.queue(ANTHROPIC.refusal(400, "thinking: Extra inputs are not permitted"))
        settings = ProviderSettings(
            type="anthropic",
            base_url=sea.url,
            thinking_enabled=True,
            models=(ModelSettings(id="claude-sonnet-5-5"),),
        )
        providers = house(tmp_path, it=settings)
        items = providers.model("it/claude-sonnet-5-5").stream([ChatMessage("user", "hi")], [])
        *_, reply = [item async for item in items]
        await providers.close()
        assert isinstance(reply, Reply)
        assert "thinking" in reply.notes[0]
        assert ["thinking" in seen.body for seen in sea.seen] == [True, False]
    finally:
        sea.close()


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Your credit balance is too low to access the Anthropic API.", "quota"),
        ("API key not valid. Please pass a valid API key.", "auth"),
        ("input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000", "too_long"),
    ],
)
async def test_what_is_said_with_a_status_of_400_is_understood(
    tmp_path: Path, words: str, kind: str
) -> None:
    sea = Anthropic()
    sea.queue(*[ANTHROPIC.refusal(400, words)] * 2)
    try:
        with pytest.raises(ModelError) as failure:
            await asked(tmp_path, sea.url, GEMINI if kind == "auth" else ANTHROPIC)
        assert failure.value.kind == kind
    finally:
        sea.close()


def test_prices_are_known_at_their_own_address_only(tmp_path: Path) -> None:
    def price(**options: Any) -> Mapping[str, float]:
        options.setdefault("models", (ModelSettings(id="claude-sonnet-5-5"),))
        settings = ProviderSettings(type="anthropic", **options)
        return house(tmp_path, it=settings).model("it/claude-sonnet-5-5").info.price

    known = price()
    assert known == {"input": 2, "cached": 0.1, "cache_write": 2.5, "output": 10}
    assert price(base_url="https://other.test") == {}
    mine = (ModelSettings(id="claude-sonnet-5-5", price=Price(input=1)),)
    assert price(models=mine)["input"] == 1
    usage = Usage(prompt=1_000_000, cached=500_000, cache_write=400_000, completion=0)
    assert cost_of(known, usage) == pytest.approx(0.1 * 2 + 0.5 * 0.1 + 0.4 * 2.5)

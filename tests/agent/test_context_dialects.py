"""What is sent in the dialects of Anthropic and Gemini, from what a session holds."""

import json

import pytest

from shipmate.llm.anthropic.thinking import thinking_of
from shipmate.llm.anthropic.wire import MessagesWire
from shipmate.llm.endpoint import Endpoint
from shipmate.llm.gemini.wire import GeminiWire
from shipmate.llm.model import ModelInfo, ToolSpec
from tests import anthropic, gemini
from tests.agent.test_context import CASES, of_case

LOOK = ToolSpec("look", "Look.", {"type": "object", "properties": {}, "anyOf": [{}]})


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("model", ["claude-opus-4-1", "claude-sonnet-5-5"])
def test_no_reported_history_makes_a_request_that_anthropic_refuses(name: str, model: str) -> None:
    sees = CASES[name]["input"]["model_flags"].get("vision", True)
    info = ModelInfo(f"anthropic/{model}", vision=sees)
    thinking = thinking_of(model, enabled=True, effort="high")
    wire = MessagesWire(info, Endpoint("Anthropic", "", extra={**thinking, "max_tokens": 32_000}))
    assert list(anthropic.broken(json.loads(wire.body(of_case(name), [LOOK], ())))) == []


@pytest.mark.parametrize("name", CASES)
def test_no_reported_history_makes_a_request_that_gemini_refuses(name: str) -> None:
    wire = GeminiWire(ModelInfo("gemini/gemini-3.8-flash"), Endpoint("Gemini", ""))
    assert list(gemini.broken(json.loads(wire.body(of_case(name), [LOOK], ())))) == []

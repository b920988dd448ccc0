"""The bytes of a request."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from shipmate.llm.encoding import RequestEncoder
from shipmate.llm.invariants import check_request
from shipmate.llm.model import CallPart, ChatMessage, Image, ModelError, ModelInfo, ToolSpec

INFO = ModelInfo("acme/large/2")
SYSTEM = ChatMessage("system", "You are A.")
PNG = Image("image/png", b"\x89PNG\r\n", "cat.png")
TOOL = ToolSpec("read_file", "Read.", {"type": "object", "properties": {}})


def turn(number: int, reasoning: str = "", model: str = "acme/large/2") -> list[ChatMessage]:
    """A call and its result."""
    part = CallPart(f"c{number}", "read_file", '{"path":"x"}')
    said = ChatMessage("assistant", reasoning=reasoning, calls=(part,), model=model)
    return [said, ChatMessage("tool", "text", call=part.id)]


def body(
    encoder: RequestEncoder, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec] = ()
) -> dict[str, Any]:
    return json.loads(encoder.encode(messages, tools))


def test_a_request_has_what_is_needed_and_nothing_more() -> None:
    encoder = RequestEncoder(INFO, extra={"reasoning_effort": "high"})
    made = body(encoder, [SYSTEM, ChatMessage("user", "hi")])
    assert made == {
        "model": "large/2",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "You are A."},
            {"role": "user", "content": "hi"},
        ],
        "reasoning_effort": "high",
    }


def test_calls_results_and_tools_are_in_the_providers_form() -> None:
    messages = [SYSTEM, ChatMessage("user", "go"), *turn(1)]
    made = body(RequestEncoder(INFO), messages, [TOOL])
    assert made["messages"][2]["content"] == "", "content is never null"
    assert made["messages"][2]["tool_calls"][0]["function"]["arguments"] == '{"path":"x"}'
    assert made["messages"][3] == {"role": "tool", "content": "text", "tool_call_id": "c1"}
    assert made["tools"][0]["function"]["name"] == "read_file"
    assert "reasoning_content" not in made["messages"][2]
    assert check_request(made) == []


def test_the_prefix_is_the_same_to_the_byte_step_after_step() -> None:
    encoder = RequestEncoder(INFO, replay_reasoning="calls")
    messages = [SYSTEM, ChatMessage("user", "go")]
    before = encoder.encode(messages, ())
    for number in range(20):
        messages += turn(number, "because")
        after = encoder.encode(messages, ())
        assert after.startswith(before.removesuffix(b"]}"))
        before = after
    assert RequestEncoder(INFO, replay_reasoning="calls").encode(messages, ()) == before


def test_a_step_encodes_and_checks_only_what_is_new() -> None:
    encoder = RequestEncoder(INFO)
    messages = [ChatMessage("system", "s"), ChatMessage("user", "go")]
    for number in range(50):
        messages += turn(number)
        encoder.encode(messages, ())
        for message in messages:
            key = next(iter(message.encoded))
            message.encoded[key] = b"never looked at again"
    assert b"never looked" not in encoder.encode([*messages, ChatMessage("user", "more")], ())


def test_reasoning_goes_back_from_the_first_call_on() -> None:
    encoder = RequestEncoder(INFO, replay_reasoning="calls")
    plain = ChatMessage("assistant", "Hello", reasoning="greet", model="acme/large/2")
    later = ChatMessage("assistant", "Done", reasoning="so", model="acme/other")
    user = ChatMessage("user", "go")
    foreign = turn(2, "secret", "other/model")
    sent = body(encoder, [SYSTEM, user, plain, user, *turn(1, "why"), later, user, *foreign])
    given = [m.get("reasoning_content") for m in sent["messages"] if m["role"] == "assistant"]
    assert given == [None, "why", "so", ""]
    assert check_request(sent, deepseek_thinking=True) == []


def test_pictures_go_to_models_that_see_and_are_named_to_the_others() -> None:
    message = ChatMessage("user", "look", images=(PNG,))
    seeing = RequestEncoder(ModelInfo("acme/eye", vision=True))
    content = body(seeing, [message])["messages"][0]["content"]
    assert content[0] == {"type": "text", "text": "look"}
    assert content[1]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
    blind = body(RequestEncoder(INFO), [message])
    assert blind["messages"][0]["content"].startswith("look\n[Left out")
    assert "cat.png" in blind["messages"][0]["content"]
    assert check_request(blind, vision=False) == []


def test_what_can_be_repaired_is() -> None:
    broken = [ChatMessage("user", "a\ud800"), *turn(1)]
    broken[2].text = ""
    made = body(RequestEncoder(INFO), broken)
    assert check_request(made) == []
    assert made["messages"][0]["content"] == "a\ufffd"


def test_a_history_that_was_changed_is_encoded_anew() -> None:
    encoder = RequestEncoder(INFO)
    user = ChatMessage("user", "go")
    encoder.encode([SYSTEM, user, *turn(1)], ())
    made = body(encoder, [SYSTEM, user, ChatMessage("user", "instead"), *turn(1)])
    assert [m["role"] for m in made["messages"]] == ["system", "user", "user", "assistant", "tool"]


BROKEN: list[tuple[str, list[ChatMessage]]] = [
    ("no messages", []),
    ("results are missing at the end for c1", [SYSTEM, turn(1)[0]]),
    ("is a result of c1, which is not open", [SYSTEM, turn(1)[1]]),
    ("a second time", [SYSTEM, *turn(1), *turn(1)]),
    ("last message is the assistant's", [SYSTEM, ChatMessage("assistant", "hi")]),
    ("a system message and not the first", [SYSTEM, SYSTEM, ChatMessage("user", "hi")]),
]


@pytest.mark.parametrize(("rule", "messages"), BROKEN)
def test_a_request_that_breaks_a_rule_is_not_sent(rule: str, messages: list[ChatMessage]) -> None:
    encoder = RequestEncoder(INFO)
    for _ in range(2):
        with pytest.raises(ModelError, match=rule) as failure:
            encoder.encode(messages, ())
        assert failure.value.kind == "refused"


def test_a_broken_rule_is_found_in_what_is_new_too() -> None:
    encoder = RequestEncoder(INFO)
    messages = [SYSTEM, ChatMessage("user", "go"), *turn(1)]
    encoder.encode(messages, ())
    with pytest.raises(ModelError, match="a second time"):
        encoder.encode([*messages, *turn(1)], ())
    encoder.encode([*messages, *turn(2)], ())


@pytest.mark.parametrize(
    "tools", [[TOOL, TOOL], [ToolSpec("read file", "", TOOL.parameters)], [ToolSpec("a", "", {})]]
)
def test_tools_that_providers_refuse_are_not_sent(tools: list[ToolSpec]) -> None:
    with pytest.raises(ModelError, match="not sent"):
        RequestEncoder(INFO).encode([ChatMessage("user", "hi")], tools)

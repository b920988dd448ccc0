"""The rules of a request: each has a request that breaks it and nothing else."""

import copy
from typing import Any

import pytest

from shipmate.llm.invariants import check_request

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "read_file", "parameters": {"type": "object", "properties": {}}},
}
CALL = {"id": "c1", "function": {"name": "read_file", "arguments": "{}"}}
GOOD: dict[str, Any] = {
    "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "", "reasoning_content": "", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "r"},
    ],
    "tools": [TOOL],
}


def picture(url: str) -> list[dict[str, Any]]:
    return [{"type": "image_url", "image_url": {"url": url}}]


def test_a_good_request_breaks_no_rule() -> None:
    assert check_request(GOOD, deepseek_thinking=True, alternate=True) == []


BROKEN: list[tuple[str, list[tuple[list[Any], Any]]]] = [
    ("no messages", [(["messages"], [])]),
    ("system message and not the first", [(["messages", 1], {"role": "system", "content": "s"})]),
    ("(user) is empty", [(["messages", 1, "content"], "")]),
    ("lone surrogate", [(["messages", 1, "content"], "\ud800")]),
    ("has the role 'robot'", [(["messages", 1, "role"], "robot")]),
    ("1 to 64 characters", [(["messages", 2, "tool_calls", 0, "id"], "k" * 65),
                            (["messages", 3, "tool_call_id"], "k" * 65)]),
    ("not the name of a tool", [(["messages", 2, "tool_calls", 0, "function", "name"], "")]),
    ("not a JSON object", [(["messages", 2, "tool_calls", 0, "function", "arguments"], "[]")]),
    ("not a JSON object", [(["messages", 2, "tool_calls", 0, "function", "arguments"], '{"a":')]),
    ("(tool) is empty", [(["messages", 3, "content"], "")]),
    ("which is not open", [(["messages", 3], {"role": "tool", "tool_call_id": "x", "content": "r"}),
                           (["messages", 2], {"role": "assistant", "content": "text"})]),
    ("results are missing at the end", [(["messages"], GOOD["messages"][:3])]),
    ("stands before the results of c1", [(["messages", 3], {"role": "user", "content": "r"})]),
    ("an empty list of calls", [(["messages", 2, "tool_calls"], []),
                                (["messages", 2, "content"], "text"),
                                (["messages", 3], {"role": "user", "content": "r"})]),
    ("neither text nor calls", [(["messages", 2], {"role": "assistant", "content": " "}),
                                (["messages", 3], {"role": "user", "content": "r"})]),
    ("last message is the assistant's", [(["messages", 3], {"role": "user", "content": "r"}),
                                         (["messages", 2], {"role": "user", "content": "r"}),
                                         (["messages", 3],
                                          {"role": "assistant", "content": "r"})]),
    ("without reasoning_content", [(["messages", 2],
                                    {"role": "assistant", "content": "", "tool_calls": [CALL]})]),
    ("second user message in a row", [(["messages", 0], {"role": "user", "content": "s"})]),
    ("list of tools is empty", [(["tools"], [])]),
    ("tool_choice without tools", [(["tools"], None), (["tool_choice"], "auto")]),
    ("two tools are named", [(["tools"], [TOOL, TOOL])]),
    ("is not 1 to 64 of", [(["tools", 0, "function", "name"], "read file")]),
    ("not an object schema", [(["tools", 0, "function", "parameters"], {"type": "object"})]),
    ("sees none", [(["messages", 1, "content"], picture("https://example.org/a.png"))]),
    ("bytes are not image/png", [(["messages", 1, "content"],
                                  picture("data:image/png;base64,R0lGODlh"))]),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "changes"), BROKEN)
def test_a_broken_rule_is_named(rule: str, changes: list[tuple[list[Any], Any]]) -> None:
    body = copy.deepcopy(GOOD)
    for path, value in changes:
        target: Any = body
        for key in path[:-1]:
            target = target[key]
        target[path[-1]] = value
    vision = "sees none" not in rule
    broken = check_request(body, vision=vision, deepseek_thinking=True, alternate=True)
    assert any(rule in found for found in broken), broken


def test_an_id_used_twice_is_named() -> None:
    body = copy.deepcopy(GOOD)
    body["messages"] += copy.deepcopy(GOOD["messages"][2:])
    assert check_request(body) == ["message 4 uses the id c1 a second time"]

"""Calls that models write as text are recovered, and nothing else is taken for one."""

import json
from collections.abc import Sequence

import pytest

from shipmate.llm.model import FunctionCall, Part, Reply, ToolSpec
from shipmate.llm.rescue import Held, RescueModel, rescue
from shipmate.llm.scripted import ScriptedModel


def spec(name: str, *required: str, optional: Sequence[str] = ()) -> ToolSpec:
    properties = {key: {"type": "string"} for key in (*required, *optional)}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec(name, f"The tool {name}.", schema)


TOOLS = (spec("read_file", "path", optional=["startLine"]), spec("write_file", "path", "content"))
READ = '{"name": "read_file", "arguments": {"path": "a.txt"}}'


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        (READ, ""),
        (f"  \n{READ}\n", ""),
        (f"```json\n{READ}\n```", ""),
        (f"```\n{READ}", ""),
        (f"<tool_call>\n{READ}\n</tool_call>", ""),
        (f"<tool_call>{READ}", ""),
        (f"I will read it.\n<tools>{READ}</tools>", "I will read it."),
        (
            f"I will read it.\n```json\n{READ}\n```\nThen I answer.",
            "I will read it.\n\nThen I answer.",
        ),
        ('{"tool": "read_file", "args": {"path": "a.txt"}}', ""),
        ('{"tool_name": "read_file", "parameters": {"path": "a.txt"}}', ""),
        (json.dumps({"name": "read_file", "arguments": '{"path": "a.txt"}'}), ""),
        ('{"type": "function", "function": ' + READ + "}", ""),
    ],
)
def test_a_written_call_is_recovered(text: str, rest: str) -> None:
    calls, left = rescue(text, TOOLS)
    assert [(c.name, c.arguments, c.rescued) for c in calls] == [
        ("read_file", {"path": "a.txt"}, True)
    ]
    assert left == rest


def test_calls_written_one_after_the_other_are_all_recovered() -> None:
    text = f'{READ}\n{{"name": "write_file", "arguments": {{"path": "b", "content": "x\\ny"}}}}'
    calls, _ = rescue(text, TOOLS)
    assert [c.name for c in calls] == ["read_file", "write_file"]
    assert calls[1].arguments == {"path": "b", "content": "x\ny"}


@pytest.mark.parametrize(
    "text",
    [
        "Use read_file to read a.txt.",
        "An example: " + READ,
        '{"name": "delete_all", "arguments": {}}',
        '{"name": "read_file", "arguments": {"file": "a.txt"}}',
        '{"name": "read_file", "arguments": {}}',
        '{"name": "write_file", "arguments": {"path": "a.txt"}}',
        '{"name": "read_file", "arguments": {"path": "a.txt"}',
        '{"name": "read_file", "arguments": "a.txt"}',
        '{"name": ["read_file"], "arguments": {"path": "a.txt"}}',
        '```json\n{"path": "a.txt"}\n```',
        "```python\nx = " + READ + "\n```",
        "[" * 5000,
        '{"a":' * 5000,
    ],
)
def test_what_only_looks_like_a_call_stays_text(text: str) -> None:
    assert rescue(text, TOOLS) == ((), text)


async def play(model: RescueModel, tools: Sequence[ToolSpec] = TOOLS) -> tuple[str, Reply]:
    shown, reply = "", None
    async for item in model.stream([], tools):
        if isinstance(item, Part):
            shown += item.text
        elif isinstance(item, Reply):
            reply = item
    assert reply is not None
    return shown, reply


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1000])
async def test_a_recovered_call_is_not_shown_as_text(chunk: int) -> None:
    text = f"I will read it.\n<tool_call>{READ}</tool_call>"
    shown, reply = await play(RescueModel(ScriptedModel([Reply(text)], chunk=chunk)))
    assert shown.strip() == reply.text == "I will read it."
    assert [call.name for call in reply.calls] == ["read_file"]
    assert reply.notes


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    "text",
    [
        "a < b, `code`, <b>bold</b> and ```json\n{}\n``` then more",
        '{"just": "json"}',
        " \n{ not json",
        "",
        "ends with <tool",
        "ends with ``",
    ],
)
async def test_text_that_is_no_call_is_shown_whole(text: str, chunk: int) -> None:
    shown, reply = await play(RescueModel(ScriptedModel([Reply(text)], chunk=chunk)))
    assert shown == reply.text == text
    assert reply.calls == ()


AGENTS = {"agent": {"type": "string", "enum": ["explorer"]}, "task": {"type": "string"}}
CALLING = ToolSpec("call_agent", "Calls.", {"type": "object", "properties": AGENTS})


@pytest.mark.parametrize("chunk", [1, 4, 100])
@pytest.mark.parametrize("before", ["", "I will look.\n"])
async def test_a_line_that_calls_an_agent_is_recovered(before: str, chunk: int) -> None:
    text = f"{before}CALL: explorer find x\nand y"
    model = RescueModel(ScriptedModel([Reply(text)], chunk=chunk))
    shown, reply = "", Reply()
    async for item in model.stream([], [*TOOLS, CALLING]):
        shown += item.text if isinstance(item, Part) else ""
        reply = item if isinstance(item, Reply) else reply
    (call,) = reply.calls
    assert call.arguments == {"agent": "explorer", "task": "find x\nand y"}
    assert (call.name, call.rescued) == ("call_agent", True)
    assert shown.strip() == reply.text == before.strip()


@pytest.mark.parametrize("text", ["CALL: nobody find x", "Then write\nCALL: explorer", "CALL"])
async def test_a_line_that_calls_nobody_is_text(text: str) -> None:
    assert rescue(text, [*TOOLS, CALLING]) == ((), text)
    shown, reply = await play(RescueModel(ScriptedModel([Reply(text)], chunk=2)))
    assert shown == reply.text == text


def test_ordinary_text_is_not_held_back() -> None:
    held = Held()
    assert held.add("Hello") == "Hello"
    assert held.add(" a <") == " a "
    assert held.add(" b and c") == "< b and c"


async def test_native_calls_pass_untouched() -> None:
    reply = Reply("As I said: " + READ, calls=(FunctionCall("read_file", {"path": "b"}),))
    _, given = await play(RescueModel(ScriptedModel([reply])))
    assert given == reply


async def test_a_reply_that_was_cut_off_is_never_run() -> None:
    _, reply = await play(RescueModel(ScriptedModel([Reply(READ, finish="length")])))
    assert reply.calls == ()


async def test_after_two_rescues_the_other_mode_takes_over() -> None:
    instead = ScriptedModel([Reply("by schema")])
    model = RescueModel(ScriptedModel([Reply(READ)] * 3), instead)
    for _ in range(2):
        assert (await play(model))[1].calls
    assert (await play(model))[1].text == "by schema"


def test_text_goes_on_after_a_block_of_code_that_is_no_call() -> None:
    held = Held(TOOLS)
    shown = "".join(held.add(c) for c in "See:\n```python\nprint(1)\n```\nThat was it.")
    assert shown == "See:\n```python\nprint(1)\n```\nThat was it."
    shown = "".join(held.add(c) for c in '\n```json\n{"a": 1}\n```\nAnd <tools>x</tools> so on.')
    assert shown == '\n```json\n{"a": 1}\n```\nAnd <tools>x</tools> so on.'
    assert held.add(f"\n```json\n{READ}\n```\nmore") == "\n"

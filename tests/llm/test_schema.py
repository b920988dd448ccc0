"""Tool calling by constraint looks like native calling from outside."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from shipmate.llm.model import (
    CallPart,
    ChatMessage,
    ModelError,
    Part,
    Reply,
    ToolSpec,
)
from shipmate.llm.schema import FINAL, FinalText, SchemaModel, as_text, instructions, union
from shipmate.llm.scripted import ScriptedModel

READ = ToolSpec(
    "read_file",
    "Reads a file. Only text.",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "startLine": {"type": "integer"}},
        "required": ["path"],
    },
)


def step(name: str, **arguments: Any) -> Reply:
    return Reply(json.dumps({"name": name, "arguments": arguments}))


class Constrained:
    """Hands out scripted models and remembers which fields each was made with."""

    def __init__(self, *replies: Reply) -> None:
        self.model = ScriptedModel(replies, chunk=3)
        self.fields: list[Mapping[str, Any]] = []

    def __call__(self, fields: Mapping[str, Any]) -> ScriptedModel:
        self.fields.append(fields)
        return self.model


async def play(model: SchemaModel, *messages: ChatMessage) -> tuple[str, Reply]:
    shown, reply = "", None
    async for item in model.stream(messages, [READ]):
        if isinstance(item, Part):
            shown += item.text
        elif isinstance(item, Reply):
            reply = item
    assert reply is not None
    return shown, reply


async def test_a_step_that_names_a_tool_becomes_a_call() -> None:
    made = Constrained(step("read_file", path="a.txt"))
    shown, reply = await play(SchemaModel(made), ChatMessage("user", "read it"))
    assert (shown, reply.text) == ("", "")
    assert [(c.name, c.arguments) for c in reply.calls] == [("read_file", {"path": "a.txt"})]
    schema = made.fields[-1]["response_format"]["json_schema"]["schema"]
    assert schema == union([READ, FINAL])


async def test_the_final_answer_streams_as_text() -> None:
    text = 'She said "hi" \\ 你好 😀\n\tend'
    made = Constrained(step("final_answer", text=text))
    shown, reply = await play(SchemaModel(made), ChatMessage("user", "?"))
    assert shown == reply.text == text
    assert reply.calls == ()


@pytest.mark.parametrize("cut", range(1, 12))
def test_text_is_read_out_of_json_cut_anywhere(cut: int) -> None:
    text = 'a"b\\c/\u00e9 \U0001f600\x07 line\nend'
    for written in (
        json.dumps({"name": "final_answer", "arguments": {"text": text}}),
        json.dumps({"name": "final_answer", "arguments": {"text": text}}, ensure_ascii=False),
        json.dumps({"name": "final_answer", "arguments": {"text": text}}, indent=2),
    ):
        reader = FinalText()
        pieces = [reader.add(written[i : i + cut]) for i in range(0, len(written), cut)]
        assert "".join(pieces) == text


async def test_a_step_that_was_cut_off_is_an_error_and_never_a_call() -> None:
    made = Constrained(Reply('{"name": "read_file", "arguments": {"path": "a', finish="length"))
    with pytest.raises(ModelError) as caught:
        await play(SchemaModel(made), ChatMessage("user", "?"))
    assert caught.value.kind == "truncated"


async def test_an_answer_that_was_cut_off_is_shown_as_far_as_it_came() -> None:
    written = '{"name": "final_answer", "arguments": {"text": "It is\\nso \\u00'
    made = Constrained(Reply(written, finish="length"))
    shown, reply = await play(SchemaModel(made), ChatMessage("user", "?"))
    assert shown == reply.text == "It is\nso "
    assert reply.finish == "length"


async def test_a_server_that_ignores_the_schema_gives_plain_text() -> None:
    _, reply = await play(SchemaModel(Constrained(Reply("Hello."))), ChatMessage("user", "?"))
    assert reply.text == "Hello."


async def test_without_tools_nothing_is_constrained() -> None:
    made = Constrained(Reply("A title"))
    items = [item async for item in SchemaModel(made).stream([ChatMessage("user", "?")], [])]
    assert items[-1] == Reply("A title")
    assert made.fields == [{}]


def test_the_history_is_written_as_this_mode_writes() -> None:
    calls = (CallPart("1", "read_file", '{"path": "a"}'), CallPart("2", "read_file", "{bad"))
    sent = as_text(
        [
            ChatMessage("system", "Be good."),
            ChatMessage("user", "read"),
            ChatMessage("assistant", "", calls=calls),
            ChatMessage("tool", "A", call="1"),
            ChatMessage("tool", "B", call="2"),
            ChatMessage("assistant", "Done."),
        ],
        "\nEXTRA",
    )
    assert [(m.role, m.text) for m in sent] == [
        ("system", "Be good.\nEXTRA"),
        ("user", "read"),
        (
            "assistant",
            '{"name": "read_file", "arguments": {"path": "a"}}\n'
            '{"name": "read_file", "arguments": {}}',
        ),
        ("user", "Result of read_file:\nA\n\nResult of read_file:\nB"),
        ("assistant", '{"name": "final_answer", "arguments": {"text": "Done."}}'),
    ]
    assert not any(m.calls for m in sent)


def test_the_compact_listing_is_a_line_for_each_tool() -> None:
    assert "- read_file(path, startLine?): Reads a file.\n" in instructions([READ], "compact")
    assert '"startLine"' in instructions([READ], "full")

"""Every reported stream, as Anthropic and Gemini would send it, is read right at every cut."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from shipmate.llm.anthropic.reader import DECLINED, MessagesReader
from shipmate.llm.gemini.reader import GeminiReader
from shipmate.protocol import Signed
from tests import anthropic, gemini
from tests.anthropic import block, call, end, event, start, text, thinking
from tests.gemini import chunk, made, stream
from tests.llm.reading import end_of, read, same_at_every_cut
from tests.reports import reports

REPORTS = reports("stream")
ONE, TWO = '{"path": "one.txt"}', '{"path": "two.txt"}'
WRITE = '{"path": "名.txt", "content": "北京🌤"}'
FIXED = "修复方法：👩🏽\u200d💻 ok"
SEPARATED = '{"path": "x", "content": "p\u2028q"}'
QUOTED = json.dumps({"files": '[{"path": "a", "startLine": "2", "endLine": "3"}]'})


def delta(at: int | None, **fields: Any) -> bytes:
    return event("content_block_delta", **({} if at is None else {"index": at}), delta=fields)


def said(one: str) -> bytes:
    return delta(0, type="text_delta", text=one)


def parted(data: bytes) -> bytes:
    """Without a blank after `data:`, and each event over two lines."""
    return data.replace(b"data: {", b"data:{\ndata:").replace(b"event: ", b"event:")


def unescaped(data: bytes) -> bytes:
    """The characters as they are, not as escapes."""
    for escape, one in ((b"\\u2028", "\u2028"), (b"\\u2029", "\u2029"), (b"\\u0085", "\x85")):
        data = data.replace(escape, one.encode())
    return data


ANTHROPIC: dict[str, bytes] = {
    "STR-01": start()
    + block(0, {"type": "tool_use", "id": "a", "name": "read_file", "input": {}},
            {"type": "input_json_delta", "partial_json": ONE})
    + block(1, {"type": "tool_use", "id": "b", "name": "read_file", "input": {}},
            {"type": "input_json_delta", "partial_json": TWO[:5]},
            {"type": "input_json_delta", "partial_json": TWO[5:]}).replace(b'"index": 1, ', b"")
    + end("tool_use"),
    "STR-09": start() + call(0, "", "{}") + end("tool_use"),
    "STR-12": start() + call(0, "read_file", '{"path": "x"}') + end("end_turn"),
    "STR-13": start() + text(0, "Done.") + end("tool_use"),
    "STR-14": start() + call(0, "write_file", '{"path": "a", "con') + end("tool_use"),
    "STR-16": start() + text(0, "Writing the file.")
    + call(1, "write_file", '{"path"').split(b"event: content_block_stop")[0],
    "STR-18": start(input_tokens=None) + text(0, "Hi")
    + event("message_delta", delta={"stop_reason": "end_turn"}, usage=None)
    + event("message_delta", delta={}, usage={})
    + event("message_delta", delta=None, usage={"input_tokens": 10, "output_tokens": 3})
    + event("message_stop"),
    "STR-19": start(input_tokens=100) + said("a")
    + event("message_delta", delta={}, usage={"input_tokens": 100, "output_tokens": 1}) + said("b")
    + end("end_turn", input_tokens=100, output_tokens=3),
    "STR-21": parted(start() + text(0, "A", "B") + end()),
    "STR-22": (start() + text(0, FIXED[:3], FIXED[3:]) + call(1, "write_file", WRITE)
               + end("tool_use")),
    "STR-24": anthropic.error(429, "quota exceeded").body,
    "STR-25": start() + thinking(0, "I think.", "s") + text(1, "Yes") + end(),
    "STR-26": start() + thinking(0, "plan it", "s") + text(1, "Use the `<think>` tag.") + end(),
    "STR-28": start() + delta(0, type="thinking_delta", thinking="Hm") + said("One"),
    "STR-29": b": ping\n\n" + start() + event("ping") + event("zzz", x=[1])
    + event("content_block_delta", index=0, delta=None) + said("Hi")
    + event("content_block_delta", index=0, delta={"type": "text_delta", "text": None})
    + event("content_block_delta", index="0", delta={"type": "text_delta", "text": "!"})
    + event("content_block_start", index=4, content_block=None)
    + event("content_block_start", index=5, content_block={"type": "server_tool_use"})
    + end("a_new_word"),
    "STR-31": start() + call(0, "read_files", QUOTED) + end("tool_use"),
    "STR-32": start() + call(0, "shell_exec", "[]") + call(1, "read_file", '{"a":1,}')
    + call(2, "read_file", '{"path": "ok"}') + end("tool_use"),
    "STR-36": unescaped(start() + text(0, "a\u2028b\u2029c\u0085d")
                        + call(1, "write_file", SEPARATED) + end("tool_use")),
}  # fmt: skip
GEMINI: dict[str, bytes] = {
    "STR-01": stream(chunk(made("read_file", json.loads(ONE))),
                     chunk(made("read_file", json.loads(TWO)), finish="STOP")),
    "STR-09": stream(chunk(made("", {}), finish="STOP")),
    "STR-12": stream(chunk(made("read_file", {"path": "x"})), chunk(finish="STOP")),
    "STR-13": stream(chunk({"text": "Done."}, finish="STOP")),
    "STR-14": stream(chunk(made("write_file", {"path": "a"}), finish="MAX_TOKENS")),
    "STR-16": stream(chunk({"text": "Writing the file."}), chunk(made("write_file", {"path": ""}))),
    "STR-18": stream({"candidates": [], "usageMetadata": None}, chunk({"text": "Hi"}),
                     {"usageMetadata": {}},
                     chunk(finish="STOP", promptTokenCount=10, candidatesTokenCount=3)),
    "STR-19": stream(chunk({"text": "a"}, promptTokenCount=100),
                     chunk({"text": "b"}, finish="STOP", promptTokenCount=100,
                           candidatesTokenCount=3)),
    "STR-21": stream(chunk({"text": "A"}), chunk({"text": "B"}, finish="STOP"))
    .replace(b"data: {", b"data:{\ndata:"),
    "STR-22": stream(chunk({"text": FIXED[:3]}), chunk({"text": FIXED[3:]}),
                     chunk(made("write_file", json.loads(WRITE)), finish="STOP")),
    "STR-24": gemini.error(429, "quota exceeded").body,
    "STR-25": stream(chunk({"text": "I think.", "thought": True}),
                     chunk({"text": "Yes"}, finish="STOP")),
    "STR-26": stream(chunk({"text": "plan it", "thought": True}),
                     chunk({"text": "Use the `<think>` tag."}, finish="STOP")),
    "STR-28": stream(chunk({"text": "Hm", "thought": True}, {"text": "One"})),
    "STR-29": b": ping\n\n" + stream(
        {"candidates": None}, {"candidates": [{"content": None}]}, {"x": 1},
        {"candidates": [{"content": {"parts": None}}]}, chunk({"text": "Hi"}),
        chunk({"text": None}, {"executableCode": {}}), chunk({"text": "!"}, finish="A_NEW_WORD"),
    ),
    "STR-31": stream(chunk(made("read_files", json.loads(QUOTED)), finish="STOP")),
    "STR-32": stream(chunk(made("shell_exec", []), made("read_file", '{"a":1,}'),
                           made("read_file", {"path": "ok"}), finish="STOP")),
    "STR-36": unescaped(stream(chunk({"text": "a\u2028b\u2029c\u0085d"}),
                               chunk(made("write_file", json.loads(SEPARATED)), finish="STOP"))),
}  # fmt: skip
WIRES = {"anthropic": (MessagesReader, ANTHROPIC), "gemini": (GeminiReader, GEMINI)}
ENDS = {"STR-28": "truncated", "STR-29": "a_new_word"}
"""Silence is the transport's to end; a word nobody knows is an end, and is told."""
CALLS = {"STR-31": [["read_files", json.loads(QUOTED)]]}
ROWS = [(wire, name) for wire, (_, rows) in WIRES.items() for name in rows]


def test_every_reported_answer_is_here() -> None:
    replies = {name for name, case in REPORTS.items() if "reply" in case["input"]}
    assert set(ANTHROPIC) == set(GEMINI) == replies


@pytest.mark.parametrize(("wire", "name"), ROWS)
def test_a_reported_stream_is_read_right_at_every_cut(wire: str, name: str) -> None:
    (kind, rows), expect = WIRES[wire], REPORTS[name]["expect"]
    reply, failure = same_at_every_cut(rows[name], kind)
    assert end_of(reply, failure).lower() == ENDS.get(name, expect["end"])
    assert (reply.text, reply.reasoning) == (expect["text"], expect["reasoning"])
    calls = [[c.name, "BAD" if c.arguments is None else c.arguments] for c in reply.calls]
    assert calls == CALLS.get(name, expect["calls"])
    if "usage" in expect:
        assert reply.usage is not None
        total = reply.usage.prompt + reply.usage.completion
        assert total == expect["usage"]["total_tokens"]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("ends", [b"\r\n", b"\r"])
def test_lines_may_end_otherwise_and_begin_with_a_mark(wire: str, ends: bytes) -> None:
    kind, rows = WIRES[wire]
    data = rows["STR-22"].replace(b"\r\n", b"\n").replace(b"\n", ends)
    plain, _ = read([rows["STR-22"]], kind)
    assert same_at_every_cut(b"\xef\xbb\xbf" + data, kind) == (plain, None)


@pytest.mark.parametrize("wire", WIRES)
def test_calls_of_an_answer_that_breaks_off_are_void_wherever_it_does(wire: str) -> None:
    kind, rows = WIRES[wire]
    whole = rows["STR-22"]
    word = b'"stop_reason": "tool_use"' if wire == "anthropic" else b'"finishReason"'
    for at in range(whole.index(word)):
        reply, failure = read([whole[:at]], kind)
        assert reply.calls == ()
        assert failure is not None
        assert failure.kind == "truncated"


@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_of_something_else_is_told(wire: str) -> None:
    kind, _ = WIRES[wire]
    for data in (b"<html>Sign in</html>", b"data: hello\n\n"):
        _, failure = same_at_every_cut(data, kind)
        assert "did not answer in the format" in str(failure)


ERRORS = [
    ("overloaded_error", "Overloaded", "overloaded"),
    ("api_error", "Internal server error", "overloaded"),
    ("rate_limit_error", "slow down", "rate_limit"),
    ("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", "too_long"),
]


@pytest.mark.parametrize(("kind", "words", "what"), ERRORS)
def test_a_failure_in_mid_answer_is_told_and_what_was_said_is_kept(
    kind: str, words: str, what: str
) -> None:
    data = start() + said("So far") + event("error", error={"type": kind, "message": words})
    reply, failure = same_at_every_cut(data, MessagesReader)
    assert failure is not None
    assert (failure.kind, reply.text) == (what, "So far")
    assert words in str(failure)


def test_what_is_signed_is_kept_in_its_order() -> None:
    data = (
        start()
        + thinking(0, "First.", "s1")
        + text(1, "I look", " now.")
        + block(2, {"type": "redacted_thinking", "data": "xyz"})
        + call(3, "look", "{}")
        + end("tool_use")
    )
    reply, _ = same_at_every_cut(data, MessagesReader)
    assert reply.signed == (
        Signed(kind="thinking", text="First.", signature="s1"),
        Signed(kind="text", size=11),
        Signed(kind="redacted", text="xyz"),
        Signed(kind="call"),
    )


def test_thinking_that_is_not_signed_is_not_kept() -> None:
    data = start() + delta(0, type="thinking_delta", thinking="Hm") + text(1, "Hi") + end()
    reply, _ = same_at_every_cut(data, MessagesReader)
    assert (reply.reasoning, reply.signed) == ("Hm", ())


def test_signatures_of_calls_stay_with_their_calls() -> None:
    parts = (made("a", {}, "s1"), made("b", {}))
    reply, _ = same_at_every_cut(stream(chunk({"text": "x"}), chunk(*parts, finish="STOP")),
                                 GeminiReader)  # fmt: skip
    assert [piece.signature for piece in reply.signed] == ["s1", ""]


def test_what_the_cache_gave_and_took_is_part_of_the_prompt() -> None:
    counted = {"cache_read_input_tokens": 80, "cache_creation_input_tokens": 15}
    reply, _ = same_at_every_cut(start(input_tokens=5, **counted) + text(0, "x") + end(),
                                 MessagesReader)  # fmt: skip
    usage = reply.usage
    assert usage is not None
    assert (usage.prompt, usage.cached, usage.cache_write, usage.completion) == (100, 80, 15, 5)


DECLINING: list[tuple[Any, bytes, str]] = [
    (MessagesReader, start() + text(0, "No") + end("refusal"), DECLINED),
    (GeminiReader, stream(chunk(finish="SAFETY")), "SAFETY"),
    (GeminiReader, stream({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}), "PROHIBITED"),
]


@pytest.mark.parametrize(("kind", "data", "words"), DECLINING)
def test_an_answer_that_is_declined_is_told(kind: Any, data: bytes, words: str) -> None:
    reply, failure = same_at_every_cut(data, kind)
    assert failure is None
    assert reply.finish == "content_filter"
    assert words in reply.notes[0]


FULL: list[tuple[Any, Mapping[str, Any] | bytes]] = [
    (MessagesReader, start() + end("model_context_window_exceeded", output_tokens=0)),
    (GeminiReader, stream(chunk(finish="MAX_TOKENS", candidatesTokenCount=0))),
]


@pytest.mark.parametrize(("kind", "data"), FULL)
def test_a_window_that_was_full_is_an_end_at_the_limit(kind: Any, data: bytes) -> None:
    reply, _ = same_at_every_cut(data, kind)
    assert (reply.text, reply.finish) == ("", "length")


def test_an_answer_that_is_one_document_is_read() -> None:
    content = [{"type": "thinking", "thinking": "Hm", "signature": "s"},
               {"type": "text", "text": "Hi"},
               {"type": "tool_use", "id": "t", "name": "a", "input": {"x": 1}}]  # fmt: skip
    body = {"type": "message", "content": content, "stop_reason": "tool_use",
            "usage": {"input_tokens": 1, "output_tokens": 2}}  # fmt: skip
    reply, _ = same_at_every_cut(json.dumps(body).encode(), MessagesReader)
    assert (reply.text, reply.reasoning) == ("Hi", "Hm")
    assert [(c.name, c.arguments) for c in reply.calls] == [("a", {"x": 1})]
    whole = json.dumps([chunk({"text": "a"}), chunk({"text": "b"}, finish="STOP")]).encode()
    reply, _ = same_at_every_cut(whole, GeminiReader)
    assert reply.text == "ab"

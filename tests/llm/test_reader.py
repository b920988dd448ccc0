"""Every reported stream is read right, wherever the network cuts the bytes."""

import json
from typing import Any

import pytest

from tests.llm.reading import end_of, read, same_at_every_cut
from tests.provider import chunk, sse
from tests.reports import CASES, reports

REPORTS = {name: case for name, case in reports("stream").items() if "reply" in case["input"]}


@pytest.mark.parametrize("name", REPORTS)
def test_a_reported_stream_is_read_right_at_every_cut(name: str) -> None:
    case, expect = REPORTS[name], REPORTS[name]["expect"]
    data = (CASES / case["input"]["reply"]).read_bytes()
    reply, failure = same_at_every_cut(data)
    end = {"STR-28": "truncated"}.get(name, expect["end"])  # silence: the transport's limit
    assert end_of(reply, failure) == end
    assert reply.text.strip("\n") == expect["text"]
    assert reply.reasoning == expect["reasoning"]
    calls = [[c.name, "BAD" if c.arguments is None else c.arguments] for c in reply.calls]
    assert calls == CALLS.get(name, expect["calls"])
    if "usage" in expect:
        assert reply.usage is not None
        total = reply.usage.prompt + reply.usage.completion
        assert total == expect["usage"]["total_tokens"]


CALLS = {"STR-31": [["read_files", {"files": '[{"path": "a", "startLine": "2", "endLine": "3"}]'}]]}
"""Repair by the schema is the tools' part, not the reader's."""


def test_a_refused_quota_in_a_plain_body_is_told() -> None:
    data = (CASES / "files/STR-24/reply.sse").read_bytes()
    _, failure = read([data])
    assert failure is not None
    assert failure.kind == "quota"
    assert "quota exceeded" in str(failure)


# --- calls -------------------------------------------------------------------------------


def piece(
    arguments: Any = "", *, name: Any = None, index: Any = None, call: str | None = None
) -> dict[str, Any]:
    function: dict[str, Any] = {"arguments": arguments} | ({"name": name} if name else {})
    made: dict[str, Any] = {"type": "function", "function": function}
    if index is not None:
        made["index"] = index
    if call is not None:
        made["id"] = call
    return made


def calls_of(*pieces: dict[str, Any], finish: str = "tool_calls") -> list[tuple[str, Any]]:
    chunks = [chunk({"tool_calls": [p]}) for p in pieces]
    reply, failure = same_at_every_cut(sse(*chunks, chunk(finish=finish)))
    assert failure is None
    return [(c.name, c.arguments) for c in reply.calls]


TWO = [("a", {"x": 1}), ("b", {"y": 2})]
SEPARATIONS: dict[str, list[dict[str, Any]]] = {
    "by index, pieces mixed": [
        piece(name="a", index=0, call="1"), piece(name="b", index=1, call="2"),
        piece('{"x":', index=0), piece('{"y":', index=1), piece("1}", index=0),
        piece("2}", index=1),
    ],
    "by id alone, pieces mixed": [
        piece(name="a", call="1"), piece(name="b", call="2"), piece('{"x":', call="1"),
        piece('{"y":2}', call="2"), piece("1}", call="1"),
    ],
    "the same index for all": [
        piece(name="a", index=0, call="1"), piece('{"x":1}', index=0),
        piece(name="b", index=0, call="2"), piece('{"y":2}', index=0),
    ],
    "the same index and no ids": [
        piece('{"x":1}', name="a", index=0), piece('{"y":2}', name="b", index=0),
    ],
    "the same id for all": [
        piece('{"x":1}', name="a", call="c"), piece('{"y":2}', name="b", call="c"),
    ],
    "by name alone": [
        piece(name="a"), piece('{"x":1}'), piece(name="b"), piece('{"y":2}'),
    ],
    "name and id again with every piece": [
        piece('{"x"', name="a", index=0, call="1"), piece(":1}", name="a", index=0, call="1"),
        piece('{"y"', name="b", index=1, call="2"), piece(":2}", name="b", index=1, call="2"),
    ],
    "an empty id on later pieces": [
        piece('{"x"', name="a", index=0, call="1"), piece(":1}", index=0, call=""),
        piece('{"y":2}', name="b", index=1, call="2"),
    ],
    "a new id on every piece": [
        piece('{"x"', name="a", index=0, call="1"), piece(":1}", index=0, call="9"),
        piece('{"y":2}', name="b", index=1, call="2"),
    ],
    "an index that counts pieces": [
        piece('{"x"', name="a", index=0, call="1"), piece(":1}", index=1),
        piece('{"y":2}', name="b", index=2, call="2"),
    ],
    "an index as text, arguments as an object": [
        piece({"x": 1}, name="a", index="0", call="1"), piece('{"y":2}', name="b", index="1"),
    ],
    "name and arguments without a function around them": [
        {"id": "1", "name": "a", "arguments": {"x": 1}},
        {"id": "2", "name": "b", "arguments": '{"y":2}'},
    ],
    "names in pieces": [
        piece(name="a", index=0), piece('{"x":1}', index=0), piece(name="", index=1),
        piece(name="b", index=1), piece('{"y":2}', index=1),
    ],
}  # fmt: skip


@pytest.mark.parametrize("how", SEPARATIONS)
def test_calls_are_kept_apart(how: str) -> None:
    assert calls_of(*SEPARATIONS[how], finish="stop") == TWO


def test_a_name_may_come_in_pieces_or_grow() -> None:
    pieces = [piece(name="read_", index=0), piece(name="file", index=0), piece("{}", index=0)]
    assert calls_of(*pieces) == [("read_file", {})]
    grows = [piece(name="read_", index=0), piece(name="read_file", index=0)]
    assert calls_of(*grows) == [("read_file", {})]


def test_a_name_is_not_changed_once_there_are_arguments() -> None:
    pieces = [piece('{"x"', name="a", index=0), piece(":1}", name="zz", index=0)]
    assert calls_of(*pieces) == [("a", {"x": 1})]


def test_only_the_first_choice_is_read() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": None}]}
    reply, _ = same_at_every_cut(sse(chunk({"content": "yes"}), other, chunk(finish="stop")))
    assert reply.text == "yes"


def test_the_older_function_call_is_read() -> None:
    pieces = [{"name": "a", "arguments": ""}, {"arguments": '{"x":'}, {"arguments": "1}"}]
    chunks = [chunk({"function_call": p}) for p in pieces]
    reply, _ = same_at_every_cut(sse(*chunks, chunk(finish="function_call")))
    assert [(c.name, c.arguments) for c in reply.calls] == [("a", {"x": 1})]


BAD = ['{"a":1,}', "{'a':1}", '{"a":NaN}', '{"a":"\n"}', '"{\\"a\\":1}"', "[1]", "42", "true",
       '{"a":1}{"b":2}', "write it", '{"a":"\\ud800"}']  # fmt: skip


@pytest.mark.parametrize("raw", BAD)
def test_broken_arguments_are_never_guessed(raw: str) -> None:
    reply, _ = read([sse(chunk({"tool_calls": [piece(raw, name="a", index=0)]}),
                         chunk(finish="tool_calls"))])  # fmt: skip
    assert [(c.name, c.arguments, c.raw) for c in reply.calls] == [("a", None, raw)]


@pytest.mark.parametrize("raw", ["", " ", "null", "{}", "```json\n{}\n```", "```\n{ }```"])
def test_no_arguments_are_an_empty_object(raw: str) -> None:
    assert calls_of(piece(raw, name="a", index=0)) == [("a", {})]


def test_a_call_without_a_name_is_told_and_its_siblings_run() -> None:
    data = sse(chunk({"tool_calls": [piece("{}", index=0, call="1"),
                                     piece("{}", index=1, name="b", call="2")]}),
               chunk(finish="tool_calls"))  # fmt: skip
    reply, _ = same_at_every_cut(data)
    assert [c.name for c in reply.calls] == ["b"]
    assert reply.finish == "tool_calls"
    assert reply.notes == ("The model made a tool call without a name; it was not run.",)


@pytest.mark.parametrize("finish", ["length", "max_tokens", "content_filter"])
def test_calls_of_a_reply_that_was_cut_are_void(finish: str) -> None:
    data = sse(chunk({"tool_calls": [piece('{"x":1}', name="a", index=0)]}), chunk(finish=finish))
    reply, failure = same_at_every_cut(data)
    assert failure is None
    assert reply.calls == ()
    assert "a); it was not run" in reply.notes[0]


def test_calls_of_a_stream_that_breaks_off_are_void_wherever_it_does() -> None:
    whole = sse(
        chunk({"content": "I write."}),
        chunk({"tool_calls": [piece('{"path":"a","content":"b"}', name="write_file", index=0)]}),
        chunk(finish="tool_calls"),
        done=False,
    )
    last = whole.index(b'"finish_reason": "tool_calls"')
    for at in range(len(whole)):
        reply, failure = read([whole[:at]])
        if at < last:
            assert reply.calls == ()
            assert failure is not None
            assert failure.kind == "truncated"


def test_a_piece_that_cannot_be_read_makes_calls_void() -> None:
    good = chunk({"tool_calls": [piece('{"path":"a","content":"b', name="w", index=0)]})
    rest = chunk({"tool_calls": [piece('c"}', index=0)]})
    data = sse(good, done=False) + b'data: {"choices":[{"del\n\n' + sse(rest, chunk(finish="stop"))
    reply, _ = same_at_every_cut(data)
    assert (reply.calls, reply.finish) == ((), "cut_call")


# --- text, thinking, usage ---------------------------------------------------------------


def escaped(*contents: bytes) -> bytes:
    """A stream of contents as they stand in JSON."""
    events = [b'data: {"choices":[{"delta":{"content":"%b"}}]}\n\n' % c for c in contents]
    return b"".join(events) + sse(chunk(finish="stop"))


def test_halves_of_a_character_in_two_chunks_become_one() -> None:
    reply, _ = same_at_every_cut(escaped(b"a\\ud83c", b"\\udf24b"))
    assert reply.text == "a🌤b"


def test_a_lone_half_and_bytes_that_are_no_utf8_become_replacement_characters() -> None:
    reply, _ = same_at_every_cut(escaped(b"a\\ud83c", b"b\xff\\ud800"))
    assert reply.text == "a\ufffdb\ufffd\ufffd"


TAGS = [
    ("<think>a</think>b", "b", "a"),
    ("\n <thinking>a</thinking>\n\nb", "b", "a"),
    ("<think>a < b</think>c", "c", "a < b"),
    ("<think>never closed", "", "never closed"),
    ("<thin", "<thin", ""),
    ("<thinker>x", "<thinker>x", ""),
    ("  plain <think>x</think>", "  plain <think>x</think>", ""),
    ("<think></think>b<think>c</think>", "b<think>c</think>", ""),
]


@pytest.mark.parametrize(("content", "text", "thinking"), TAGS)
def test_only_a_tag_that_opens_the_answer_is_thinking(
    content: str, text: str, thinking: str
) -> None:
    letters = [chunk({"content": letter}) for letter in content]
    for chunks in ([chunk({"content": content})], letters):
        reply, _ = read([sse(piece) for piece in (*chunks, chunk(finish="stop"))])
        assert (reply.text, reply.reasoning) == (text, thinking)


USAGES: list[tuple[Any, tuple[int, int, int, int]]] = [
    ({"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8},
      "completion_tokens_details": {"reasoning_tokens": 1}}, (10, 2, 8, 1)),
    ({"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 8}, (10, 2, 8, 0)),
    ({"prompt_tokens": -1, "completion_tokens": 2.0}, (0, 2, 0, 0)),
    ({"total_tokens": 12}, (12, 0, 0, 0)),
]  # fmt: skip


@pytest.mark.parametrize(("given", "counted"), USAGES)
def test_usage_is_taken_as_far_as_it_makes_sense(
    given: Any, counted: tuple[int, int, int, int]
) -> None:
    values: list[Any] = [None, {}, [], "x", {"prompt_tokens": -5}]
    odd: list[dict[str, Any]] = [{"choices": None, "usage": value} for value in values]
    reply, _ = same_at_every_cut(
        sse(chunk({"content": "a"}, "stop"), {"choices": [], "usage": given}, *odd)
    )
    usage = reply.usage
    assert usage is not None
    assert (usage.prompt, usage.completion, usage.cached, usage.reasoning) == counted


# --- failures in an answer that began well -----------------------------------------------

FAILURES = [
    (b'data: {"error":{"message":"Rate limit","code":429}}\n\n', "rate_limit", "Rate limit"),
    (b'event: error\ndata: out of memory\n\n', "provider", "out of memory"),
    (b'event: error\ndata: {"error":"overloaded_error"}\n\n', "overloaded", "overloaded"),
    (b'data: {"error":{"message":"maximum context length is 10"}}\n\n', "too_long", "maximum"),
    (b'data: {"object":"error","message":"bad"}\n\n', "provider", "bad"),
    (b'{"error":{"message":"no such model","code":"404"}}', "refused", "no such model"),
    (b'[{"error":{"message":"in a list"}}]', "provider", "format"),
    (b"<html><body>Sign in</body></html>", "provider", "Sign in"),
    (b": ping\n\n: ping\n\n", "truncated", "ended before"),
    (b"", "truncated", "ended before"),
    (b"data: hello\n\n", "provider", "format"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "kind", "words"), FAILURES)
def test_a_failure_inside_an_answer_is_told(data: bytes, kind: str, words: str) -> None:
    _, failure = same_at_every_cut(data)
    assert failure is not None
    assert failure.kind == kind
    assert words in str(failure)


def test_what_was_said_before_a_failure_is_kept() -> None:
    data = sse(chunk({"content": "So far"}), {"error": {"message": "boom"}}, done=False)
    reply, failure = same_at_every_cut(data)
    assert failure is not None
    assert reply.text == "So far"


def test_an_answer_that_is_one_document_is_read() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    message = {"role": "assistant", "content": "Hi", "tool_calls": [call]}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2}}  # fmt: skip
    reply, failure = same_at_every_cut(b"\xef\xbb\xbf " + json.dumps(body).encode())
    assert failure is None
    assert (reply.text, [c.name for c in reply.calls]) == ("Hi", ["a"])


def test_an_orderly_done_without_a_finish_reason_is_an_end() -> None:
    reply, failure = same_at_every_cut(sse(chunk({"content": "Hi"})) + b"data: [DONE]\n\n")
    assert (reply.text, reply.finish, failure) == ("Hi", "stop", None)

"""The border for results: clean, bounded, honest about what was left out."""

import itertools
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.tools.output import Decoder, HeadTail, border, clean, cut, spill_file
from shipmate.tools.tool import Limits, ToolOutput, Workspace


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]never ends", "never ends"),
        ("\x9b1mbold", "bold"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("10%\r20%\x1b[K\r\n", "10%\n20%\n"),
        ("bell\x07 back\x08 del\x7f", "bell back del"),
        ("nul\x00", "nul\ufffd"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("测试🌤\x1b[1m ok", "测试🌤 ok"),
        ("\x1b", ""),
    ],
)
def test_terminal_sequences_and_controls_are_removed(raw: str, cleaned: str) -> None:
    assert clean(raw) == cleaned


@given(st.text())
def test_clean_text_can_always_be_sent_and_is_clean(text: str) -> None:
    once = clean(text)
    once.encode()
    assert "\x00" not in once
    assert "\x1b" not in once
    assert clean(once) == once


@pytest.mark.parametrize(
    "whole",
    ["e\u0301", "👩\u200d👩\u200d👧", "👍🏽", "🇩🇪", "☂\ufe0f"],
)
def test_a_cut_never_splits_what_a_person_sees_as_one_character(whole: str) -> None:
    for limit in range(3, 3 + len(whole)):
        assert cut(f"abc{whole}", limit) == "abc"


def test_a_cut_is_made_at_a_line_where_that_keeps_half() -> None:
    assert cut("one\ntwo\nthree", 10) == "one\ntwo\n"
    assert cut("x\n" + "y" * 100, 50) == "x\n" + "y" * 48


@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=8))
def test_bytes_may_be_cut_anywhere(data: bytes, cuts: list[int]) -> None:
    whole = Decoder()
    expected = whole.feed(data) + whole.end()
    pieces = Decoder()
    places = [0, *sorted(min(c, len(data)) for c in cuts), len(data)]
    parts = itertools.pairwise(places)
    assert "".join(pieces.feed(data[a:b]) for a, b in parts) + pieces.end() == expected


def test_each_line_is_decoded_by_itself() -> None:
    data = "中文\n".encode("gb18030") + "测试🌤".encode() + b"\xff\n" + b"M\xfcller \xe9t\xe9\n"
    decoder = Decoder()
    text = "".join(decoder.feed(data[i : i + 1]) for i in range(len(data))) + decoder.end()
    assert text == "中文\n测试🌤\\xff\nM\\xfcller \\xe9t\\xe9\n"


def test_a_line_without_end_does_not_collect_in_the_decoder() -> None:
    decoder = Decoder()
    text = "".join(decoder.feed("界".encode() * 1000 + b"\xe7") for _ in range(1))
    text += decoder.feed(b"\x95\x8c" + "界".encode() * 60_000 + b"\xe7")
    assert text == "界" * 61_001
    assert decoder.feed(b"\x95\x8c") + decoder.end() == "界"


def test_head_and_tail_are_kept_in_bounded_memory() -> None:
    collected = HeadTail(head=100, tail=100)
    for number in range(10_000):
        collected.add(f"line {number}\n")
    text = collected.text()
    assert text.startswith("line 0\n")
    assert text.endswith("line 9999\n")
    assert len(text) < 300
    gone = 10_000 - sum(1 for line in text.split("\n") if line.startswith("line "))
    assert f"({gone:,} lines) left out" in text


def test_what_fits_is_given_whole() -> None:
    collected = HeadTail(head=5, tail=5)
    for piece in ("ab", "cdef", "ghij"):
        collected.add(piece)
    assert collected.text() == "abcdefghij"
    assert not collected.truncated


async def test_a_short_result_passes_unchanged(work: Workspace) -> None:
    output = ToolOutput("fine\n", is_error=True)
    assert await border(output, work, "c1") is output


async def test_nothing_is_said_in_words(work: Workspace) -> None:
    assert (await border(" \n\x1b[0m", work, "c1")).text == "(no output)"


async def test_a_long_result_is_cut_with_the_notice_in_front_and_kept_whole(
    work: Workspace,
) -> None:
    text = "".join(f"line {n}\n" for n in range(1, 10_001))
    output = await border(text, work, "c1")
    assert output.truncated
    assert len(output.text) <= 20_000
    notice, rest = output.text.split("\n", 1)
    lines = rest.count("\n")
    assert text.startswith(rest)
    assert f"({lines:,} of 10,000 lines" in notice
    assert f'read_file {{"path": "output:c1", "startLine": {lines + 1}}}' in notice
    kept = spill_file(work, "c1")
    assert kept is not None
    assert kept.read_text() == text


async def test_one_long_line_does_not_hide_the_others(work: Workspace) -> None:
    text = "first\n" + "x" * 1_000_000 + "\nlast\n"
    output = await border(text, work, "c1")
    assert len(output.text) <= 20_000
    assert "more characters in this line]" in output.text
    assert output.text.endswith("last\n")


async def test_one_line_alone_gets_all_the_room(work: Workspace) -> None:
    output = await border("x" * 30_000, work, "c1")
    assert 19_000 < len(output.text) <= 20_000


async def test_the_notice_says_when_the_rest_could_not_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for files in (None, tmp_path / "file"):
        work = Workspace(root=tmp_path, files=files)
        output = await border("x\n" * 20_000, work, "c1")
        assert "could not be kept" in output.text
        assert "output:" not in output.text


async def test_the_limit_is_a_setting(tmp_path: Path) -> None:
    work = Workspace(root=tmp_path, limits=Limits(tool_result_chars=1_000))
    assert len((await border("word " * 5_000, work, "c1")).text) <= 1_000


@pytest.mark.parametrize("call", ["../../etc/passwd", "a/b", "", "x" * 200, "a.b"])
def test_a_call_id_is_never_a_path(work: Workspace, call: str) -> None:
    assert spill_file(work, call) is None


async def test_the_border_costs_far_less_than_a_millisecond(work: Workspace) -> None:
    text = "a line of ordinary text, 测试\n" * 600
    best = 1.0
    for _ in range(20):
        start = time.perf_counter()
        await border(text, work, "c1")
        best = min(best, time.perf_counter() - start)
    assert best < 0.002

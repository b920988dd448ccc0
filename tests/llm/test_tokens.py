"""The estimate of tokens."""

import time

import pytest

from shipmate.llm.model import ChatMessage
from shipmate.llm.tokens import Meter, estimate_tokens

COUNTED = [
    ("The quick brown fox jumps over the lazy dog.", 10),
    ("def add(a: int, b: int) -> int:\n    return a + b\n", 21),
    ("北京今天的天气非常好，我们去公园散步吧。", 15),
    ("Привет, как у тебя дела сегодня?", 11),
]
"""Texts and what cl100k and o200k make of them, about."""


@pytest.mark.parametrize(("text", "tokens"), COUNTED)
def test_an_estimate_is_near_what_tokenizers_count(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == pytest.approx(tokens, rel=0.45)


def test_no_text_is_no_token_and_any_text_at_least_one() -> None:
    assert (estimate_tokens(""), estimate_tokens("a"), estimate_tokens("。")) == (0, 1, 1)


def test_a_megabyte_is_estimated_in_passing() -> None:
    text = "北京 and more " * 100_000
    start = time.process_time()
    estimate_tokens(text)
    assert time.process_time() - start < 0.5


def test_a_meter_gives_the_same_however_the_messages_came() -> None:
    messages = [ChatMessage("user", "word " * n) for n in range(1, 9)]
    once = Meter().measure(messages)
    grown = Meter()
    for end in (1, 2, 5, 3, 8):
        measured = grown.measure(messages[:end])
    assert measured == once
    assert grown.measure(messages[2:]) == Meter().measure(messages[2:])
    assert grown.measure([]) == 0


def test_a_meter_learns_from_counts_but_not_from_a_server_that_cuts() -> None:
    sent = [ChatMessage("user", "some words and more " * 2_000)]
    meter = Meter()
    about = meter.measure(sent)
    assert meter.learn(sent, (), about * 2)
    assert meter.measure(sent) == pytest.approx(about * 2, rel=0.01)
    assert not meter.learn(sent, (), 2_051)
    assert meter.measure(sent) == pytest.approx(about * 2, rel=0.01)
    blanks = [ChatMessage("user", " " * 40_000)]
    assert Meter().learn(blanks, (), 400), "runs of one character take few tokens"

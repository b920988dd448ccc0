"""The estimate of tokens."""

import time

import pytest

from shipmate.llm.tokens import estimate_tokens

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

"""The many ways to say that a request is too long (SES-14), and what is not one."""

import json
from pathlib import Path

import pytest

from shipmate.llm.failures import failure_of_body
from shipmate.llm.model import ModelError
from shipmate.llm.windows import Windows, window_told

CASES = Path(__file__).parent.parent / "cases" / "reports.jsonl"


def test_the_table_has_every_row_of_the_case() -> None:
    rows = (json.loads(line) for line in CASES.read_text("utf-8").split("\n") if line)
    (case,) = [row for row in rows if row["id"] == "SES-14"]
    assert len(case["input"]["steps"]) == 10
    assert set(case["expect"]) == {"1-8", "9", "10"}


def error(message: str, **fields: object) -> bytes:
    return json.dumps({"error": {"message": message, **fields}}).encode()


TOO_LONG = [
    (400, error("no", code="context_length_exceeded"), 0),
    (400, error("This model's maximum context length is 8192 tokens. However, you"), 8_192),
    (400, error("", type="exceed_context_size_error", n_ctx=4096), 4_096),
    (400, error("the request exceeds the available context size (4096 tokens)"), 4_096),
    (400, error("prompt is too long: 210000 tokens > 200000 maximum"), 200_000),
    (413, b"", 0),
    (413, b"<html><h1>Payload Too Large</h1></html>", 0),
    (400, error("Range of input length should be [1, 30720]"), 30_720),
    (400, error("The input token count (9000) exceeds the maximum number of tokens allowed (8192)"),
     8_192),
    (400, error("input token count (9000) exceeds the maximum"), 0),
    (500, error("no user query found in messages"), 0),
    (400, error("This endpoint's maximum context length is 131,072 tokens."), 131_072),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "window"), TOO_LONG)
def test_it_is_recognised_and_its_numbers_teach(status: int, body: bytes, window: int) -> None:
    failure = failed(status, body)
    assert failure.kind == "too_long"
    assert window_told(str(failure)) == window


OTHER = [
    (429, error("Rate limit reached: tokens per minute (TPM): Limit 6000, Used 5900"),
     "rate_limit"),
    (400, error("max_tokens is too large: 100000. This model supports at most 16384 completion "
                "tokens"), "refused"),
    (400, error("'max_tokens' or 'max_completion_tokens' is too large: 30000. This model's maximum "
                "context length is 32768 tokens and your request has 5000 input tokens"),
     "refused"),
    (400, error("Invalid 'messages[0].role': must be a string"), "refused"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind"), OTHER)
def test_other_refusals_are_none(status: int, body: bytes, kind: str) -> None:
    assert failed(status, body).kind == kind


def test_what_to_do_is_told() -> None:
    assert "Lower max_output" in str(failed(*OTHER[1][:2]))
    assert "OLLAMA_CONTEXT_LENGTH" in str(failed(*TOO_LONG[10][:2]))


def test_a_limit_by_the_minute_is_no_window() -> None:
    assert window_told("Limit is 6000 tokens per minute; the limit is 6000 tokens") == 0


def test_a_window_that_was_told_only_ever_narrows_what_is_known() -> None:
    windows = Windows()
    assert not windows.learn("a/m", "too long")
    assert windows.learn("a/m", "maximum context length is 8192 tokens")
    assert windows.of("a/m", 128_000) == 8_192
    assert windows.of("a/m", 4_096) == 4_096
    assert windows.of("a/other", 128_000) == 128_000


def failed(status: int, body: bytes) -> ModelError:
    return failure_of_body(body, "P", status, {})

"""The many ways to say that a request is too long (SES-14), and what is not one."""

import json
from pathlib import Path

import pytest

from shipmate.llm.failures import failure_of_body
from shipmate.llm.lowering import LoweringModel, lowered
from shipmate.llm.model import ChatMessage, ModelError, Reply
from shipmate.llm.scripted import ScriptedModel, say
from shipmate.llm.windows import Learned, Windows, window_told

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


async def test_a_window_that_was_told_holds_until_another_one_is_set() -> None:
    kept: dict[str, Learned] = {}

    async def keep(model: str, learned: Learned) -> None:
        kept[model] = learned

    windows = Windows(keep=keep)
    assert not await windows.learn("a/m", 128_000, "too long")
    assert await windows.learn("a/m", 128_000, "maximum context length is 8192 tokens")
    for known in (windows, Windows(kept)):
        assert known.of("a/m", 128_000) == 8_192
        assert known.of("a/m", 16_000) == 16_000, "what is set anew is tried"
        assert known.of("a/other", 128_000) == 128_000


LOWER = [
    (400, error("max_tokens is too large: 100000. This model supports at most 16384 completion "
                "tokens"), 100_000, (16_384, True)),
    (400, error("`max_tokens` must be less than or equal to `8192`, the maximum value for "
                "`max_tokens` is less than the `context_window` for this model"),
     30_000, (8_192, True)),
    (400, error("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"),
     30_000, (8_192, True)),
    (400, error("max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens"),
     100_000, (8_192, True)),
    (400, error("max_tokens is too large"), 30_000, (15_000, True)),
    (400, error("'max_tokens' or 'max_completion_tokens' is too large: 30000. This model's maximum "
                "context length is 32768 tokens and your request has 5000 input tokens"),
     30_000, (27_768, False)),
    (400, error("This model's maximum context length is 4096 tokens. However, you requested 5000 "
                "tokens (1000 in the messages, 4000 in the completion)."), 4_000, (3_096, False)),
    (400, error("This model's maximum context length is 4096 tokens. However, you requested 5000 "
                "tokens (4900 in the messages, 100 in the completion)."), 100, (0, False)),
    (400, error("Invalid 'messages[0].role': must be a string"), 30_000, (0, False)),
    (413, b"", 30_000, (0, False)),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "asked", "lower"), LOWER)
def test_how_long_a_reply_may_be_is_read_from_the_refusal(
    status: int, body: bytes, asked: int, lower: tuple[int, bool]
) -> None:
    assert lowered(failed(status, body), asked) == lower


async def test_a_reply_that_was_asked_for_too_long_is_asked_for_shorter_and_told() -> None:
    refusal = failed(*LOWER[0][:2])
    asked: list[int] = []

    def make(most: int) -> ScriptedModel:
        asked.append(most)
        return ScriptedModel([refusal] if most > 16_384 else [say("Hi."), say("Again.")])

    windows = Windows()
    model = LoweringModel(make, 100_000, windows)
    first = await whole(model)
    assert (first.text, asked) == ("Hi.", [100_000, 16_384])
    assert "16,384" in first.notes[0]
    again = await whole(LoweringModel(make, 100_000, windows))
    assert (again.text, again.notes) == ("Hi.", ()), "it is said once, and known from then on"


async def test_a_reply_that_can_be_no_shorter_is_no_loop() -> None:
    refusal = failed(400, error("max_tokens is too large"))
    model = LoweringModel(lambda _most: ScriptedModel([refusal]), 1_000, Windows())
    with pytest.raises(ModelError, match="Lower max_output"):
        await whole(model)


async def whole(model: LoweringModel) -> Reply:
    items = [item async for item in model.stream([ChatMessage("user", "hi")], [])]
    assert isinstance(items[-1], Reply)
    return items[-1]


def failed(status: int, body: bytes) -> ModelError:
    return failure_of_body(body, "P", status, {})

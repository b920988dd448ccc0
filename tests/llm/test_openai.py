"""Models over HTTP, against a real server on loopback."""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from shipmate.llm.connections import Connections
from shipmate.llm.model import ChatMessage, ModelError, ModelInfo, Part, Reply, ToolSpec
from shipmate.llm.openai import Endpoint, Limits, OpenAIModel
from tests.provider import (
    Answer,
    Provider,
    call_reply,
    chunk,
    error_reply,
    sse,
    text_reply,
)

CASES = Path(__file__).parent.parent / "cases"
HELLO = [ChatMessage("user", "hello")]
KEY = "sk-verysecret-1234567890"
TOOL = ToolSpec("read_file", "Read.", {"type": "object", "properties": {}})


@asynccontextmanager
async def model_of(url: str, **options: Any) -> AsyncGenerator[OpenAIModel]:
    connections = Connections()
    endpoint = Endpoint("Acme", url, KEY, **options)
    try:
        yield OpenAIModel(ModelInfo("acme/m"), endpoint, connections)
    finally:
        await connections.close()


async def ask(url: str, **options: Any) -> Reply:
    """One request; the reply, checked against its parts."""
    async with model_of(url, **options) as model:
        return await follow(model)


async def follow(model: OpenAIModel) -> Reply:
    items = [item async for item in model.stream(HELLO, [TOOL])]
    reply = items.pop()
    assert isinstance(reply, Reply)
    assert "".join(i.text for i in items if isinstance(i, Part)) == reply.text
    return reply


async def fails(url: str, **options: Any) -> ModelError:
    with pytest.raises(ModelError) as failure:
        await ask(url, **options)
    assert KEY not in str(failure.value)
    return failure.value


async def test_an_answer_is_streamed_and_the_request_is_right(provider: Provider) -> None:
    provider.queue(text_reply("Hello", " there"))
    reply = await ask(provider.url)
    assert reply.text == "Hello there"
    assert reply.usage is not None
    (seen,) = provider.seen
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.body["tools"][0]["function"]["name"] == "read_file"


@pytest.mark.parametrize("split", [0, 1, 7])
async def test_calls_come_whole_however_the_network_cuts_them(
    provider: Provider, split: int
) -> None:
    provider.queue(Answer(call_reply(("read_file", {"path": "名.txt"}), text="See"), split=split))
    reply = await ask(provider.url)
    assert [(c.name, c.arguments) for c in reply.calls] == [("read_file", {"path": "名.txt"})]


async def test_parts_come_as_they_are_sent(provider: Provider) -> None:
    provider.queue(Answer(sse(chunk({"content": "One"}), done=False), after="hang"))
    async with model_of(provider.url) as model:
        stream = model.stream(HELLO, [])
        assert await asyncio.wait_for(anext(stream), 5) == Part("One")
        await stream.aclose()


async def test_closing_the_stream_closes_the_socket_at_once(provider: Provider) -> None:
    provider.queue(Answer(sse(chunk({"content": "One"}), done=False), after="hang"))
    async with model_of(provider.url) as model:
        stream = model.stream(HELLO, [])
        await anext(stream)
        start = time.monotonic()
        await stream.aclose()
        assert await asyncio.to_thread(provider.seen[0].gone.wait, 5)
        assert time.monotonic() - start < 1


async def test_cancelling_before_the_first_byte_closes_the_socket(provider: Provider) -> None:
    provider.queue(Answer(gate=threading.Event()))
    async with model_of(provider.url) as model:
        task = asyncio.ensure_future(follow(model))
        while not provider.seen:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(provider.seen[0].gone.wait, 5)


# --- limits ------------------------------------------------------------------------------


async def test_a_provider_that_never_answers_is_given_up(provider: Provider) -> None:
    provider.queue(Answer(gate=threading.Event()))
    failure = await fails(provider.url, limits=Limits(first_byte=0.1))
    assert failure.kind == "unreachable"
    assert "did not answer within 0.1 s" in str(failure)


async def test_silence_in_mid_answer_is_given_up_and_what_was_said_is_kept(
    provider: Provider,
) -> None:
    data = (CASES / "files/STR-28/reply.sse").read_bytes()
    provider.queue(Answer(data, after="hang"))
    failure = await fails(provider.url, limits=Limits(idle=0.1))
    assert "fell silent" in str(failure)
    assert failure.partial is not None
    assert (failure.partial.text, failure.partial.reasoning) == ("One", "Hm")


async def test_comments_are_signs_of_life_but_not_for_ever(provider: Provider) -> None:
    ping = b": ping\n\n"
    provider.queue(Answer(ping * 20 + text_reply("late"), split=len(ping), delay=0.02))
    assert (await ask(provider.url, limits=Limits(idle=0.3))).text == "late"
    provider.queue(Answer(ping * 50, split=len(ping), delay=0.02))
    failure = await fails(provider.url, limits=Limits(idle=0.3, quiet=0.2))
    assert "said nothing" in str(failure)


async def test_an_answer_without_end_is_ended(provider: Provider) -> None:
    endless = sse(*[chunk({"content": "x"})] * 50, done=False)
    provider.queue(Answer(endless, split=len(endless) // 50, delay=0.02))
    assert "too long" in str(await fails(provider.url, limits=Limits(total=0.2)))


async def test_after_the_end_nothing_is_waited_for(provider: Provider) -> None:
    provider.queue(Answer(text_reply("Hi"), after="hang"))
    async with asyncio.timeout(3):
        assert (await ask(provider.url)).text == "Hi"
    no_done = sse(chunk({"content": "Hi"}), chunk(finish="stop"), done=False)
    provider.queue(Answer(no_done, after="hang"))
    async with asyncio.timeout(3):
        assert (await ask(provider.url, limits=Limits(after_end=0.05))).text == "Hi"


# --- failures ----------------------------------------------------------------------------

STATUSES: list[tuple[Answer, str, str]] = [
    (error_reply(401, f"Incorrect API key provided: {KEY}"), "auth", "Acme in the settings"),
    (error_reply(403, f"key {KEY[:9]}****7890 may not"), "auth", "[key] may not"),
    (error_reply(402, "Insufficient Balance"), "quota", "Insufficient Balance"),
    (error_reply(429, "You exceeded your current quota", code="insufficient_quota"), "quota",
     "does not pass"),
    (error_reply(429, "slow down"), "rate_limit", "slow down"),
    (error_reply(429, "Rate limit reached. See https://acme.test/account/billing"), "rate_limit",
     "try again in a while"),
    (error_reply(429, "You exceeded your current quota. Please retry in 27.5s."), "rate_limit",
     "try again in a while"),
    (error_reply(400, "the request exceeds the available context size"), "too_long", "compact"),
    (error_reply(400, "The input token count (9) exceeds the maximum number of tokens"),
     "too_long", "compact"),
    (error_reply(400, "Range of input length should be [1, 30720]"), "too_long", "compact"),
    (error_reply(400, "This model's maximum context length is 8192 tokens"), "too_long",
     "compact it"),
    (error_reply(400, "prompt is too long: 9 tokens"), "too_long", "compact it"),
    (error_reply(413, "", code="context_length_exceeded"), "too_long", "compact it"),
    (error_reply(400, "unknown field x"), "refused", "unknown field x"),
    (error_reply(404, "no model m"), "refused", "no model m"),
    (error_reply(500, "oops"), "overloaded", "oops"),
    (error_reply(529, "busy"), "overloaded", "busy"),
    (Answer(b"<html><title>502</title><body>Bad Gateway</body>", 502, "text/html"), "overloaded",
     "Bad Gateway"),
    (Answer(b"", 503), "overloaded", "no reason given"),
    (Answer(b'{"detail":[{"msg":"bad"}]}', 422), "refused", "bad"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "kind", "words"), STATUSES)
async def test_a_refusal_is_told_in_the_providers_words(
    provider: Provider, answer: Answer, kind: str, words: str
) -> None:
    provider.queue(answer)
    failure = await fails(provider.url)
    assert failure.kind == kind
    assert words in str(failure)
    assert KEY[:9] not in str(failure)


AFTER = [("3", 3.0), ("-1", 0.0), ("36000", 36_000.0), ("soon", None), ("", None)]


@pytest.mark.parametrize(("header", "seconds"), AFTER)
async def test_the_time_to_wait_is_read(
    provider: Provider, header: str, seconds: float | None
) -> None:
    provider.queue(error_reply(429, headers={"Retry-After": header}))
    assert (await fails(provider.url)).retry_after == seconds


async def test_the_time_to_wait_may_stand_in_the_words(provider: Provider) -> None:
    provider.queue(
        error_reply(429, "Please try again in 20s."), error_reply(429, "try again in 6ms")
    )
    assert (await fails(provider.url)).retry_after == 20
    assert (await fails(provider.url)).retry_after == 0.006


async def test_the_time_to_wait_may_be_a_date(provider: Provider) -> None:
    past = {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}
    provider.queue(error_reply(429, headers=past))
    assert (await fails(provider.url)).retry_after == 0


async def test_a_redirect_is_not_followed(provider: Provider) -> None:
    other = Provider()
    try:
        there = {"Location": f"{other.url}/chat/completions"}
        provider.queue(Answer(b"", 307, headers=there))
        failure = await fails(provider.url)
    finally:
        other.close()
    assert other.seen == []
    assert other.url in str(failure)


async def test_a_server_that_is_not_there_is_told_in_one_line() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    failure = await fails(f"http://127.0.0.1:{port}/v1")
    assert failure.kind == "unreachable"
    assert str(failure) == (
        f"Acme at http://127.0.0.1:{port}/v1 cannot be reached: Connection refused. Is it running?"
    )


async def test_a_name_that_does_not_exist_is_told() -> None:
    failure = await fails("http://no-such-host.invalid/v1")
    assert "was not found" in str(failure)


async def test_a_server_without_encryption_is_told() -> None:
    provider = Provider()
    try:
        failure = await fails(provider.url.replace("http:", "https:"))
    finally:
        provider.close()
    assert "encrypted connection" in str(failure)


async def test_a_base_url_that_is_none_is_told() -> None:
    assert "not a URL that can be used" in str(await fails("http://[nonsense/v1"))


async def test_a_broken_connection_is_an_answer_cut_short(provider: Provider) -> None:
    provider.queue(Answer(sse(chunk({"content": "Half"}), done=False), after="reset"))
    failure = await fails(provider.url)
    assert failure.kind == "truncated"
    assert failure.partial is not None
    assert failure.partial.text == "Half"


async def test_a_body_shorter_than_announced_is_an_answer_cut_short(provider: Provider) -> None:
    half = sse(chunk({"content": "Half"}), done=False)
    provider.queue(Answer(half, headers={"Content-Length": str(len(half) + 100)}))
    assert (await fails(provider.url)).kind == "truncated"


async def test_a_failure_in_a_good_answer_is_told(provider: Provider) -> None:
    data = (CASES / "files/STR-24/reply.sse").read_bytes()
    provider.queue(Answer(data, content_type="application/json"))
    failure = await fails(provider.url)
    assert failure.kind == "quota"
    assert "quota exceeded" in str(failure)


# --- what is learned ---------------------------------------------------------------------


async def test_a_refused_option_is_left_out_from_then_on(provider: Provider) -> None:
    provider.queue(error_reply(400, "unknown field stream_options"))
    async with model_of(provider.url) as model:
        await follow(model)
        await follow(model)
    assert ["stream_options" in seen.body for seen in provider.seen] == [True, False, False]
    assert all("tools" in seen.body for seen in provider.seen)


async def test_without_tools_none_are_mentioned(provider: Provider) -> None:
    async with model_of(provider.url) as model:
        _ = [item async for item in model.stream(HELLO, [])]
    assert "tools" not in provider.seen[0].body
    assert "tool_choice" not in provider.seen[0].body


async def test_megabytes_are_sent_whole(provider: Provider) -> None:
    text = "0123456789" * 300_000
    async with model_of(provider.url) as model:
        _ = [item async for item in model.stream([ChatMessage("user", text)], [])]
    assert provider.seen[0].messages[0]["content"] == text


async def test_fields_of_the_endpoint_are_sent(provider: Provider) -> None:
    await ask(provider.url, extra={"reasoning_effort": "high"})
    assert provider.seen[0].body["reasoning_effort"] == "high"

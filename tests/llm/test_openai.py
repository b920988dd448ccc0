"""Models over HTTP in each dialect, against a real server on loopback."""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from shipmate.llm.connections import Connections
from shipmate.llm.endpoint import Endpoint, Limits
from shipmate.llm.model import ChatMessage, Model, ModelError, ModelInfo, Part, Reply, ToolSpec
from tests.dialects import CHAT, DIALECTS, Dialect, said_to
from tests.provider import Answer, Provider

HELLO = [ChatMessage("user", "hello")]
KEY = "sk-verysecret-1234567890"
TOOL = ToolSpec("read_file", "Read.", {"type": "object", "properties": {}})


@pytest.fixture(params=DIALECTS.values(), ids=list(DIALECTS))
def speak(request: pytest.FixtureRequest) -> Dialect:
    return request.param


@pytest.fixture
def provider(speak: Dialect) -> Iterator[Provider]:
    """A provider on loopback; at the end no request may have broken a rule."""
    provider = speak.server()
    yield provider
    provider.close()
    assert provider.broken == []


@asynccontextmanager
async def model_of(speak: Dialect, url: str, **options: Any) -> AsyncGenerator[Model]:
    connections = Connections()
    endpoint = Endpoint("Acme", url, KEY, **options)
    try:
        yield speak.model(ModelInfo("acme/m"), endpoint, connections)
    finally:
        await connections.close()


async def ask(speak: Dialect, url: str, **options: Any) -> Reply:
    """One request; the reply, checked against its parts."""
    async with model_of(speak, url, **options) as model:
        return await follow(model)


async def follow(model: Model) -> Reply:
    items = [item async for item in model.stream(HELLO, [TOOL])]
    reply = items.pop()
    assert isinstance(reply, Reply)
    assert "".join(i.text for i in items if isinstance(i, Part)) == reply.text
    return reply


async def fails(speak: Dialect, url: str, **options: Any) -> ModelError:
    with pytest.raises(ModelError) as failure:
        await ask(speak, url, **options)
    assert KEY not in str(failure.value)
    return failure.value


async def test_an_answer_is_streamed_and_the_request_is_right(
    provider: Provider, speak: Dialect
) -> None:
    provider.queue(speak.text("Hello", " there"))
    reply = await ask(speak, provider.url)
    assert reply.text == "Hello there"
    assert reply.usage is not None
    (seen,) = provider.seen
    header, before = speak.key
    assert seen.path == f"/v1{speak.path}"
    assert seen.headers[header] == f"{before}{KEY}"
    assert speak.tools(seen.body) == ["read_file"]


@pytest.mark.parametrize("split", [0, 1, 7])
async def test_calls_come_whole_however_the_network_cuts_them(
    provider: Provider, speak: Dialect, split: int
) -> None:
    provider.queue(Answer(speak.calls(("read_file", {"path": "名.txt"}), said="See"), split=split))
    reply = await ask(speak, provider.url)
    assert [(c.name, c.arguments) for c in reply.calls] == [("read_file", {"path": "名.txt"})]


async def test_parts_come_as_they_are_sent(provider: Provider, speak: Dialect) -> None:
    provider.queue(Answer(speak.begun("One"), after="hang"))
    async with model_of(speak, provider.url) as model:
        stream = model.stream(HELLO, [])
        assert await asyncio.wait_for(anext(stream), 5) == Part("One")
        await stream.aclose()


async def test_closing_the_stream_closes_the_socket_at_once(
    provider: Provider, speak: Dialect
) -> None:
    provider.queue(Answer(speak.begun("One"), after="hang"))
    async with model_of(speak, provider.url) as model:
        stream = model.stream(HELLO, [])
        await anext(stream)
        start = time.monotonic()
        await stream.aclose()
        assert await asyncio.to_thread(provider.seen[0].gone.wait, 5)
        assert time.monotonic() - start < 1


async def test_cancelling_before_the_first_byte_closes_the_socket(
    provider: Provider, speak: Dialect
) -> None:
    provider.queue(Answer(gate=threading.Event()))
    async with model_of(speak, provider.url) as model:
        task = asyncio.ensure_future(follow(model))
        while not provider.seen:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(provider.seen[0].gone.wait, 5)


# --- limits ------------------------------------------------------------------------------


async def test_a_provider_that_never_answers_is_given_up(
    provider: Provider, speak: Dialect
) -> None:
    provider.queue(Answer(gate=threading.Event()))
    failure = await fails(speak, provider.url, limits=Limits(first_byte=0.1))
    assert failure.kind == "unreachable"
    assert "did not answer within 0.1 s" in str(failure)


async def test_silence_in_mid_answer_is_given_up_and_what_was_said_is_kept(
    provider: Provider,
    speak: Dialect,
) -> None:
    provider.queue(Answer(speak.begun("One", "Hm"), after="hang"))
    failure = await fails(speak, provider.url, limits=Limits(idle=0.1))
    assert "fell silent" in str(failure)
    assert failure.partial is not None
    assert (failure.partial.text, failure.partial.reasoning) == ("One", "Hm")


async def test_comments_are_signs_of_life_but_not_for_ever(
    provider: Provider, speak: Dialect
) -> None:
    ping = b": ping\n\n"
    provider.queue(Answer(ping * 20 + speak.text("late"), split=len(ping), delay=0.02))
    assert (await ask(speak, provider.url, limits=Limits(idle=0.3))).text == "late"
    provider.queue(Answer(ping * 50, split=len(ping), delay=0.02))
    failure = await fails(speak, provider.url, limits=Limits(idle=0.3, quiet=0.2))
    assert "said nothing" in str(failure)


async def test_an_answer_without_end_is_ended(provider: Provider, speak: Dialect) -> None:
    endless = speak.begun("x") * 50
    provider.queue(Answer(endless, split=len(endless) // 50, delay=0.02))
    assert "too long" in str(await fails(speak, provider.url, limits=Limits(total=0.2)))


async def test_after_the_end_nothing_is_waited_for(provider: Provider, speak: Dialect) -> None:
    if speak.text("Hi") != speak.unclosed("Hi"):
        provider.queue(Answer(speak.text("Hi"), after="hang"))
        async with asyncio.timeout(30):
            assert (await ask(speak, provider.url, limits=Limits(after_end=60))).text == "Hi"
    provider.queue(Answer(speak.unclosed("Hi"), after="hang"))
    async with asyncio.timeout(30):
        assert (await ask(speak, provider.url, limits=Limits(after_end=0.05))).text == "Hi"


# --- failures ----------------------------------------------------------------------------


def told(status: int, words: str, **options: Any) -> Callable[[Dialect], Answer]:
    return lambda speak: speak.refusal(status, words, **options)


STATUSES: list[tuple[Callable[[Dialect], Answer], str, str]] = [
    (told(401, f"Incorrect API key provided: {KEY}"), "auth", "Acme in the settings"),
    (told(403, f"key {KEY[:9]}****7890 may not"), "auth", "[key] may not"),
    (told(402, "Insufficient Balance"), "quota", "Insufficient Balance"),
    (told(429, "You exceeded your current quota", code="insufficient_quota"), "quota",
     "does not pass"),
    (told(429, "slow down"), "rate_limit", "slow down"),
    (told(429, "Rate limit reached. See https://acme.test/account/billing"), "rate_limit",
     "try again in a while"),
    (told(429, "You exceeded your current quota. Please retry in 27.5s."), "rate_limit",
     "try again in a while"),
    (told(400, "the request exceeds the available context size"), "too_long", "compact"),
    (told(400, "The input token count (9) exceeds the maximum number of tokens"),
     "too_long", "compact"),
    (told(400, "Range of input length should be [1, 30720]"), "too_long", "compact"),
    (told(400, "This model's maximum context length is 8192 tokens"), "too_long",
     "compact it"),
    (told(400, "prompt is too long: 9 tokens"), "too_long", "compact it"),
    (told(413, "", code="context_length_exceeded"), "too_long", "compact it"),
    (told(400, "unknown field x"), "refused", "unknown field x"),
    (told(404, "no model m"), "refused", "no model m"),
    (told(500, "oops"), "overloaded", "oops"),
    (told(529, "busy"), "overloaded", "busy"),
    (lambda _: Answer(b"<html><title>502</title><body>Bad Gateway</body>", 502, "text/html"),
     "overloaded", "Bad Gateway"),
    (lambda _: Answer(b"", 503), "overloaded", "no reason given"),
    (lambda _: Answer(b'{"detail":[{"msg":"bad"}]}', 422), "refused", "bad"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "kind", "words"), STATUSES)
async def test_a_refusal_is_told_in_the_providers_words(
    provider: Provider, speak: Dialect, answer: Callable[[Dialect], Answer], kind: str, words: str
) -> None:
    provider.queue(answer(speak))
    failure = await fails(speak, provider.url)
    assert failure.kind == kind
    assert words in str(failure)
    assert KEY[:9] not in str(failure)


AFTER = [("3", 3.0), ("-1", 0.0), ("36000", 36_000.0), ("soon", None), ("", None)]


@pytest.mark.parametrize(("header", "seconds"), AFTER)
async def test_the_time_to_wait_is_read(
    provider: Provider, speak: Dialect, header: str, seconds: float | None
) -> None:
    provider.queue(speak.refusal(429, headers={"Retry-After": header}))
    assert (await fails(speak, provider.url)).retry_after == seconds


async def test_the_time_to_wait_may_stand_in_the_words(provider: Provider, speak: Dialect) -> None:
    provider.queue(
        speak.refusal(429, "Please try again in 20s."), speak.refusal(429, "try again in 6ms")
    )
    assert (await fails(speak, provider.url)).retry_after == 20
    assert (await fails(speak, provider.url)).retry_after == 0.006


async def test_the_time_to_wait_may_be_a_date(provider: Provider, speak: Dialect) -> None:
    past = {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}
    provider.queue(speak.refusal(429, headers=past))
    assert (await fails(speak, provider.url)).retry_after == 0


async def test_a_redirect_is_not_followed(provider: Provider, speak: Dialect) -> None:
    other = Provider()
    try:
        there = {"Location": f"{other.url}/chat/completions"}
        provider.queue(Answer(b"", 307, headers=there))
        failure = await fails(speak, provider.url)
    finally:
        other.close()
    assert other.seen == []
    assert other.url in str(failure)


async def test_a_server_that_is_not_there_is_told_in_one_line(speak: Dialect) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    failure = await fails(speak, f"http://127.0.0.1:{port}/v1")
    assert failure.kind == "unreachable"
    assert str(failure) == (
        f"Acme at http://127.0.0.1:{port}/v1 cannot be reached: Connection refused. Is it running?"
    )


async def test_a_name_that_does_not_exist_is_told(speak: Dialect) -> None:
    failure = await fails(speak, "http://no-such-host.invalid/v1")
    assert "was not found" in str(failure)


async def test_a_server_without_encryption_is_told(speak: Dialect) -> None:
    provider = Provider()
    try:
        failure = await fails(speak, provider.url.replace("http:", "https:"))
    finally:
        provider.close()
    assert "encrypted connection" in str(failure)


async def test_a_base_url_that_is_none_is_told(speak: Dialect) -> None:
    assert "not a URL that can be used" in str(await fails(speak, "http://[nonsense/v1"))


async def test_a_broken_connection_is_an_answer_cut_short(
    provider: Provider, speak: Dialect
) -> None:
    provider.queue(Answer(speak.begun("Half"), after="reset"))
    failure = await fails(speak, provider.url)
    assert failure.kind == "truncated"
    assert failure.partial is not None
    assert failure.partial.text == "Half"


async def test_a_body_shorter_than_announced_is_an_answer_cut_short(
    provider: Provider, speak: Dialect
) -> None:
    half = speak.begun("Half")
    provider.queue(Answer(half, headers={"Content-Length": str(len(half) + 100)}))
    assert (await fails(speak, provider.url)).kind == "truncated"


async def test_a_failure_in_a_good_answer_is_told(provider: Provider, speak: Dialect) -> None:
    body = speak.refusal(429, "quota exceeded").body
    provider.queue(Answer(body, content_type="application/json"))
    failure = await fails(speak, provider.url)
    assert failure.kind == "quota"
    assert "quota exceeded" in str(failure)


# --- what is learned ---------------------------------------------------------------------


@pytest.mark.parametrize("speak", [CHAT], ids=["chat"])
async def test_a_refused_option_is_left_out_from_then_on(
    provider: Provider, speak: Dialect
) -> None:
    provider.queue(speak.refusal(400, "unknown field stream_options"))
    async with model_of(speak, provider.url) as model:
        await follow(model)
        await follow(model)
    assert ["stream_options" in seen.body for seen in provider.seen] == [True, False, False]
    assert all("tools" in seen.body for seen in provider.seen)


async def test_without_tools_none_are_mentioned(provider: Provider, speak: Dialect) -> None:
    async with model_of(speak, provider.url) as model:
        _ = [item async for item in model.stream(HELLO, [])]
    assert "tools" not in provider.seen[0].body
    assert "tool_choice" not in provider.seen[0].body


async def test_megabytes_are_sent_whole(provider: Provider, speak: Dialect) -> None:
    text = "0123456789" * 300_000
    async with model_of(speak, provider.url) as model:
        _ = [item async for item in model.stream([ChatMessage("user", text)], [])]
    assert text in said_to(provider.seen[0].body)


@pytest.mark.parametrize("speak", [CHAT], ids=["chat"])
async def test_fields_of_the_endpoint_are_sent(provider: Provider, speak: Dialect) -> None:
    await ask(speak, provider.url, extra={"reasoning_effort": "high"})
    assert provider.seen[0].body["reasoning_effort"] == "high"

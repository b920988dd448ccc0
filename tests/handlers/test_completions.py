"""Agents behind Chat Completions: conversations, approvals, refusals."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam

from shipmate.llm.scripted import Step, call, say, together
from tests.handlers.client import Answered
from tests.handlers.house import Whole, whole
from tests.handlers.live import serving

MODEL = "shipmate/assistant"


@asynccontextmanager
async def house_and_client(
    folder: Path, steps: list[Step], config: str = ""
) -> AsyncGenerator[tuple[Whole, openai.AsyncOpenAI]]:
    """The `openai` package's client, of a server that it reaches over HTTP."""
    (folder / "config.toml").write_text(config)
    async with whole(folder, steps) as house, serving(house.gate) as port:
        place = house.gate.house.place
        place.origins[f"127.0.0.1:{port}"] = f"http://127.0.0.1:{port}"
        _, secret = await house.keys.create_token("open webui", ["run"])
        async with openai.AsyncOpenAI(
            base_url=f"http://127.0.0.1:{port}/v1", api_key=secret, max_retries=0
        ) as client:
            yield house, client


def user(text: str) -> ChatCompletionMessageParam:
    return {"role": "user", "content": text}


def assistant(text: str | None) -> ChatCompletionMessageParam:
    return {"role": "assistant", "content": text or ""}


async def post(house: Whole, **fields: Any) -> Answered:
    given = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}]} | fields
    return await house.call("POST", "/v1/chat/completions", msgspec.json.encode(given))


async def test_agents_are_listed_as_models(tmp_path: Path) -> None:
    async with house_and_client(tmp_path, []) as (_, client):
        listed = [one.id async for one in client.models.list()]
    assert listed == [MODEL]


async def test_an_answer_comes_whole_with_its_tokens_and_session(tmp_path: Path) -> None:
    async with house_and_client(tmp_path, [say("Hello!")]) as (house, client):
        answer = await client.chat.completions.create(model=MODEL, messages=[user("hi")])
        session = answer.model_dump()["session"]
        row = await house.executor.store.session(session)
    assert answer.choices[0].message.content == "Hello!"
    assert answer.choices[0].finish_reason == "stop"
    assert row.project == "demo"


async def test_a_stream_has_the_text_in_pieces_and_thinking_apart(tmp_path: Path) -> None:
    reply = say("A longer answer, in more pieces than one.", reasoning="Let me think.")
    async with house_and_client(tmp_path, [reply]) as (_, client):
        stream = await client.chat.completions.create(
            model=MODEL, messages=[user("hi")], stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(d.content or "" for d in deltas) == reply.text
    assert "".join(d.model_dump().get("reasoning_content") or "" for d in deltas) == "Let me think."
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].usage is not None


async def test_a_conversation_is_one_session(tmp_path: Path) -> None:
    async with house_and_client(tmp_path, [say("1"), say("2"), say("3")]) as (house, client):
        said = [user("one")]
        sessions: set[str] = set()
        for text in ("two", "three", ""):
            answer = await client.chat.completions.create(model=MODEL, messages=said)
            sessions.add(answer.model_dump()["session"])
            said += [assistant(answer.choices[0].message.content), user(text)]
        sent = house.model.requests[-1].messages
    assert len(sessions) == 1
    assert [m.text for m in sent if m.role in ("user", "assistant")] == [
        "one",
        "1",
        "two",
        "2",
        "three",
    ]


async def test_conversations_that_begin_alike_and_edited_ones_are_apart(tmp_path: Path) -> None:
    steps: list[Step] = [say(str(n)) for n in range(4)]
    async with house_and_client(tmp_path, steps) as (house, client):

        async def ask(*texts: str) -> str:
            messages = [user(texts[0])]
            for text in texts[1:]:
                messages += [assistant("…"), user(text)]
            answer = await client.chat.completions.create(model=MODEL, messages=messages)
            return answer.model_dump()["session"]

        first, second = await ask("hello"), await ask("hello")
        edited = await ask("hello", "was never answered so", "and now")
        gone_on = await ask("hello", "go on")
        told = house.model.requests[2].messages
    assert first != second
    assert edited not in (first, second)
    assert gone_on in (first, second)
    assert any("was never answered so" in str(m.text) for m in told)


async def test_a_call_that_asks_ends_an_answer_with_the_link(tmp_path: Path) -> None:
    async with house_and_client(tmp_path, [call("note", text="x")]) as (house, client):
        answer = await client.chat.completions.create(model=MODEL, messages=[user("write")])
        session = answer.model_dump()["session"]
        row = await house.executor.store.session(session)
    content = answer.choices[0].message.content or ""
    assert f"/#/s/{session}" in content
    assert "approval" in content
    assert row.status == "waiting_approval"
    assert not (house.project / "note.txt").exists()


async def test_a_stream_waits_for_the_decision_and_goes_on(tmp_path: Path) -> None:
    steps: list[Step] = [together(say("I write."), call("note", text="x")), say("Written.")]
    async with house_and_client(tmp_path, steps) as (house, client):
        stream = await client.chat.completions.create(
            model=MODEL, messages=[user("write")], stream=True
        )
        text = ""
        async for chunk in stream:
            text += chunk.choices[0].delta.content or ""
            if "/#/s/" in text and "Written." not in text and not text.endswith("decided"):
                session = chunk.model_dump()["session"]
                [waiting] = await house.executor.store.pending()
                if waiting[1]:
                    await house.executor.decide(session, True)
                    text += "decided"
    assert text.startswith("I write.")
    assert text.endswith("Written.")
    assert (house.project / "note.txt").read_text() == "x"


async def test_deny_tells_the_model_that_nobody_is_there(tmp_path: Path) -> None:
    config = '[completions]\napprovals = "deny"\n'
    steps: list[Step] = [call("note", text="x"), say("I may not.")]
    async with house_and_client(tmp_path, steps, config) as (house, client):
        answer = await client.chat.completions.create(model=MODEL, messages=[user("write")])
        told = house.model.requests[-1].messages[-1]
    assert answer.choices[0].message.content == "I may not."
    assert "Nobody is there" in str(told.text)
    assert not (house.project / "note.txt").exists()


async def test_a_client_that_leaves_stops_the_round(tmp_path: Path) -> None:
    begun, never = asyncio.Event(), asyncio.Event()

    async def endless(*_: object) -> AsyncGenerator[Any]:
        begun.set()
        await never.wait()
        yield say("never")

    def step(*_: object) -> AsyncGenerator[Any]:
        return endless()

    async with house_and_client(tmp_path, [step]) as (house, client):
        stream = await client.chat.completions.create(
            model=MODEL, messages=[user("hi")], stream=True
        )
        session = (await anext(aiter(stream))).model_dump()["session"]
        await begun.wait()
        following = house.executor.until_done(session)
        await stream.close()
        told = [item async for batch in following for item in batch]
    assert msgspec.json.decode(told[-1].data)["reason"] == "stopped"


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({"model": "gpt-4o"}, 404, "shipmate/<agent>/<project>"),
        ({"model": "shipmate/nobody"}, 404, "There is no agent 'nobody'"),
        ({"model": "shipmate/assistant/other"}, 404, "other"),
        ({"messages": []}, 422, "The last of `messages`"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, 422, "The last of `messages`"),
        ({"tools": [{"type": "function"}]}, 422, "`tools` cannot be given"),
        ({"n": 2}, 422, "`n` can only be 1"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            422,
            "no 'image_url'",
        ),
    ],
)
async def test_what_cannot_be_is_refused_in_the_form_clients_read(
    tmp_path: Path, fields: dict[str, Any], status: int, words: str
) -> None:
    async with whole(tmp_path) as house:
        answer = await post(house, **fields)
    assert answer.status == status
    assert words in answer.json["error"]["message"]


async def test_a_token_that_may_only_read_starts_nothing(tmp_path: Path) -> None:
    async with house_and_client(tmp_path, []) as (house, client):
        _, secret = await house.keys.create_token("reader", ["read"])
        reader = client.with_options(api_key=secret)
        with pytest.raises(openai.PermissionDeniedError, match="lacks the scope 'run'"):
            await reader.chat.completions.create(model=MODEL, messages=[user("hi")])

"""Compaction and usage over HTTP, and with a provider over HTTP."""

import json
from pathlib import Path

import msgspec
import pytest

from shipmate.agent.profile import ASSISTANT, Agent
from shipmate.llm.connections import Connections
from shipmate.llm.endpoint import Endpoint
from shipmate.llm.model import ModelInfo
from shipmate.llm.openai import OpenAIModel
from shipmate.llm.retry import RetryingModel
from shipmate.llm.scripted import Step, call, say
from shipmate.protocol import SessionRow, Summary, System, Usage
from shipmate.tools.tool import Workspace
from tests.handlers.house import Whole, whole
from tests.play import stage
from tests.provider import Answer, Provider, call_reply, chunk, error_reply, sse, text_reply
from tests.session.trade import TOOLS, done

SAID = Usage(prompt=120, completion=30)


async def talked(house: Whole) -> str:
    """A session with two answers, over the executor."""
    row = await house.executor.create(agent="assistant", provider="scripted/demo", project="demo")
    for text in ("first task", "second"):
        await house.executor.send(row.id, text)
        async for _ in house.executor.until_done(row.id):
            pass
    return row.id


async def test_compacted_edited_and_taken_back_over_http(tmp_path: Path) -> None:
    steps: list[Step] = [
        say("A. " * 900, usage=SAID),
        say("B.", usage=SAID),
        say("Short.", usage=SAID),
    ]
    async with whole(tmp_path, steps) as house:
        session = await talked(house)
        body = msgspec.json.encode({"session": session})
        made = await house.call("POST", "/api/agent/compact", body)
        assert made.status == 200, made.body
        assert made.json["tokens_after"] < made.json["tokens_before"]
        block = made.json["summary"]["id"]
        again = await house.call("POST", "/api/agent/compact", body)
        assert (again.status, again.json["code"]) == (409, "conflict")
        one = f"/api/agent/sessions/{session}/summary"
        edit = msgspec.json.encode({"block": block, "text": "Mine."})
        assert (await house.call("PATCH", one, edit)).json["text"] == "Mine."
        empty = msgspec.json.encode({"block": block, "text": " "})
        assert (await house.call("PATCH", one, empty)).status == 400
        assert (await house.call("DELETE", f"{one}/{block}")).json["undone"] is True
        assert (await house.call("DELETE", f"{one}/{block}")).status == 409
        assert (await house.call("DELETE", f"{one}/nothing")).status == 404
        missing = msgspec.json.encode({"session": "none"})
        assert (await house.call("POST", "/api/agent/compact", missing)).status == 404
        usage = (await house.call("GET", f"/api/usage?session={session}&days=1")).json
        assert (usage["tokens"], usage["rows"][0]["requests"]) == (450, 3)
        assert (await house.call("GET", "/api/usage?session=other")).json["rows"] == []


LENGTH = sse(
    chunk(finish="length"),
    {"choices": [], "usage": {"prompt_tokens": 4096, "completion_tokens": 0}},
)
REFUSALS = [
    error_reply(400, "no", code="context_length_exceeded"),
    error_reply(400, "This model's maximum context length is 8192 tokens. However"),
    Answer(
        json.dumps({"error": {"type": "exceed_context_size_error", "n_ctx": 4096}}).encode(),
        400,
        "application/json",
    ),
    error_reply(400, "prompt is too long: 210000 tokens > 200000 maximum"),
    Answer(b"", 413, "text/plain"),
    error_reply(400, "Range of input length should be [1, 30720]"),
    error_reply(400, "input token count (9000) exceeds the maximum"),
    Answer(LENGTH),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=range(1, 9))
@pytest.mark.parametrize("helps", [True, False])
async def test_each_way_to_say_too_long_compacts_once_and_asks_once_more(
    tmp_path: Path, provider: Provider, refusal: Answer, helps: bool
) -> None:
    connections = Connections()
    info = ModelInfo("acme/m", context_length=200_000)
    real = OpenAIModel(info, Endpoint("Acme", provider.url), connections)
    model = RetryingModel(real)

    async def assemble(row: SessionRow) -> Agent:
        work = Workspace((tmp_path / "project").resolve(), row.id)
        tools = {one.name: one for one in TOOLS}
        return Agent(ASSISTANT, model, "You help.", tools, work, titles=False)

    end = text_reply("Done.") if helps else refusal
    provider.queue(call_reply(("look", {"path": "0.txt"})), refusal, text_reply("Summed up."), end)
    try:
        async with stage(tmp_path, [], tools=TOOLS, assemble=assemble) as play:
            (tmp_path / "project" / "0.txt").write_text("word " * 4_000)
            session = await play.create()
            ended = done(await play.say(session, "the first task"))
            assert len(provider.seen) == 4
            assert len(await play.blocks(session, Summary)) == 1
            assert "the first task" in json.dumps(provider.seen[-1].messages)
            notices = [n.code for n in await play.blocks(session, System)]
            if helps:
                assert ended.finished
                assert notices == []
            else:
                assert (ended.reason, notices) == ("error", ["too_long"])
    finally:
        await connections.close()


async def test_sub_agents_and_summaries_are_in_the_day(tmp_path: Path) -> None:
    """What a summary took is counted like any other request."""
    steps: list[Step] = [call("note", text="x"), say("B. " * 900, usage=SAID), say("S", usage=SAID)]
    async with whole(tmp_path, steps) as house:
        row = await house.executor.create(
            agent="assistant", provider="scripted/demo", project="demo"
        )
        await house.executor.send(row.id, "first")
        async for _ in house.executor.until_done(row.id):
            pass
        await house.executor.decide(row.id, True)
        async for _ in house.executor.until_done(row.id):
            pass
        made = await house.executor.compacting.now(row.id)
        assert made.text == "S"
        (used,) = await house.executor.store.usage(row.id)
        assert (used.requests, used.prompt) == (2, 240)

"""The same request twice, and requests at the same moment, through HTTP."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from shipmate.errors import StorageError
from shipmate.handlers.errors import problem
from shipmate.llm.model import Reply
from shipmate.llm.scripted import say
from shipmate.protocol import User
from tests.handlers.house import whole

STREAM = "/api/agent/chat/stream"


def body(**fields: Any) -> bytes:
    return msgspec.json.encode(fields)


async def test_a_new_chat_sent_many_times_at_once_is_one_session(tmp_path: Path) -> None:
    new = body(provider="scripted/demo", project="demo", task="hi", client_id="c1")
    async with whole(tmp_path, [say("Hello.")] * 8) as house:
        answers = await asyncio.gather(*(house.call("POST", STREAM, new) for _ in range(8)))
        assert {answer.status for answer in answers} == {200}
        listed = (await house.call("GET", "/api/agent/sessions")).json["sessions"]
        [kept] = [await house.executor.store.history(row["id"]) for row in listed]
        assert [block.text for block in kept if isinstance(block, User)] == ["hi"]


async def test_a_new_chat_sent_again_after_a_restart_is_the_same_session(tmp_path: Path) -> None:
    new = body(provider="scripted/demo", project="demo", task="hi", client_id="c1")
    for _ in range(2):
        async with whole(tmp_path, [say("Hello.")]) as house:
            told = await house.call("POST", STREAM, new)
            assert told.body.count(b"event: done") == 1
            assert told.body.count(b"event: user") == 1
            listed = (await house.call("GET", "/api/agent/sessions")).json["sessions"]
            assert len(listed) == 1


async def test_a_stop_ends_the_stream_of_what_it_stopped_and_not_of_the_next_message(
    tmp_path: Path,
) -> None:
    begun = asyncio.Event()

    async def hang(_messages: Any, _tools: Any) -> Reply:
        begun.set()
        await asyncio.Event().wait()
        return say("never")

    async with whole(tmp_path, [hang, say("Yes.")]) as house:
        row = await house.executor.create(
            agent="assistant", provider="scripted/demo", project="demo"
        )
        one = asyncio.ensure_future(house.call("POST", STREAM, body(session=row.id, message="one")))
        await begun.wait()
        stop, two = await asyncio.gather(
            house.call("POST", "/api/agent/stop", body(session=row.id)),
            house.call("POST", STREAM, body(session=row.id, message="two")),
        )
        assert stop.status == 204
        assert b'"reason":"stopped"' in (await one).body
        assert two.body.rstrip().endswith(b'"finished":true}')


def test_what_cannot_be_kept_now_says_when_to_try_again() -> None:
    answer = problem(StorageError("The database is locked."))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")

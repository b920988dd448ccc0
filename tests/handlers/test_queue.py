"""The queue through HTTP."""

from pathlib import Path
from typing import Any

from shipmate.llm.scripted import call, say
from tests.handlers.house import Whole, whole
from tests.handlers.test_chat import begin, body, events


async def queued(house: Whole, session: str) -> list[str]:
    answer = await house.call("GET", f"/api/queue?session={session}")
    return [item["text"] for item in answer.json["items"]]


async def change(house: Whole, method: str, path: str = "/api/queue", **fields: Any) -> Any:
    answer = await house.call(method, path, body(**fields))
    assert answer.status == 200, answer
    return answer.json


async def test_a_message_is_queued_edited_moved_deleted_and_sent(tmp_path: Path) -> None:
    async with whole(tmp_path, [call("note", text="hi"), say("Two.")]) as house:
        session = (await begin(house))[0]["row"]["id"]
        told = events(
            await house.call(
                "POST",
                "/api/agent/chat/stream",
                body(session=session, message="one", when="queue", client_id="c"),
            )
        )
        assert told[-1]["reason"] == "waiting_approval"
        [shown] = [event["items"] for event in told if event["type"] == "queue"]
        assert [item["text"] for item in shown] == ["one"]
        two = await change(house, "POST", session=session, text="two")
        await change(house, "PATCH", session=session, id=two["id"], place=0, text="TWO")
        assert await queued(house, session) == ["TWO", "one"]
        said = await change(house, "POST", "/api/queue/send", session=session, id=two["id"])
        assert (said["id"], said["text"]) == (two["id"], "TWO")
        gone = await house.call("DELETE", f"/api/queue?session={session}&id={two['id']}")
        assert gone.status == 404


async def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    async with whole(tmp_path, [call("note", text="hi")]) as house:
        session = (await begin(house))[0]["row"]["id"]
        item = await change(house, "POST", session=session, text="one")
        nothing = await house.call("PATCH", "/api/queue", body(session=session, id=item["id"]))
        assert nothing.status == 422
        assert (await house.call("GET", "/api/queue?session=none")).status == 404
        gone = await house.call("DELETE", f"/api/queue?session={session}&id={item['id']}")
        assert gone.status == 204
        assert await queued(house, session) == []

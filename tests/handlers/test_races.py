"""Two at once: the first decision wins, what was asked for goes on without its asker."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from shipmate.database.store import SessionFilter
from shipmate.llm.scripted import call, say
from shipmate.protocol import SessionRow
from tests.handlers.house import Whole, whole
from tests.handlers.live import serving
from tests.handlers.test_chat import begin, body

NEW = {"provider": "scripted/demo", "project": "demo", "task": "go"}


async def only_row(house: Whole, wanted: Callable[[SessionRow], bool]) -> SessionRow:
    """The one session there is, once it is as wanted."""
    while True:
        for row in await house.executor.store.sessions(SessionFilter()):
            if wanted(row):
                return row


async def until_idle(house: Whole, session: str) -> None:
    async for batch in house.executor.until_done(session):
        assert batch


@pytest.mark.parametrize("first", [True, False])
async def test_of_two_clicks_one_decides_and_the_other_is_told(tmp_path: Path, first: bool) -> None:
    tries = 20
    steps = [step for _ in range(tries) for step in (call("note", text="x"), say("ok"))]
    approved = 0
    async with whole(tmp_path, steps) as house:
        for _ in range(tries):
            begun = await house.call("POST", "/api/agent/chat", msgspec.json.encode(NEW))
            session, [pending] = begun.json["session"]["id"], begun.json["pending"]
            clicks = [
                {"session": session, "id": pending["id"], "approved": yes}
                for yes in (first, not first)
            ]
            one, two = await asyncio.gather(
                *(
                    house.call("POST", "/api/agent/approval", msgspec.json.encode(click))
                    for click in clicks
                )
            )
            assert sorted([one.status, two.status]) == [200, 409]
            won, lost = (one, two) if one.status == 200 else (two, one)
            assert lost.json["block"]["result"] == won.json["result"]
            approved += won.json["result"]
            await until_idle(house, session)
        written = house.project / "note.txt"
        assert (written.read_text() if written.exists() else "") == "x" * approved


async def test_a_round_goes_on_when_its_asker_leaves_at_once(tmp_path: Path) -> None:
    async with whole(tmp_path, [say("Done anyway.")]) as house, serving(house.gate) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        body = msgspec.json.encode(NEW)
        head = (
            "POST /api/agent/chat/stream HTTP/1.1\r\nHost: 127.0.0.1:8765\r\n"
            f"Authorization: Bearer {house.secret}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        await writer.drain()
        row = await only_row(house, lambda _: True)
        writer.transport.abort()
        row = await only_row(house, lambda row: row.status == "idle" and row.last_seq >= 2)
        view = (await house.call("GET", f"/api/agent/sessions/{row.id}")).json
        assert [b["text"] for b in view["blocks"] if b["type"] == "message"] == ["Done anyway."]


async def test_an_approval_that_comes_after_stop_or_after_the_deletion_runs_nothing(
    tmp_path: Path,
) -> None:
    """FM093"""
    script = [call("note", text="hi"), call("note", text="hi")]
    async with whole(tmp_path, script) as house:
        path = "/api/agent/approval"
        for end, status in (("stop", 409), ("delete", 404)):
            told = await begin(house)
            session, asked = told[0]["row"]["id"], told[-3:]
            [request] = [e["id"] for e in asked if e["type"] == "approval_request"]
            if end == "stop":
                await house.call("POST", "/api/agent/stop", body(session=session))
            else:
                await house.call("DELETE", f"/api/agent/sessions/{session}")
            late = await house.call("POST", path, body(session=session, approved=True, id=request))
            assert late.status == status, end
        assert not (house.project / "note.txt").exists()


async def test_a_session_that_is_deleted_while_it_waits_is_gone(tmp_path: Path) -> None:
    async with whole(tmp_path, [call("note", text="x"), say("never")]) as house:
        begun = await house.call("POST", "/api/agent/chat", msgspec.json.encode(NEW))
        session, [pending] = begun.json["session"]["id"], begun.json["pending"]
        assert (await house.call("DELETE", f"/api/agent/sessions/{session}")).status == 204
        late = msgspec.json.encode({"session": session, "id": pending["id"], "approved": True})
        assert (await house.call("POST", "/api/agent/approval", late)).status == 404
        assert (await house.call("GET", "/api/agent/sessions?archived=all")).json["sessions"] == []
        assert not (house.project / "note.txt").exists()

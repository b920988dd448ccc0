"""Stories through HTTP: say, follow, approve, answer, stop."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from shipmate.llm.scripted import call, say
from tests.handlers.client import Answered
from tests.handlers.house import Whole, whole

NEW = {"provider": "scripted/demo", "project": "demo"}


def body(**fields: Any) -> bytes:
    return msgspec.json.encode(fields)


def events(answer: Answered) -> list[dict[str, Any]]:
    assert answer.status == 200, answer
    assert answer.headers["content-type"].startswith("text/event-stream")
    found = re.findall(rb"(?:id: (\S+)\n)?event: (\S+)\ndata: (.*)\n\n", answer.body)
    assert sum(len(b"event: ") + len(k) for _, k, _ in found) < len(answer.body)
    return [msgspec.json.decode(data) | {"#": mark.decode()} for mark, _, data in found]


def types(told: Sequence[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in told]


async def begin(house: Whole, task: str = "hello", **fields: Any) -> list[dict[str, Any]]:
    new = body(**NEW | {"task": task} | fields)
    return events(await house.call("POST", "/api/agent/chat/stream", new))


async def test_a_new_chat_is_told_from_its_row_to_done(tmp_path: Path) -> None:
    async with whole(tmp_path, [say("Hello!")]) as house:
        told = await begin(house)
    assert told[0]["type"] == "session"
    assert told[0]["row"]["project"] == "demo"
    assert types(told)[-1] == "done"
    assert told[-1]["finished"] is True
    assert [e["text"] for e in told if e["type"] == "message"] == ["Hello!"]
    assert {e["session"] for e in told} == {told[0]["row"]["id"]}


async def test_the_words_task_and_message_mean_the_same(tmp_path: Path) -> None:
    async with whole(tmp_path, [say("1"), say("2")]) as house:
        session = (await begin(house, task="", message="one"))[0]["row"]["id"]
        told = events(
            await house.call("POST", "/api/agent/chat/stream", body(session=session, task="two"))
        )
    assert [e["text"] for e in told if e["type"] == "user"] == ["two"]
    assert [e["text"] for e in told if e["type"] == "message"] == ["2"]


async def test_an_approval_ends_the_stream_and_its_decision_goes_on(tmp_path: Path) -> None:
    async with whole(tmp_path, [call("note", text="hi"), say("Written.")]) as house:
        told = await begin(house)
        session = told[0]["row"]["id"]
        assert (told[-1]["finished"], told[-1]["reason"]) == (False, "waiting_approval")
        pending = next(e for e in told if e["type"] == "approval_request")
        assert not (house.project / "note.txt").exists()
        view = (await house.call("GET", f"/api/agent/sessions/{session}")).json
        assert [block["id"] for block in view["pending"]] == [pending["id"]]
        assert "result" not in view["pending"][0]

        yes = body(session=session, approved=True, id=pending["id"])
        decided = await house.call("POST", "/api/agent/approval", yes)
        assert decided.json["result"] is True
        assert decided.json["decided_by"] == "tests"
        after = body(session=session, after=told[0]["row"]["last_seq"])
        rest = events(await house.call("POST", "/api/agent/chat/stream", after))
        assert rest[-1]["finished"] is True
        assert (house.project / "note.txt").read_text() == "hi"

        second = await house.call(
            "POST", "/api/agent/approval", body(session=session, approved=False, id=pending["id"])
        )
        assert second.status == 409
        assert second.json["block"]["result"] is True
        assert (house.project / "note.txt").read_text() == "hi"


async def test_approvals_that_are_not_there_are_refused(tmp_path: Path) -> None:
    async with whole(tmp_path, [call("note", text="hi"), say("ok")]) as house:
        session = (await begin(house))[0]["row"]["id"]
        other = (await begin(house))[0]["row"]["id"]
        path = "/api/agent/approval"
        unknown = await house.call("POST", path, body(session=session, approved=True, id="nope"))
        assert unknown.status == 404
        none = await house.call("POST", path, body(session=other, approved=True))
        assert none.status == 409
        gone = await house.call("POST", path, body(session="nope", approved=True))
        assert gone.status == 404
        row = (await house.call("GET", f"/api/agent/sessions/{session}")).json["session"]
        foreign = body(session=other, approved=True, id=row["pending_approval"])
        assert (await house.call("POST", path, foreign)).status == 404
        assert not (house.project / "note.txt").exists()


async def test_a_question_is_answered_once(tmp_path: Path) -> None:
    async with whole(tmp_path, [call("ask_user", question="Which?"), say("Blue it is.")]) as house:
        told = await begin(house)
        session = told[0]["row"]["id"]
        assert told[-1]["reason"] == "waiting_answer"
        blue = body(session=session, answer="blue")
        assert (await house.call("POST", "/api/agent/answer", blue)).json["result"] == "blue"
        rest = events(
            await house.call("POST", "/api/agent/chat/stream", body(session=session, after=0))
        )
        assert rest[-1]["finished"] is True
        assert (await house.call("POST", "/api/agent/answer", blue)).status == 409


async def test_the_old_endpoint_answers_instead_of_hanging(tmp_path: Path) -> None:
    async with whole(tmp_path, [call("note", text="hi"), say("Written.")]) as house:
        answer = await house.call("POST", "/api/agent/chat", body(**NEW, task="write"))
        assert answer.headers["deprecation"].startswith("@")
        assert "successor-version" in answer.headers["link"]
        assert answer.json["finished"] is False
        assert answer.json["reason"] == "waiting_approval"
        [pending] = answer.json["pending"]
        session = answer.json["session"]["id"]
        await house.call("POST", "/api/agent/approval", body(session=session, approved=True))
        last = await house.call("POST", "/api/agent/chat", body(session=session))
        assert (last.json["finished"], last.json["message"]) == (True, "Written.")
        assert pending["type"] == "approval_request"


async def test_attaching_to_an_idle_session_replays_and_ends(tmp_path: Path) -> None:
    async with whole(tmp_path, [say("Hello!")]) as house:
        session = (await begin(house))[0]["row"]["id"]
        again = events(await house.call("POST", "/api/agent/chat/stream", body(session=session)))
    assert [t for t in types(again) if t in ("user", "message", "done")] == [
        "user",
        "message",
        "done",
    ]


async def test_what_is_unknown_is_refused_and_nothing_is_made(tmp_path: Path) -> None:
    async with whole(tmp_path) as house:
        wrong = [
            (body(session="nope", message="x"), 404, "nope"),
            (body(**NEW | {"project": "nope"}, task="x"), 404, "nope"),
            (body(**NEW | {"provider": "no/pe"}, task="x"), 404, "provider 'no'"),
            (body(**NEW, agent="nope", task="x"), 404, "nope"),
            (body(project="demo", task="x"), 422, "provider"),
            (body(provider="scripted/demo", task="x"), 422, "project"),
            (body(**NEW), 422, "task"),
            (body(**NEW, task="x", colour="red"), 422, "colour"),
            (body(**NEW, task=7), 422, "$.task"),
        ]
        for path in ("/api/agent/chat", "/api/agent/chat/stream"):
            for sent, status, word in wrong:
                answer = await house.call("POST", path, sent)
                assert (answer.status, word in answer.json["detail"]) == (status, True), answer
        assert (await house.call("GET", "/api/agent/sessions")).json["sessions"] == []


async def test_a_folder_that_vanished_is_named(tmp_path: Path) -> None:
    async with whole(tmp_path) as house:
        house.project.rmdir()
        answer = await house.call("POST", "/api/agent/chat", body(**NEW, task="x"))
    assert answer.status == 400
    assert "demo" in answer.json["detail"]


async def test_a_message_sent_twice_is_said_once(tmp_path: Path) -> None:
    async with whole(tmp_path, [say("Hello!"), say("again")]) as house:
        one = await begin(house, client_id="c1")
        two = await begin(house, client_id="c1")
        assert one[0]["row"]["id"] == two[0]["row"]["id"]
        assert len((await house.call("GET", "/api/agent/sessions")).json["sessions"]) == 1
        view = (await house.call("GET", f"/api/agent/sessions/{one[0]['row']['id']}")).json
        assert types(view["blocks"]).count("user") == 1


async def test_a_client_resumes_without_gap_or_duplicate(tmp_path: Path) -> None:
    async with whole(tmp_path, [say("one"), say("two")]) as house:
        told = await begin(house)
        session = told[0]["row"]["id"]
        marks = [e["#"] for e in told if e["#"]]
        await house.call("POST", "/api/agent/chat", body(session=session, message="more"))
        path = f"/api/agent/sessions/{session}"
        view = (await house.call("GET", path)).json
        assert all(mark.startswith(view["epoch"] + "-") for mark in marks)
        seqs = sorted(block["seq"] for block in view["blocks"])
        for mark in (marks[0], marks[-1], "garbage", f"{view['epoch']}-999999"):
            seq = int(mark.rpartition("-")[2]) if mark.startswith(view["epoch"]) else 0
            seq = seq if seq < 999999 else 0
            attach = body(session=session, after=seq)
            again = events(await house.call("POST", "/api/agent/chat/stream", attach))
            assert [e["seq"] for e in again if e["#"]] == [s for s in seqs if s > seq]


async def test_stop_keeps_what_was_said_and_ends(tmp_path: Path) -> None:
    async with whole(tmp_path, [call("note", text="hi"), say("never")]) as house:
        session = (await begin(house))[0]["row"]["id"]
        assert (await house.call("POST", "/api/agent/stop", body(session=session))).status == 204
        late = await house.call("POST", "/api/agent/approval", body(session=session, approved=True))
        assert late.status == 409
        view = (await house.call("GET", f"/api/agent/sessions/{session}")).json
        assert view["session"]["status"] == "idle"
        assert view["pending"] == []
        assert not (house.project / "note.txt").exists()


async def test_a_sub_agent_is_stopped_alone(tmp_path: Path) -> None:
    asked = call("call_agent", agent="assistant", task="note it")
    async with whole(tmp_path, [asked, call("note", text="hi"), say("Without it.")]) as house:
        told = await begin(house)
        session = told[0]["row"]["id"]
        (pending,) = [e for e in told if e["type"] == "approval_request"]
        assert pending["agent"] == "assistant"
        for wrong in ("nothing", pending["call"]):
            stop = body(session=session, call=wrong)
            assert (await house.call("POST", "/api/agent/stop", stop)).status == 404
        stop = body(session=session, call=pending["parent"])
        assert (await house.call("POST", "/api/agent/stop", stop)).status == 204
        after = body(session=session, after=max(e.get("seq", 0) for e in told))
        told = events(await house.call("POST", "/api/agent/chat/stream", after))
        assert told[-1]["finished"]
        (result,) = [e for e in told if e["type"] == "tool_result" and not e.get("parent")]
        assert "Stopped by the user" in result["text"]
        assert not (house.project / "note.txt").exists()


async def test_the_bypass_needs_the_right_to_approve(tmp_path: Path) -> None:
    async with whole(tmp_path, [say("ok")]) as house:
        session = (await begin(house))[0]["row"]["id"]
        _, secret = await house.keys.create_token("runner", ["run"])
        on = body(bypass_approval=True)
        path = f"/api/agent/sessions/{session}"
        assert (await house.call("PATCH", path, on, secret=secret)).status == 403
        new = body(**NEW, task="x", bypass_approval=True)
        answer = await house.call("POST", "/api/agent/chat", new, secret=secret)
        assert answer.status == 403
        assert (await house.call("PATCH", path, on)).json["bypass_approval"] is True


async def test_trust_needs_the_right_to_approve_and_is_kept(tmp_path: Path) -> None:
    async with whole(tmp_path, [say("ok")]) as house:
        session = (await begin(house))[0]["row"]["id"]
        _, secret = await house.keys.create_token("runner", ["run"])
        path = f"/api/agent/sessions/{session}"
        doubted = await house.call("PATCH", path, body(untrusted=True), secret=secret)
        assert doubted.json["untrusted"] is True
        trusting = body(untrusted=False)
        assert (await house.call("PATCH", path, trusting, secret=secret)).status == 403
        assert (await house.call("PATCH", path, trusting)).json["untrusted"] is False
        blocks = (await house.call("GET", path)).json["blocks"]
        assert [b["code"] for b in blocks if b["type"] == "system"] == ["untrusted", "trusted"]

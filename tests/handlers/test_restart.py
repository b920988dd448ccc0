"""A server that is killed while an approval or a question waits goes on when it starts again."""

import signal
from pathlib import Path
from typing import Any

from tests.cli.server import served

CHAT = "/api/agent/chat/stream"


def only(told: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    [found] = [event for event in told if event["type"] == kind]
    return found


def test_an_approval_and_a_question_outlive_a_killed_server(tmp_path: Path) -> None:
    data, project = tmp_path / "data", tmp_path / "project"
    project.mkdir()
    (project / "README.md").write_text("# A project\n")
    with served(data) as server:
        known = server.api("POST", "/api/projects", {"path": str(project)})
        new = {"project": known["id"], "provider": "scripted/demo", "task": "tour"}
        told = server.events(CHAT, new)
        session = told[0]["session"]
        request = only(told, "approval_request")
        assert told[-1] | {"finished": False, "reason": "waiting_approval"} == told[-1]
        assert server.end(signal.SIGKILL) == -signal.SIGKILL
    file = project / "shipmate-demo.md"
    assert not file.exists()

    with served(data) as server:
        view = server.api("GET", f"/api/agent/sessions/{session}")
        assert view["session"]["status"] == "waiting_approval"
        assert [block["id"] for block in view["pending"]] == [request["id"]]
        yes = {"session": session, "id": request["id"], "approved": True}
        assert server.api("POST", "/api/agent/approval", yes)["result"] is True
        told = server.events(CHAT, {"session": session, "after": request["seq"]})
        assert told[-1]["reason"] == "waiting_answer"
        assert file.exists()
        written = file.stat().st_mtime_ns

        again = server.request(
            "POST", "/api/agent/approval", yes, Authorization=f"Bearer {server.token}"
        )
        assert again[0] == 409
        assert server.end(signal.SIGKILL) == -signal.SIGKILL

    with served(data) as server:
        view = server.api("GET", f"/api/agent/sessions/{session}")
        assert view["session"]["status"] == "waiting_answer"
        assert [block["type"] for block in view["pending"]] == ["ask_user"]
        answer = {"session": session, "answer": "Explain the code"}
        server.api("POST", "/api/agent/answer", answer)
        twice = server.request(
            "POST", "/api/agent/answer", answer, Authorization=f"Bearer {server.token}"
        )
        assert twice[0] == 409
        told = server.events(CHAT, {"session": session})
        assert told[-1]["finished"] is True
        calls = [e["id"] for e in told if e["type"] == "tool" and e["name"] == "write_file"]
        results = [e for e in told if e["type"] == "tool_result" and e["call"] in calls]
        assert (len(calls), len(results)) == (1, 1)
        assert not results[0].get("is_error")
        assert file.stat().st_mtime_ns == written

"""A server that is killed in the middle of an answer, and started again."""

import http.client
import json
import signal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.cli.server import Served, served
from tests.provider import Answer, Provider, text_reply

CHAT = "/api/agent/chat/stream"


def spoken(server: Served, body: dict[str, Any], enough: int) -> tuple[str, str]:
    """Session and text that were shown when at least `enough` characters were."""
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    connection.request("POST", CHAT, json.dumps(body), headers)
    session, text = "", ""
    with connection.getresponse() as answer:
        while len(text) < enough and (line := answer.readline()):
            if line.startswith(b"data: "):
                event = json.loads(line[6:])
                session = event.get("session", session)
                text += event.get("text", "") if event["type"] == "delta" else ""
    connection.close()
    return session, text


def test_what_was_said_before_a_kill_is_kept_once_and_goes_on(
    tmp_path: Path, provider: Provider
) -> None:
    data, project = tmp_path / "data", tmp_path / "project"
    data.mkdir()
    project.mkdir()
    (data / "config.toml").write_text(
        f'[providers.fake]\ntype = "openai"\nbase_url = "{provider.url}"\n'
        f'models = [{{ id = "m" }}]\n[projects.demo]\npath = "{project}"\n'
    )
    provider.queue(Answer(text_reply(*["word "] * 400), split=90, delay=0.003))
    new = {"provider": "fake/m", "project": "demo", "task": "speak", "client_id": "one"}
    with served(data) as server:
        session, shown = spoken(server, new, 800)
        assert server.end(signal.SIGKILL) == -signal.SIGKILL

    with served(data) as server:
        view = server.api("GET", f"/api/agent/sessions/{session}")
        assert view["session"]["status"] == "interrupted"
        [message] = [block for block in view["blocks"] if block["type"] == "message"]
        assert message["partial"]
        assert message["text"]
        assert shown.startswith(message["text"]) or message["text"].startswith(shown)

        again = server.events(CHAT, new)  # the client never saw the end: it asks again
        assert {event["session"] for event in again} == {session}
        assert [event["text"] for event in again if event["type"] == "user"] == ["speak"]
        assert again[-1]["reason"] == "interrupted"

        server.api("POST", "/api/agent/resume", {"session": session})
        assert server.events(CHAT, {"session": session})[-1]["finished"] is True
    assert len([seen for seen in provider.seen if seen.body.get("tools")]) == 2

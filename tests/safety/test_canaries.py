"""Keys of all kinds are set up, used and echoed back by everybody; they are found nowhere else."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.board import BOARD
from tests.cli.server import command, environment, served
from tests.provider import Answer, Provider, call_reply, error_reply, text_reply

PASTED, OF_ENVIRONMENT, HEADER, VALUE = (
    f"sk-canary-{name}-0123456789abcdef" for name in ("pasted", "environment", "header", "value")
)
CANARIES = (PASTED, OF_ENVIRONMENT, HEADER, VALUE)
PLACES = (
    *("/api/providers", "/api/models", "/api/agent/info", "/api/agent/mcp", "/api/agent/sessions"),
    *("/api/settings", "/api/usage", "/api/projects", "/api/agent/pending", "/api/openapi.json"),
)
LOOK = ("shell_exec", {"command": "env; cat /proc/*/environ; cat /proc/*/cmdline"})
HOLDS = {"secrets.json"}
"""Where what was pasted is kept."""


@pytest.mark.safety
@pytest.mark.timeout(300)
def test_a_key_is_found_only_where_it_is_kept(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, project = tmp_path / "data", tmp_path / "project"
    project.mkdir()
    monkeypatch.setenv("CANARY_API", OF_ENVIRONMENT)
    told: list[str] = []
    with served(data) as server:
        server.api("POST", "/api/projects", {"path": str(project)})
        models = [{"id": "m", "context_length": 100_000}]
        common = {"type": "openai", "base_url": provider.url, "models": models}
        server.api("POST", "/api/providers", {"id": "one", "key": PASTED, **common})
        server.api("POST", "/api/providers", {"id": "two", "env": "CANARY_API", **common})
        mcp = {"name": "far", "transport": "http", "url": "http://127.0.0.1:9/mcp"}
        server.api("POST", "/api/agent/mcp", {**mcp, "keys": {"Authorization": HEADER}})
        near = {"name": "near", "transport": "stdio", "command": ["/bin/sh", "-c", "exit 3"]}
        server.api("POST", "/api/agent/mcp", {**near, "keys": {"TOKEN": VALUE}})
        for one in ("one", "two"):
            provider.queue(Answer(call_reply(LOOK), when='"tools"'))
            start = {"project": "project", "provider": f"{one}/m", "task": "go"}
            events = server.events("/api/agent/chat/stream", start)
            session = next(event["session"] for event in events if event.get("session"))
            server.api("POST", "/api/agent/approval", {"session": session, "approved": True})
            provider.queue(Answer(text_reply("Done."), when='"tools"'))
            told.append(str(server.events("/api/agent/chat/stream", {"session": session})))
            echo = " ".join(CANARIES)
            provider.queue(error_reply(401, f"Incorrect API key: {echo}"))
            provider.queued[:-1] = []
            again = {"session": session, "message": "again"}
            told.append(str(server.events("/api/agent/chat/stream", again)))
            told += [str(server.api("GET", place)) for place in PLACES]
            for kind in ("md", "html", "json"):
                path = f"/api/agent/sessions/{session}/export?format={kind}"
                told.append(
                    str(server.request("GET", path, Authorization=f"Bearer {server.token}")[2])
                )
        arguments = Path(f"/proc/{server.process.pid}/cmdline").read_text()
    audit = subprocess.run(
        command("audit", "list", "--data", data), capture_output=True, env=environment(), check=True
    )
    sent = json.dumps([one.body for one in provider.seen])
    texts = {
        "the API": "".join(told),
        "what the model was sent": sent,
        "the audit log": audit.stdout.decode(),
        "the command line": arguments,
        **{
            path.name: path.read_bytes().decode("latin-1")
            for path in data.rglob("*")
            if path.is_file() and path.name not in HOLDS
        },
    }
    found = [
        f"{canary} in {place}"
        for place, text in texts.items()
        for canary in CANARIES
        if canary in text
    ]
    BOARD.put("canaries of secrets", len(CANARIES) * len(texts), len(found))
    assert found == []
    used = {one.headers.get("authorization", "") for one in provider.seen}
    assert {f"Bearer {PASTED}", f"Bearer {OF_ENVIRONMENT}"} <= used

"""Agents over HTTP: added as files, changed where they stand, removed; and what else is told."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from shipmate.agent.profile import ASSISTANT
from tests.cli.server import Served, served

WRITER = """---
description: "Writes docs"   # not code
providers: [read_only, read_write]
max_steps: 9
---
You write.
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    folder.chmod(0o700)
    (folder / "config.toml").write_text('[agents.keeper]\nprompt = "You keep."\n')
    return folder


@pytest.fixture(scope="module")
def server(data: Path) -> Generator[Served]:
    with served(data) as server:
        yield server


def agents(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["id"]: one for one in answer["agents"]}


def refused(server: Served, method: str, path: str, body: Any = None) -> tuple[int, str]:
    status, _, content = server.request(method, path, body, Authorization=f"Bearer {server.token}")
    return status, content.decode()


def test_a_file_is_added_changed_in_its_place_and_removed(server: Served, data: Path) -> None:
    added = agents(server.api("POST", "/api/agents", {"id": "writer", "text": WRITER}))["writer"]
    assert (added["source"], added["prompt"], added["max_steps"]) == ("file", "You write.", 9)
    file = data / "agents" / "writer.md"
    assert file.read_text() == WRITER
    change = {"prompt": "You write\n---\nwell.", "description": 'Says "hi" # often', "model": ""}
    changed = agents(server.api("PATCH", "/api/agents/writer", change))["writer"]
    assert changed["prompt"] == change["prompt"]
    assert changed["description"] == change["description"]
    assert changed["providers"] == ["read_only", "read_write"]
    assert "You write\n---\nwell." in file.read_text()
    assert "writer" in {one["id"] for one in server.api("GET", "/api/agent/info")["agents"]}
    assert "writer" not in agents(server.api("DELETE", "/api/agents/writer"))
    assert not file.exists()


def test_changes_of_a_built_in_agent_are_taken_back(server: Served, data: Path) -> None:
    assert refused(server, "DELETE", "/api/agents/assistant")[0] == 409
    change = {"prompt": "Be brief.", "max_steps": 7, "fallback": ["scripted/demo"]}
    changed = agents(server.api("PATCH", "/api/agents/assistant", change))["assistant"]
    assert (changed["source"], changed["built_in"], changed["prompt"]) == (
        "config",
        True,
        "Be brief.",
    )
    assert changed["fallback"] == ["scripted/demo"]
    assert "max_steps = 7" in (data / "config.toml").read_text()
    again = agents(server.api("DELETE", "/api/agents/assistant"))["assistant"]
    assert (again["source"], again["prompt"]) == ("built-in", ASSISTANT.prompt)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("POST", "", {"id": "x", "text": "---\nmodle: a/b\n---\n"}, 400, "agents/x.md:2: modle"),
        ("POST", "", {"id": "../x", "text": ""}, 400, "letters, digits"),
        ("POST", "", {"id": "keeper", "text": ""}, 409, "already"),
        ("PATCH", "/keeper", {"providers": ["shel"]}, 422, "did you mean shell?"),
        ("PATCH", "/keeper", {"model": "no/such"}, 422, "no model"),
        ("PATCH", "/keeper", {"fallback": ["no/such"]}, 422, "no model"),
        ("PATCH", "/keeper", {"max_steps": 0}, 422, "max_steps"),
        ("PATCH", "/keeper", {}, 422, "changes nothing"),
        ("PATCH", "/nobody", {"prompt": "x"}, 404, "no agent"),
    ],
)
def test_what_does_not_fit_is_said_and_nothing_changes(
    server: Served, data: Path, method: str, path: str, body: Any, status: int, words: str
) -> None:
    before = (data / "config.toml").read_text()
    answer = refused(server, method, f"/api/agents{path}", body)
    assert (answer[0], words in answer[1]) == (status, True), answer
    assert (data / "config.toml").read_text() == before
    assert not (data / "agents" / "x.md").exists()


def test_settings_that_have_a_field_are_changed_and_hold(server: Served, data: Path) -> None:
    changed = server.api(
        "PATCH", "/api/settings", {"budgets": {"day_cost": 2.5}, "limits": {"compact_at": 0.5}}
    )
    assert changed["budgets"]["day_cost"] == 2.5
    assert changed["server"]["port"] == 8765
    assert changed["file"] == str(data / "config.toml")
    assert "day_cost = 2.5" in (data / "config.toml").read_text()
    wrong = {"limits": {"compact_at": 2}}
    status, words = refused(server, "PATCH", "/api/settings", wrong)
    assert (status, "compact_at" in words) == (400, True)
    assert server.api("GET", "/api/settings")["limits"]["compact_at"] == 0.5


def test_the_doctor_is_asked(server: Served, data: Path) -> None:
    found = {one["what"]: one for one in server.api("GET", "/api/doctor")["findings"]}
    assert found["data directory"]["detail"].startswith(str(data))
    assert found["server"]["state"] == "ok"

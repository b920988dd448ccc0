"""The server's end, by a kill and by two signals, while much is going on."""

import os
import signal
import subprocess
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli.server import Served, served
from tests.faults.reader import Event, Reader
from tests.faults.trial import CHAT
from tests.provider import Answer, Provider, call_reply, text_reply

MARK = f"86401.{os.getpid()}"
"""In the command line of each process that a command starts."""
AGENTS = 3
ENOUGH = 60.0
"""Seconds, on the slowest of machines."""


@pytest.fixture
def speaker(tmp_path: Path) -> Generator[Provider]:
    made = Provider()
    (tmp_path / "project").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "config.toml").write_text(
        f'[providers.fake]\ntype = "openai"\nbase_url = "{made.url}"\n'
        f'models = [{{ id = "m" }}]\n[projects.demo]\npath = "{tmp_path / "project"}"\n'
    )
    yield made
    made.close()
    assert made.broken == []


def commands() -> int:
    found = subprocess.run(["pgrep", "-f", f"sleep {MARK}"], capture_output=True, check=False)
    return len(found.stdout.split())


def becomes(number: int) -> bool:
    until = time.monotonic() + ENOUGH
    while commands() != number and time.monotonic() < until:
        time.sleep(0.01)
    return commands() == number


def blocks(server: Served, session: str) -> list[Event]:
    return server.api("GET", f"/api/agent/sessions/{session}?limit=1000")["blocks"]


@pytest.mark.timeout(300)
def test_a_kill_while_three_sub_agents_run_commands_leaves_none_and_repeats_none(
    tmp_path: Path, speaker: Provider
) -> None:
    """FM010"""
    tasks = [f"task {number}" for number in range(AGENTS)]
    team = [("call_agent", {"agent": "assistant", "task": task}) for task in tasks]
    command = ("shell_exec", {"command": f"echo ran >> log.txt; sleep {MARK}"})
    # The first request of the session, then the first of each sub-agent.
    speaker.queue(Answer(call_reply(*team), when='"Go."'))
    speaker.queue(*(Answer(call_reply(command), when=f'"content":"{task}"') for task in tasks))
    data, log = tmp_path / "data", tmp_path / "project" / "log.txt"
    with served(data) as server:
        new = {"provider": "fake/m", "project": "demo", "task": "Go."}
        told = server.events(CHAT, new)
        session = told[0]["session"]
        assert told[-1]["reason"] == "waiting_approval"
        asked = [event["id"] for event in told if event["type"] == "approval_request"]
        assert len(asked) == AGENTS
        for one in asked:
            yes = {"session": session, "id": one, "approved": True}
            server.api("POST", "/api/agent/approval", yes)
        assert becomes(AGENTS)
        assert server.end(signal.SIGKILL) == -signal.SIGKILL
        assert becomes(0)
    assert log.read_text() == "ran\n" * AGENTS
    with served(data) as server:
        view = server.api("GET", f"/api/agent/sessions/{session}")
        assert view["session"]["status"] == "interrupted"
        server.api("POST", "/api/agent/resume", {"session": session})
        assert server.events(CHAT, {"session": session})[-1]["finished"] is True
        results = [b for b in blocks(server, session) if b["type"] == "tool_result"]
        assert sum("outcome is unknown" in result["text"] for result in results) == AGENTS
        assert len(results) == 2 * AGENTS
    assert log.read_text() == "ran\n" * AGENTS


@pytest.mark.timeout(300)
def test_a_second_signal_ends_it_at_once_and_what_was_said_is_kept(
    tmp_path: Path, speaker: Provider
) -> None:
    """FM015"""
    words = text_reply("Hello there.").removesuffix(b"data: [DONE]\n\n")
    speaker.queue(Answer(words[: words.index(b'"finish_reason": "stop"')], after="hang"))
    data, reader = tmp_path / "data", Reader()
    with served(data) as server:
        new = {"provider": "fake/m", "project": "demo", "task": "Go."}
        with server.open("POST", CHAT, new) as answer:
            kinds: list[str] = []
            while "delta" not in kinds:
                events = reader.feed(answer.read1(65536))
                kinds += [event["type"] for event in events]
                reader.session = events[0].get("session", "") if events else reader.session
            server.process.send_signal(signal.SIGTERM)
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(ENOUGH) == 0
    with served(data) as server:
        view = server.api("GET", f"/api/agent/sessions/{reader.session}")
        assert view["session"]["status"] == "interrupted"
        said = [b for b in blocks(server, reader.session) if b["type"] == "message"]
        assert [(b["text"], b["partial"]) for b in said] == [("Hello there.", True)]

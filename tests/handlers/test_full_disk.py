"""A disk that is full, and a database that another program locks: told, survived, and nothing
that was acknowledged is lost. The server has a limit on the size of its files, in place of a
small disk."""

import sqlite3
import sys
import threading
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.server import Served, served
from tests.provider import Answer, Provider, text_reply

if sys.platform != "linux":
    pytest.skip("prlimit is Linux's", allow_module_level=True)

import resource

CHAT = "/api/agent/chat/stream"
SESSIONS = "/api/agent/sessions"


@pytest.fixture
def data(tmp_path: Path, provider: Provider) -> Path:
    (tmp_path / "project").mkdir()
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "config.toml").write_text(
        f'[providers.fake]\ntype = "openai"\nbase_url = "{provider.url}"\n'
        f'models = [{{ id = "m" }}]\n[projects.demo]\npath = "{tmp_path / "project"}"\n'
    )
    return folder


@contextmanager
def full(server: Served) -> Generator[None]:
    """No file of the server can be written."""
    pid = server.process.pid
    hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))


def begun(server: Served, task: str) -> str:
    body = {"provider": "fake/m", "project": "demo", "task": task}
    events = server.events(CHAT, body)
    assert events[-1]["finished"], events[-1]
    return events[0]["session"]


def refused(server: Served, method: str, path: str, body: Any) -> None:
    bearer = f"Bearer {server.token}"
    status, headers, content = server.request(method, path, body, Authorization=bearer)
    assert status == 503, content
    assert headers["retry-after"] == "5"
    assert b'"code":"storage"' in content
    assert b"disk" in content or b"locked" in content


def users(server: Served, session: str) -> list[str]:
    view = server.api("GET", f"{SESSIONS}/{session}")
    return [b["text"] for b in view["blocks"] if b["type"] == "user"]


def test_a_full_disk_is_told_and_all_works_again_without_a_restart(data: Path) -> None:
    with served(data) as server:
        session = begun(server, "one")
        with full(server):
            refused(server, "POST", CHAT, {"session": session, "message": "two"})
            refused(server, "PATCH", f"{SESSIONS}/{session}", {"title": "x"})
            refused(server, "POST", f"{SESSIONS}/{session}/todo/clear", {})
            assert users(server, session) == ["one"]  # reading goes on
        assert server.events(CHAT, {"session": session, "message": "three"})[-1]["finished"]
        assert users(server, session) == ["one", "three"]
        assert server.end() == 0


def test_a_round_on_a_disk_that_fills_ends_with_an_error_that_is_kept_later(
    data: Path, provider: Provider
) -> None:
    with served(data) as server:
        session = begun(server, "one")
        answered = threading.Event()
        provider.queue(
            Answer(text_reply("words ", "that were ", "shown"), gate=answered, when="second")
        )
        heard: list[dict[str, Any]] = []
        body = {"session": session, "message": "second"}
        asking = threading.Thread(target=lambda: heard.extend(server.events(CHAT, body)))
        asking.start()
        while "second" not in str([seen.body for seen in provider.seen]):
            asking.join(0.01)
        with full(server):
            answered.set()
            asking.join(30)
            assert not asking.is_alive()
            shown = "".join(e.get("text", "") for e in heard if e["type"] == "delta")
            assert shown == "words that were shown"
            assert heard[-1]["reason"] == "error"
            assert "disk" in heard[-1]["error"]
            late = server.open("POST", CHAT, {"session": session})  # it still counts as running
        assert late.read().rstrip().split(b"\n")[-1].startswith(b'data: {"type":"done"')
        late.close()
        while (view := server.api("GET", f"{SESSIONS}/{session}"))["session"]["status"] != "error":
            asking.join(0.05)
        kept = [b for b in view["blocks"] if b["type"] in ("message", "system")][-2:]
        assert (kept[0]["text"], kept[0]["partial"]) == (shown, True)
        assert "disk" in kept[1]["text"]
        server.api("POST", "/api/agent/resume", {"session": session})
        assert server.events(CHAT, {"session": session})[-1]["finished"]
        assert users(server, session) == ["one", "second"]


@pytest.mark.parametrize("seconds", [1, 6])
def test_a_locked_database_is_waited_for_and_then_told(data: Path, seconds: int) -> None:
    with served(data) as server:
        session = begun(server, "one")
        with closing(sqlite3.connect(data / "sessions.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            body = {"title": "changed"}
            if seconds > 5:  # longer than a write waits
                refused(server, "PATCH", f"{SESSIONS}/{session}", body)
            else:
                path = f"{SESSIONS}/{session}"
                asking = threading.Thread(target=lambda: server.api("PATCH", path, body))
                asking.start()
                asking.join(seconds)
                assert asking.is_alive()
                other.execute("COMMIT")
                asking.join(30)
                assert users(server, session) == ["one"]
                assert server.api("GET", path)["session"]["title"] == "changed"
                return
            other.execute("COMMIT")
        assert server.events(CHAT, {"session": session, "message": "two"})[-1]["finished"]


def test_many_sessions_stream_while_another_program_writes(data: Path, provider: Provider) -> None:
    """SES-19: what is written waits, and nothing of it is lost."""
    words = [f"{number} " for number in range(50)]
    with served(data) as server:
        begun(server, "warm")
        provider.queue(
            *(Answer(text_reply(*words), split=150, delay=0.02, when='"tools"') for _ in range(20))
        )
        heard: list[dict[str, Any]] = []

        def speak(number: int) -> None:
            new = {"provider": "fake/m", "project": "demo", "task": f"speak {number}"}
            heard.append(server.events(CHAT, new)[-1])

        asking = [threading.Thread(target=speak, args=(number,)) for number in range(20)]
        for one in asking:
            one.start()
        with closing(sqlite3.connect(data / "sessions.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            until = time.monotonic() + 3
            while time.monotonic() < until:
                assert len(server.api("GET", SESSIONS)["sessions"]) > 0
            other.execute("COMMIT")
        for one in asking:
            one.join(60)
        assert [done["finished"] for done in heard] == [True] * 20
        for row in server.api("GET", f"{SESSIONS}?limit=50")["sessions"]:
            blocks = server.api("GET", f"{SESSIONS}/{row['id']}")["blocks"]
            if blocks[0]["text"].startswith("speak"):
                said = [block["text"] for block in blocks if block["type"] == "message"]
                assert said == ["".join(words)]

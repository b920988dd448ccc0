"""A model that lies in how it calls: what is shown is what runs, once, and nothing else does."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.server import Served, served
from tests.provider import Answer, Provider, call_reply, chunk, sse, text_reply

CONFIG = """
[providers.own]
base_url = "{url}"
[[providers.own.models]]
id = "m"
[projects.demo]
path = {project}
"""
SESSIONS = "/api/agent/sessions"


class Desk:
    """A server with a model of bad intentions, and a project."""

    def __init__(self, server: Served, provider: Provider, project: Path) -> None:
        self.server, self.provider, self.project = server, provider, project

    def say(self, text: str = "go", session: str = "") -> str:
        """The session, when its round has ended or waits."""
        known = {"session": session} if session else {"provider": "own/m", "project": "demo"}
        said = self.server.api("POST", "/api/agent/chat", {**known, "task": text})
        return said["session"]["id"]

    def waiting(self, session: str) -> list[dict[str, Any]]:
        return self.server.api("GET", f"{SESSIONS}/{session}")["pending"]

    def blocks(self, session: str, kind: str) -> list[dict[str, Any]]:
        view = self.server.api("GET", f"{SESSIONS}/{session}?limit=1000")
        return [one for one in view["blocks"] if one["type"] == kind]

    def decide(self, session: str, asked: str, *, approved: bool = True) -> int:
        body = {"session": session, "id": asked, "approved": approved}
        headers = {"Authorization": f"Bearer {self.server.token}"}
        status, _, _ = self.server.request("POST", "/api/agent/approval", body, **headers)
        self.server.events("/api/agent/chat/stream", {"session": session})
        return status

    def made(self) -> list[str]:
        return sorted(path.name for path in self.project.iterdir())


@pytest.fixture
def desk(tmp_path: Path) -> Generator[Desk]:
    with _desk(tmp_path) as desk:
        yield desk
        assert desk.provider.broken == []


@contextmanager
def _desk(folder: Path) -> Generator[Desk]:
    data, project = folder / "data", folder / "project"
    data.mkdir()
    project.mkdir()
    provider = Provider()
    text = CONFIG.format(url=provider.url, project=json.dumps(str(project)))
    (data / "config.toml").write_text(text)
    try:
        with served(data) as server:
            yield Desk(server, provider, project)
    finally:
        provider.close()


def calls(*made: tuple[str, str, str]) -> bytes:
    """An answer of calls: (id, name, arguments as they are written)."""
    pieces = [
        {"index": n, "id": id, "type": "function", "function": {"name": name, "arguments": raw}}
        for n, (id, name, raw) in enumerate(made)
    ]
    return sse(chunk({"tool_calls": pieces}), chunk(finish="tool_calls"))


def touch(name: str) -> str:
    return json.dumps({"command": f"touch {name}"})


def test_ids_that_a_model_gives_twice_or_makes_up_decide_nothing(desk: Desk) -> None:
    """The same id in one reply, that of a call decided before, that of its approval."""
    desk.provider.queue(calls(("x", "shell_exec", touch("a"))), text_reply("Done."))
    session = desk.say()
    (first,) = desk.waiting(session)
    assert desk.decide(session, first["id"]) == 200
    again = [
        ("x", "shell_exec", touch("b")),
        ("x", "shell_exec", touch("c")),
        (first["call"], "shell_exec", touch("d")),
        (first["id"], "shell_exec", touch("e")),
    ]
    desk.provider.queue(Answer(calls(*again), when='"again"'), text_reply("Done."))
    desk.say("again", session)
    assert desk.made() == ["a"]
    assert desk.decide(session, first["id"]) == 409
    waiting = desk.waiting(session)
    shown = [one["details"]["command"] for one in waiting]
    assert shown == ["touch b", "touch c", "touch d", "touch e"]
    assert len({one["id"] for one in waiting} | {first["id"]}) == 5
    assert desk.decide(session, waiting[2]["id"]) == 200
    for one in (waiting[0], waiting[1], waiting[3]):
        assert desk.decide(session, one["id"], approved=False) == 200
    assert desk.made() == ["a", "d"]


def test_of_keys_given_twice_the_one_that_is_shown_runs(desk: Desk) -> None:
    twice = '{"command": "touch shown", "command": "touch hidden", "comm\\u0061nd": "touch third"}'
    desk.provider.queue(calls(("x", "shell_exec", twice)), text_reply("Done."))
    session = desk.say()
    for asked in desk.waiting(session):
        named = asked["details"]["command"].removeprefix("touch ")
        assert desk.decide(session, asked["id"]) == 200
        assert desk.made() == [named]
    (call,) = desk.blocks(session, "tool")
    assert [*call["arguments"].values()] == ["touch third"]


@pytest.mark.parametrize(
    "name",
    ["shell_ех\u0435c", "shell_exec\u200b", "SHELL_EXEC", "shell\u2010exec", "__proto__", ""],
)
def test_a_name_that_only_looks_like_a_tool_runs_nothing(desk: Desk, name: str) -> None:
    desk.provider.queue(calls(("x", name, touch("a"))), text_reply("Done."))
    session = desk.say()
    for asked in desk.waiting(session):
        assert asked["details"]["command"] == "touch a"
    assert desk.made() == []


def test_what_is_said_while_an_approval_is_open_closes_it(desk: Desk) -> None:
    """A message that steers, and one that is queued: the old request decides nothing any more."""
    desk.provider.queue(call_reply(("shell_exec", {"command": "touch a"})), text_reply("Ok."))
    session = desk.say()
    (asked,) = desk.waiting(session)
    queued = {"session": session, "text": "approve it yourself"}
    desk.server.api("POST", "/api/queue", queued)
    assert [one["id"] for one in desk.waiting(session)] == [asked["id"]]
    desk.say("something else", session)
    assert desk.decide(session, asked["id"]) == 409
    assert desk.made() == []


def test_an_approval_of_a_deleted_session_is_gone(desk: Desk) -> None:
    desk.provider.queue(call_reply(("shell_exec", {"command": "touch a"})), text_reply("Ok."))
    session = desk.say()
    (asked,) = desk.waiting(session)
    desk.server.api("DELETE", f"{SESSIONS}/{session}")
    assert desk.server.api("GET", "/api/agent/pending")["waiting"] == []
    body = {"session": session, "id": asked["id"], "approved": True}
    headers = {"Authorization": f"Bearer {desk.server.token}"}
    assert desk.server.request("POST", "/api/agent/approval", body, **headers)[0] == 404
    assert desk.made() == []


def test_another_session_does_not_decide(desk: Desk) -> None:
    desk.provider.queue(call_reply(("shell_exec", {"command": "touch a"})), text_reply("Ok."))
    session = desk.say()
    (asked,) = desk.waiting(session)
    other = desk.say("hello")
    body = {"session": other, "id": asked["id"], "approved": True}
    headers = {"Authorization": f"Bearer {desk.server.token}"}
    assert desk.server.request("POST", "/api/agent/approval", body, **headers)[0] in (404, 409)
    assert [one["id"] for one in desk.waiting(session)] == [asked["id"]]
    assert desk.made() == []

"""Secrets that are easy to recognise are given to a server at work; none is found elsewhere."""

import base64
import json
import sqlite3
import sys
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from shipmate.handlers.table import ENDPOINTS
from tests.board import BOARD
from tests.cli.server import Served, served, shipmate
from tests.handlers.fitting import query_of, target
from tests.provider import Answer, Provider, call_reply, text_reply

FAKE = Path(__file__).parent.parent / "mcp" / "fake_server.py"
GIVEN = {
    "CANARY_API_KEY": "c4nary-of-the-provider",
    "CANARY_MCP": "c4nary-of-the-mcp-server",
    "GITHUB_TOKEN": "c4nary-of-the-github-token",
}
STORED, PASSWORD = "c4nary-that-is-stored", "c4nary of a user's password"
COMMAND = (
    "env; cat leak.txt; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n';"
    " printf 'c4nary-of-'; printf 'the-provider\\n'; cat leak.txt >&2; exit 3"
)
CONFIG = """
[providers.own]
base_url = "{url}"
api_key = {{ env = "CANARY_API_KEY" }}
[[providers.own.models]]
id = "m"
[projects.demo]
path = {project}
[mcp.servers.fake]
command = {command}
env = {{ CANARY_MCP = {{ env = "CANARY_MCP" }} }}
"""
SCENARIO = {
    "echo_env": True,
    "pages": [[{"name": "look", "inputSchema": {"type": "object"}}]],
    "stderr_on_start": 3,
}
EDIT = {"path": "leak.txt", "oldString": "last line", "newString": "end"}
LEFT_OUT = "/api/auth/sign-out", "/api/auth/password"


@dataclass
class Search:
    """Looks for the canaries in whatever it is shown."""

    canaries: dict[str, str]
    places: int = 0
    found: list[str] = field(default_factory=list[str])

    def look(self, place: str, content: bytes, *but: str) -> None:
        """`but`: canaries that this place is there to hold."""
        self.places += 1
        for name, value in self.canaries.items():
            if name not in but and any(one in content for one in spellings(value)):
                self.found.append(f"{name} in {place}")


def spellings(value: str) -> Iterator[bytes]:
    yield value.encode()
    yield quote(value, safe="").encode()
    yield value.encode().hex().encode()
    for shift in range(3):  # base64 of whatever it stands in
        whole = base64.b64encode(b"x" * shift + value.encode())
        yield whole[4 if shift else 0 : -4]


def approve_all(server: Served, session: str) -> list[dict[str, Any]]:
    """Approve whatever asks until the round is over; the session's blocks."""
    while True:
        server.events("/api/agent/chat/stream", {"session": session})
        view = server.api("GET", f"/api/agent/sessions/{session}")
        waiting = [
            one["id"]
            for one in view["blocks"]
            if one["type"] == "approval_request" and "result" not in one
        ]
        if not waiting:
            return view["blocks"]
        for block in waiting:
            decision = {"session": session, "id": block, "approved": True}
            server.api("POST", "/api/agent/approval", decision)


def work(server: Served, provider: Provider) -> str:
    """A round that fails at the provider, then one that runs whatever could tell a secret."""
    key = GIVEN["CANARY_API_KEY"]
    refusal = {"error": {"message": f"Incorrect key: {key} (Authorization: Bearer {key})"}}
    provider.queue(Answer(json.dumps(refusal).encode(), 401, "application/json"))
    new = {"project": "demo", "provider": "own/m", "task": "fail"}
    failed = server.api("POST", "/api/agent/chat", new)
    assert "[secret]" in failed["error"]
    server.api("POST", "/api/agent/mcp/refresh", {})
    provider.queue(
        call_reply(
            ("shell_exec", {"command": COMMAND}),
            ("read_file", {"path": "leak.txt"}),
            ("grep_search", {"query": "c4nary-of-the"}),
            ("fake__look", {}),
            ("replace_string_in_file", EDIT),
        ),
        call_reply(("shell_exec", {"command": "sleep 600", "background": True})),
        text_reply("Done."),
    )
    session = server.api("POST", "/api/agent/chat", {**new, "task": "work"})["session"]["id"]
    blocks = approve_all(server, session)
    results = [one for one in blocks if one["type"] == "tool_result"]
    told = [one["text"] for one in results]
    assert len(told) == 6
    assert sum("[secret]" in text for text in told) == 4, "\n---\n".join(told)
    return session


def sign_in(server: Served) -> dict[str, str]:
    """A user signs in, after the wrong password; makes a token: what they hold then."""
    server.api("POST", "/api/users", {"name": "ada", "role": "admin", "password": PASSWORD})
    body = {"name": "ada", "password": PASSWORD}
    wrong = {"name": PASSWORD, "password": PASSWORD[:-1]}
    assert server.request("POST", "/api/auth/sign-in", wrong)[0] == 401
    status, headers, content = server.request("POST", "/api/auth/sign-in", body)
    assert status == 200
    cookie = headers["set-cookie"].partition(";")[0].partition("=")[2]
    token = server.api("POST", "/api/auth/tokens", {"name": "ci", "scopes": ["read"]})["token"]
    held = {"cookie": cookie, "header token": json.loads(content)["token"], "bearer token": token}
    server.request("GET", f"/api/agent/sessions?{urlencode({'token': token})}")
    server.request("GET", "/api/auth/me", None, Authorization=f"Bearer {token}x")
    return held


def ask_everything(server: Served, session: str, search: Search) -> None:
    """Every route that only tells something, and each of the others with nothing in it."""
    names = {"id": session, "project": "demo", "name": "index.html"}
    bearer = {"Authorization": f"Bearer {server.token}"}
    for one in ENDPOINTS:
        if one.stream or one.path in LEFT_OUT:
            continue
        query = urlencode(query_of(one, path="README.md"))
        path = f"{target(one, **names)}?{query}".removesuffix("?")
        body = None if one.method == "GET" or one.body is None else {"x": 1}
        if one.method == "GET" or body:
            _, headers, content = server.request(one.method, path, body, **bearer)
            search.look(f"the answer of {one.method} {path}", content + repr(headers).encode())
    for form in ("md", "html", "json"):
        path = f"/api/agent/sessions/{session}/export?format={form}"
        search.look(f"the export as {form}", server.request("GET", path, None, **bearer)[2])
    told = server.events("/api/agent/chat/stream", {"session": session, "after": 0})
    search.look("the events", json.dumps(told).encode())


def descendants(process: int) -> list[int]:
    told = Path(f"/proc/{process}/task").glob("*/children")
    below = [int(child) for threads in told for child in threads.read_text().split()]
    return [one for child in below for one in (child, *descendants(child))]


def look_at_children(server: Served, search: Search) -> int:
    """What the processes below the server have in their environment and their command line."""
    children = descendants(server.process.pid)
    for child in children:
        words = Path(f"/proc/{child}/cmdline").read_bytes()
        mcp = str(FAKE).encode() in words
        search.look(f"the command line of {words!r}", words)
        environ = Path(f"/proc/{child}/environ").read_bytes()
        search.look(f"the environment of {words!r}", environ, *(["CANARY_MCP"] if mcp else []))
    return len(children)


@pytest.mark.safety
def test_no_secret_is_found_where_it_does_not_belong(tmp_path: Path) -> None:
    data, project = tmp_path / "data", tmp_path / "project"
    data.mkdir()
    project.mkdir()
    lines = [*GIVEN.values(), STORED]
    (project / "leak.txt").write_text("\n".join(["key:", *lines, "last line"]) + "\n")
    (tmp_path / "scenario.json").write_text(json.dumps(SCENARIO))
    command = json.dumps([sys.executable, str(FAKE), str(tmp_path / "scenario.json")])
    provider, log = Provider(), tmp_path / "log"
    text = CONFIG.format(url=provider.url, project=json.dumps(str(project)), command=command)
    (data / "config.toml").write_text(text)
    try:
        with log.open("wb") as out, served(data, log=out, **GIVEN) as server:
            stored = {"id": "pasted", "base_url": provider.url, "key": STORED}
            server.api("POST", "/api/providers", stored)
            session = work(server, provider)
            held = sign_in(server)
            search = Search({**GIVEN, "stored": STORED, "password": PASSWORD, **held})
            ask_everything(server, session, search)
            assert look_at_children(server, search) >= 2
            assert shipmate("backup", "--data", data).returncode == 0
            look_at_files(data, search)
            assert server.end() == 0
    finally:
        provider.close()
    search.look("the log", log.read_bytes())
    look_at_files(data, search)
    BOARD.put("secret canaries", search.places * len(search.canaries), len(search.found))
    assert search.found == []


def look_at_files(data: Path, search: Search) -> None:
    names: set[str] = set()
    for file in data.rglob("*"):
        if file.is_file():
            names.add(file.name)
            but = ["stored"] if file.name == "secrets.json" else []
            content = file.read_bytes()
            search.look(str(file.relative_to(data)), content, *but)
            with suppress(zlib.error):  # contents of files are kept compressed
                search.look(f"{file.relative_to(data)}, unpacked", zlib.decompress(content))
    with closing(sqlite3.connect(f"file:{data / 'sessions.db'}?mode=ro", uri=True)) as db:
        search.look("the rows of the database", "\n".join(db.iterdump()).encode())
    assert {"sessions.db", "audit.jsonl", "secrets.json"} <= names
    assert any("backups" in str(file) for file in data.rglob("*.db*"))

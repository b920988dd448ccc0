"""A booby-trapped repository is opened, asked about, listed, searched, read and edited by the whole
product: nothing of it runs, nothing is requested, nothing outside is read or written."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shipmate.safety.sandbox.found import found
from tests.board import BOARD
from tests.cli.server import Served, served
from tests.provider import Provider, call_reply, text_reply
from tests.safety.traps import LINKS, NAMES, SECRET, TEXTS, Place, lay

CONFIG = """
[providers.fake]
type = "openai"
base_url = "{url}"

[[providers.fake.models]]
id = "m"
context_length = 4000000
vision = true
"""
BATCH = 24
"""Calls in one reply; fewer than a round runs."""
Calls = list[tuple[str, dict[str, Any]]]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    place = Place(tmp_path.resolve())
    monkeypatch.setenv("HOME", str(place.home))
    monkeypatch.setenv("OF_THE_SERVER", SECRET)
    monkeypatch.chdir(place.root)  # where a server may be started, too
    monkeypatch.setenv("PYTHONSAFEPATH", "1")  # as `shipmate` is started, unlike `python -m`
    yield place
    place.close()


def looks(place: Place) -> Calls:
    """What a model can do there unasked."""
    files = sorted(
        os.path.relpath(Path(folder, name), place.root)
        for folder, folders, names in os.walk(place.root)
        if "many" not in folder and "/.git" not in folder and "/a/a" not in folder
        for name in (*names, *(one for one in folders if (Path(folder) / one).is_symlink()))
    )
    shown = [name for name in files if name.isprintable()]
    folders = [".", "many", "a", "names", ".git", ".vscode", "piped", "pointing", "sub", *LINKS]
    calls: Calls = [("list_files", {"path": one, "recursive": one == "."}) for one in folders]
    calls += [("file_search", {"query": one}) for one in ("**/*", "outside/*", "*a" * 18 + "b")]
    for words in ("secret", "root:", ".", "(a+)+$"):
        query = {"query": words, "isRegexp": True, "includeIgnoredFiles": True}
        calls.append(("grep_search", query))
    calls += [("read_file", {"path": one}) for one in [*shown, *LINKS, *NAMES, ".git/config"]]
    calls += [("read_file", {"path": f"{one}/secret"}) for one in ("outside", "home/../outside")]
    calls += [
        ("view_image", {"path": one}) for one in ("bomb.png", "bomb.svg", "pipe", "zero", "key")
    ]
    return calls


def writes() -> Calls:
    """What it does with the bypass, or asks for."""
    paths = [*LINKS, "outside/made", "home/.ssh/authorized_keys", ".git/hooks/pre-push", "hard"]
    paths += [".git/config", "pipe", "socket", "sub/.git/config", "pointing/.git", *TEXTS]
    return [("write_file", {"path": one, "content": "overwritten\n"}) for one in paths]


def said(server: Served, provider: Provider, calls: Calls, **fields: Any) -> str:
    """A conversation in which the model makes these calls; the user denies what asks. Gives the
    export of all of it."""
    for at in range(0, len(calls), BATCH):
        provider.queue(call_reply(*calls[at : at + BATCH]))
    provider.queue(text_reply("Done."))
    start = {"project": "project", "provider": "fake/m", "task": "look", **fields}
    events = server.events("/api/agent/chat/stream", start)
    session = next(event["session"] for event in events if event.get("session"))
    while waiting := server.api("GET", "/api/agent/pending")["waiting"]:
        for item in waiting[0]["items"]:
            body = {"session": session, "id": item["id"], "approved": False}
            server.api("POST", "/api/agent/approval", body)
        server.events("/api/agent/chat/stream", {"session": session})
    whole = server.request(
        "GET",
        f"/api/agent/sessions/{session}/export?format=json",
        Authorization=f"Bearer {server.token}",
    )
    return whole[2].decode()


@pytest.mark.safety
@pytest.mark.timeout(600)
def test_nothing_of_it_runs_and_nothing_outside_is_touched(
    place: Place, provider: Provider
) -> None:
    lay(place)
    before = place.state()
    (place.data / "config.toml").write_text(CONFIG.format(url=provider.url))
    with served(place.data) as server:
        server.api("POST", "/api/projects", {"path": str(place.root)})
        state = server.api("GET", "/api/projects/project/state")
        mcp = server.api("GET", "/api/agent/mcp")
        info = server.api("GET", "/api/agent/info")
        read = said(server, provider, looks(place))
        written = said(server, provider, writes(), bypass_approval=True)
        again = server.api("GET", "/api/projects/project/state")
        alive = server.request("GET", "/healthz")[0]
    seen = json.dumps([one.body for one in provider.seen])
    wrong = [
        f"{place.ran} was made" if place.ran.exists() else "",
        f"it was asked for {place.asked}" if place.asked else "",
        "what is outside was read" if SECRET in seen + read + written + str((state, mcp)) else "",
        "the passwords were read" if "root:x:" in seen or "root:*:" in seen else "",
        "what is outside was changed" if place.state() != before else "",
        "the repository set something up" if "evil" in json.dumps([info, mcp["servers"]]) else "",
        "the server is gone" if alive != 200 else "",
    ]
    BOARD.put("booby-trapped repository", place.made, len([one for one in wrong if one]))
    assert [one for one in wrong if one] == []
    assert place.made >= 25
    assert state["git"] == again["git"] or found(place.root).means == "none"
    assert {one["name"] for one in mcp["proposals"]} >= {"evil", "far", "evil2"}
    assert "Be kind." in seen
    assert seen.count("overwritten") > 10
    subprocess.run(["git", "-C", place.root, "status"], capture_output=True, check=False)
    assert place.ran.exists(), "the traps are none: git alone would not have stepped into one"

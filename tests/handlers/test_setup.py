"""Setting up: projects, providers, settings, models, the page."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.handlers.client import ask
from tests.handlers.house import Whole, whole
from tests.provider import Provider


@pytest.fixture
async def house(tmp_path: Path) -> AsyncGenerator[Whole]:
    async with whole(tmp_path) as house:
        yield house


def body(**fields: Any) -> bytes:
    return msgspec.json.encode(fields)


async def test_a_folder_is_added_once_and_removed(
    house: Whole, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("elsewhere") / "My Möd"
    folder.mkdir()
    added = await house.call("POST", "/api/projects", body(path=str(folder)))
    assert (added.status, added.json["name"], added.json["missing"]) == (201, "My Möd", False)
    again = await house.call("POST", "/api/projects", body(path=f"{folder}/."))
    assert again.json["id"] == added.json["id"]
    folder.rmdir()
    listed = (await house.call("GET", "/api/projects")).json["projects"]
    assert {one["id"]: one["missing"] for one in listed}[added.json["id"]] is True
    path = f"/api/projects/{added.json['id']}"
    assert (await house.call("DELETE", path)).status == 204
    assert (await house.call("DELETE", path)).status == 404


@pytest.mark.parametrize("path", ["/no/such/folder", "relative", "/", "FILE", "DATA"])
async def test_what_cannot_be_a_project_is_refused_by_name(
    house: Whole, tmp_path: Path, path: str
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    path = {"FILE": str(file), "DATA": str(tmp_path)}.get(path, path)
    answer = await house.call("POST", "/api/projects", body(path=path))
    assert answer.status == 400
    assert path in answer.json["detail"]
    assert len((await house.call("GET", "/api/projects")).json["projects"]) == 1


async def test_a_pasted_key_is_kept_and_never_shown(
    house: Whole, tmp_path: Path, provider: Provider
) -> None:
    key = "sk-canary-0123456789"
    setup = {"id": "own", "type": "openai", "base_url": provider.url, "key": key}
    tested = await house.call("POST", "/api/providers/test", body(**setup))
    assert tested.json["ok"] is True
    assert tested.json["models"] == ["m"]
    added = await house.call("POST", "/api/providers", body(**setup))
    assert (added.status, added.json["key"]) == (201, "secret:own")
    answers = [
        tested,
        added,
        await house.call("GET", "/api/providers"),
        await house.call("GET", "/api/agent/info"),
        await house.call("GET", "/api/models"),
    ]
    assert all(key.encode() not in answer.body for answer in answers)
    assert key not in (tmp_path / "config.toml").read_text()
    groups = {one["id"]: one for one in answers[3].json["providers"]}
    assert [model["id"] for model in groups["own"]["models"]] == ["m"]
    renamed = {k: v for k, v in setup.items() if k != "key"} | {"title": "Mine"}
    kept = await house.call("POST", "/api/providers", body(**renamed))
    assert (kept.json["title"], kept.json["key"]) == ("Mine", "secret:own")
    assert (await house.call("DELETE", "/api/providers/own")).status == 204
    assert key not in (tmp_path / "secrets.json").read_text()
    assert (await house.call("DELETE", "/api/providers/own")).status == 404


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"id": "a/b"}, "a/b"),
        ({"id": "x", "type": "nope"}, "nope"),
        ({"id": "x", "base_url": "ftp://x"}, "base_url"),
        ({"id": "x", "base_url": "http://u:p@x/v1"}, "key"),
        ({"id": "x", "key": "k", "env": "E"}, "not both"),
        ({"id": "x", "colour": "red"}, "colour"),
        ({"id": "x", "reasoning_effort": "maximal"}, "reasoning_effort"),
    ],
)
async def test_settings_that_do_not_fit_are_refused_with_their_place(
    house: Whole, tmp_path: Path, wrong: dict[str, Any], word: str
) -> None:
    before = (tmp_path / "config.toml").read_text()
    answer = await house.call("POST", "/api/providers", body(**wrong))
    assert answer.status in (400, 422)
    assert word in answer.json["detail"]
    assert (tmp_path / "config.toml").read_text() == before


async def test_a_provider_that_is_not_there_says_why(house: Whole) -> None:
    setup = {"id": "x", "base_url": "http://127.0.0.1:1/v1"}
    tested = await house.call("POST", "/api/providers/test", body(**setup))
    assert tested.json["ok"] is False
    assert "127.0.0.1:1" in tested.json["detail"]


async def test_settings_are_changed_together_or_not_at_all(house: Whole, tmp_path: Path) -> None:
    good = {"interface": {"send_key": "enter", "language": "zh-CN"}}
    changed = await house.call("PATCH", "/api/settings", body(**good))
    assert changed.json["interface"] == (await house.call("GET", "/api/settings")).json["interface"]
    assert 'send_key = "enter"' in (tmp_path / "config.toml").read_text()
    for wrong in ({"send_key": "ctrl+enter", "language": "xx"}, {"colour": "red"}):
        answer = await house.call("PATCH", "/api/settings", body(interface=wrong))
        assert answer.status == 400
        assert list(wrong)[-1] in answer.json["detail"]
    kept = (await house.call("GET", "/api/settings")).json["interface"]
    assert (kept["send_key"], kept["language"]) == ("enter", "zh-CN")


async def test_a_project_says_which_mcp_servers_agents_may_use_there(house: Whole) -> None:
    path = "/api/projects/demo"
    await house.call("POST", "/api/agent/mcp", body(name="notes", command=["x"], enabled=False))
    chosen = await house.call("PATCH", path, body(mcp=["notes"]))
    assert chosen.json["mcp"] == ["notes"]
    none = await house.call("PATCH", path, body(mcp=[]))
    assert none.json["mcp"] == []
    renamed = await house.call("PATCH", path, body(name="Other"))
    assert renamed.json["mcp"] == [], "another name allows no server"
    wrong = await house.call("PATCH", path, body(mcp=["note"]))
    assert wrong.status == 422
    assert b"notes" in wrong.body
    every = await house.call("PATCH", path, body(mcp=["*"]))
    assert every.json["mcp"] == ["*"]


async def test_info_names_agents_models_and_projects(house: Whole) -> None:
    info = (await house.call("GET", "/api/agent/info")).json
    assert [one["id"] for one in info["agents"]] == ["assistant"]
    assert info["projects"][0]["id"] == "demo"
    ids = {f"{p['id']}/{m['id']}" for p in info["providers"] for m in p["models"]}
    assert "scripted/demo" in ids
    assert info["default_model"] in ids


async def test_fetching_an_unknown_model_is_404(house: Whole) -> None:
    for path in ("/api/models/fetch", "/api/models/cancel"):
        assert (await house.call("POST", path, body(name="nope"))).status == 404


async def test_a_stored_picture_is_served_and_nothing_beside_it(
    house: Whole, tmp_path: Path
) -> None:
    folder = tmp_path / "files"
    folder.mkdir(exist_ok=True)
    (folder / "a1").write_bytes(b"\x89PNG\r\n\x1a\nrest")
    (folder / "b2").write_bytes(b"<script>alert(1)</script>")
    picture = await house.call("GET", "/api/files/a1")
    assert picture.headers["content-type"] == "image/png"
    other = await house.call("GET", "/api/files/b2")
    assert other.headers["content-type"] == "application/octet-stream"
    assert other.headers["content-disposition"] == "attachment"
    for path in ("..", "../config.toml", "%2e%2e/config.toml", "..%2fconfig.toml", "c3", "."):
        assert (await house.call("GET", f"/api/files/{path}")).status == 404, path


async def test_only_built_files_are_served_by_their_exact_names(
    house: Whole, tmp_path: Path
) -> None:
    root = tmp_path / "static"
    (root / "assets").mkdir(parents=True)
    house.gate.house.pages.root = root
    missing = await ask(house.gate, "GET", "/")
    assert missing.status == 503
    assert b"./dev setup" in missing.body
    (root / "index.html").write_text("<!doctype html>page")
    (root / "assets" / "a-1234.js").write_text("js")
    (tmp_path / "secret.txt").write_text("secret")
    page = await ask(house.gate, "GET", "/")
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["cache-control"] == "no-cache"
    script = await ask(house.gate, "GET", "/assets/a-1234.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert "immutable" in script.headers["cache-control"]
    known = [("if-none-match", script.headers["etag"])]
    assert (await ask(house.gate, "GET", "/assets/a-1234.js", headers=known)).status == 304
    for path in (
        "/assets/../secret.txt",
        "/assets/../../secret.txt",
        "/assets//etc/passwd",
        "/assets/%2e%2e/%2e%2e/secret.txt",
        "/assets/a-1234.js/",
        "/assets/",
        "/secret.txt",
        "/..",
    ):
        assert (await ask(house.gate, "GET", path)).status == 404, path

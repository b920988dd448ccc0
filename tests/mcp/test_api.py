"""MCP servers over the API: added, shown, changed, accepted, removed; proposals and presets."""

import json
import sys
from pathlib import Path
from typing import Any

from shipmate.protocol import encode
from tests.handlers.house import Whole, whole
from tests.mcp.running import fake, told
from tests.mcp.test_faults import OK, alive, page, until

MCP = "/api/agent/mcp"


async def api(house: Whole, method: str, path: str = "", **body: Any) -> Any:
    answer = await house.call(method, MCP + path, encode(body) if body else b"")
    assert answer.status < 300, answer.body
    return answer.json if answer.body else None


async def added(house: Whole, folder: Path, scenario: Any, name: str = "fake", **more: Any) -> Any:
    await house.pool.start()
    command = fake(folder, scenario, name).command
    await api(house, "POST", name=name, command=command, **more)
    await house.pool.settled(20)
    return await server(house, name)


async def server(house: Whole, name: str = "fake") -> Any:
    page = await api(house, "GET")
    return next(one for one in page["servers"] if one["name"] == name)


async def test_a_server_is_added_shown_switched_off_and_removed(tmp_path: Path) -> None:
    async with whole(tmp_path) as house:
        keys = {"TOKEN": "canary-1"}
        shown = await added(house, tmp_path, page("ok", "more"), keys=keys, env={"A": "b"})
        assert shown["state"] == "ready"
        assert [(t["name"], t["alias"], t["state"]) for t in shown["tools"]] == [
            ("ok", "fake__ok", "on"), ("more", "fake__more", "on")
        ]  # fmt: skip
        assert shown["env"] == [
            {"name": "A", "origin": "text"},
            {"name": "TOKEN", "origin": "secret:mcp-fake-TOKEN"},
        ]
        assert "canary" not in json.dumps(await api(house, "GET"))
        assert "canary" not in (tmp_path / "config.toml").read_text()
        changed = await api(house, "PATCH", "/fake", off=["more"])
        assert changed["env"] == shown["env"]
        await house.pool.settled(20)
        assert [t["state"] for t in (await server(house))["tools"]] == ["on", "off"]
        info = (await house.call("GET", "/api/agent/info")).json
        assert info["mcp_servers"] == [{"name": "fake", "state": "ready", "tools": 1}]
        assert (await api(house, "PATCH", "/fake", enabled=False))["state"] == "off"
        await api(house, "DELETE", "/fake")
        assert (await api(house, "GET"))["servers"] == []
        assert "canary" not in (tmp_path / "secrets.json").read_text()
        assert (await house.call("DELETE", f"{MCP}/fake")).status == 404


async def test_what_does_not_fit_is_refused_in_words(tmp_path: Path) -> None:
    async with whole(tmp_path) as house:
        for body, words in (
            ({"name": "x"}, "command is missing"),
            ({"name": "a b", "command": ["x"]}, "letters, digits"),
            ({"name": "x", "transport": "http", "url": "ftp://h"}, "url must be like"),
            ({"name": "x", "transport": "http", "url": "https://u:p@h/"}, "no password"),
            ({"name": "x", "command": ["x"], "call_timeout": 0}, "call_timeout"),
        ):
            answer = await house.call("POST", MCP, encode(body))
            assert answer.status in (400, 422), body
            assert words in answer.json["detail"], answer.json


async def test_a_changed_description_is_shown_and_accepted_as_it_was_shown(tmp_path: Path) -> None:
    after = {"then_pages": [[OK | {"description": "New words."}]],
             "notify": "notifications/tools/list_changed"}  # fmt: skip
    async with whole(tmp_path) as house:
        await added(house, tmp_path, page("ok", after_call={"ok": after}))
        live = house.pool.servers["fake"].live
        assert live is not None
        from shipmate.mcp.asked import Running  # the SDK is there by now

        await live.call("ok", {}, Running("c", tmp_path, None, ""))
        await until(lambda: house.pool.servers["fake"].lists == 2)
        (tool,) = (await server(house))["tools"]
        assert tool["state"] == "changed"
        assert tool["changes"] == [
            {"part": "description", "before": "Says ok.", "after": "New words."}
        ]
        stale = {"server": "fake", "tools": {"ok": "0" * 64}}
        assert (await house.call("POST", f"{MCP}/accept", encode(stale))).status == 409
        accepted = await api(house, "POST", "/accept", server="fake", tools={"ok": tool["hash"]})
        assert [t["state"] for t in accepted["tools"]] == ["on"]


async def test_how_a_server_is_set_up_is_for_admins(tmp_path: Path) -> None:
    async with whole(tmp_path) as house:
        await added(house, tmp_path, page("ok"))
        secrets = [(await house.keys.create_token(one, [one]))[1] for one in ("read", "run")]
        reader, runner = secrets
        body = encode({"server": "fake"})
        for answer in (
            await house.call("GET", MCP, secret=reader),
            await house.call("POST", f"{MCP}/refresh", body, secret=runner),
        ):
            (seen,) = answer.json["servers"]
            assert seen["name"] == "fake"
            assert [tool["name"] for tool in seen["tools"]] == ["ok"]
            assert str(tmp_path) not in str(seen)
        assert str(tmp_path) in str((await server(house))["command"])


async def test_a_refresh_lists_anew_and_tries_again_what_failed(tmp_path: Path) -> None:
    async with whole(tmp_path) as house:
        await added(house, tmp_path, page("ok"))
        answer = await api(house, "POST", "/refresh", server="fake")
        assert [one["name"] for one in answer["servers"]] == ["fake"]
        lists = [m for m in told(tmp_path) if m.get("method") == "tools/list"]
        assert len(lists) == 2
        assert (await house.call("POST", f"{MCP}/refresh", b'{"server": "x"}')).status == 404


async def test_what_a_project_proposes_is_shown_and_starts_only_as_it_was_shown(
    tmp_path: Path,
) -> None:
    command = fake(tmp_path, page("ok"), "wanted").command
    entry = {"command": command[0], "args": list(command[1:]), "env": {"A": "1"}}
    async with whole(tmp_path) as house:
        await house.pool.start()
        file = house.project / ".mcp.json"
        file.write_text(json.dumps({"mcpServers": {"wanted": entry}}))
        shown = await api(house, "GET")
        (proposal,) = shown["proposals"]
        assert proposal["command"] == list(command)
        assert proposal["env"] == ["A"]
        assert shown["servers"] == []
        file.write_text(json.dumps({"mcpServers": {"wanted": entry | {"args": ["-c", "evil"]}}}))
        body = {"project": "demo", "name": "wanted", "hash": proposal["hash"]}
        answer = await house.call("POST", f"{MCP}/proposals", encode(body))
        assert answer.status == 409
        assert house.pool.servers == {}
        (again,) = (await api(house, "GET"))["proposals"]
        await api(house, "POST", "/proposals", **(body | {"hash": again["hash"]}))
        assert house.pool.servers["wanted"].settings.command[1:] == ("-c", "evil")


async def test_a_preset_installs_by_the_commands_that_were_shown_only(
    tmp_path: Path, monkeypatch: Any
) -> None:
    """The real installation is tried by `--mcp`; here a wheel that is there takes its place."""
    from shipmate.mcp import presets

    made = presets.Preset(
        "duckduckgo", "D", "d", "", "p",
        lambda folder: ((sys.executable, "-c", f"import os; os.makedirs({str(folder)!r})"),),
        lambda folder: fake(tmp_path, page("ok"), "duckduckgo"),
    )  # fmt: skip
    monkeypatch.setitem(presets.PRESETS, "duckduckgo", made)
    async with whole(tmp_path) as house:
        await house.pool.start()
        shown = next(p for p in (await api(house, "GET"))["presets"] if p["id"] == "duckduckgo")
        assert not shown["configured"]
        other = {"commands": [["rm", "-rf", "/"]]}
        answer = await house.call("POST", f"{MCP}/presets/duckduckgo", encode(other))
        assert answer.status == 409
        begun = await api(house, "POST", "/presets/duckduckgo", commands=shown["commands"])
        assert begun["state"] == "running"
        await until(lambda: "duckduckgo" in house.pool.servers)
        await house.pool.settled(20)
        assert (await server(house, "duckduckgo"))["state"] == "ready"


async def test_an_installation_that_is_stopped_leaves_no_process_behind(
    tmp_path: Path, monkeypatch: Any
) -> None:
    from shipmate.mcp import presets

    code = (
        "import os, subprocess, time\n"
        "child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        f"with open({str(tmp_path / 'pids.part')!r}, 'w') as file:\n"
        "    file.write(f'{os.getpid()} {child.pid}')\n"
        f"os.rename({str(tmp_path / 'pids.part')!r}, {str(tmp_path / 'pids')!r})\n"
        "time.sleep(600)"
    )
    made = presets.Preset(
        "duckduckgo", "D", "d", "", "p", lambda _: ((sys.executable, "-c", code),),
        lambda _: fake(tmp_path, page("ok"), "duckduckgo"),
    )  # fmt: skip
    monkeypatch.setitem(presets.PRESETS, "duckduckgo", made)
    async with whole(tmp_path) as house:
        await house.pool.start()
        await api(house, "POST", "/presets/duckduckgo", commands=[[sys.executable, "-c", code]])
        await until((tmp_path / "pids").exists)
        pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
        assert [alive(pid) for pid in pids] == [True, True]
    assert [alive(pid) for pid in pids] == [False, False]


async def test_the_callback_takes_a_sign_in_that_was_begun_here_only(tmp_path: Path) -> None:
    async with whole(tmp_path) as house:
        back = await house.call("GET", "/mcp/callback?state=none&code=1")
        assert back.status == 404
        waiting = house.pool.around.sign_ins.expect("s1")
        back = await house.call("GET", "/mcp/callback?state=s1&code=abc&iss=https://i&extra=1")
        assert back.status == 200
        assert await waiting == ("abc", "https://i")
        refused = await house.call("GET", "/mcp/callback?error=%3Cb%3E")
        assert refused.status == 400
        assert b"<b>" not in refused.body

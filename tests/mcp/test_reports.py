"""The public bug reports on MCP (`tests/cases/reports.jsonl`), each against a real server."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from shipmate.agent.profile import ASSISTANT
from shipmate.llm.invariants import check_tools
from shipmate.llm.scripted import ScriptedModel, call, say
from shipmate.mcp.shelf import Wanted
from shipmate.protocol import ToolResult
from tests.mcp.running import (
    BLIND,
    SEES,
    Running,
    approved,
    fake,
    playing,
    pool_of,
    report,
    told,
)


async def called(
    folder: Path, running: Running, tool: str, arguments: Any = None, server: str = "fake"
) -> ToolResult:
    """The result of one approved call of a tool, by its own name."""
    wire = wire_of(running, tool, server)
    steps = [call(wire, **(arguments or {})), say("Done.")]
    async with playing(folder, running, steps) as stage:
        return (await approved(stage))[0]


def wire_of(running: Running, tool: str, server: str = "fake") -> str:
    found = running.pool.servers[server].tool(tool)
    assert found is not None
    return found.wire


async def test_mcp_01_every_name_is_valid_and_distinct_and_the_server_hears_its_own(
    tmp_path: Path,
) -> None:
    scenario = report("MCP-01")
    names = [tool["name"] for tool in scenario["pages"][0]]
    async with pool_of(tmp_path, {scenario["name"][:64]: fake(tmp_path, scenario)}) as running:
        await running.ready()
        server = running.pool.servers[scenario["name"][:64]]
        wires = [tool.wire for tool in server.tools]
        bodies = [{"function": {"name": w, "parameters": t.parameters}}
                  for w, t in zip(wires, server.tools, strict=True)]  # fmt: skip
        assert check_tools({"tools": bodies}) == []
        assert [tool.name for tool in server.tools] == names
        async with playing(tmp_path, running, [call(wires[2]), say("Done.")]) as stage:
            results = await approved(stage)
            offered = running.pool.offer(Wanted(ASSISTANT.providers)).tools
    assert results[0].text == "ok"
    assert told(tmp_path)[-1]["params"]["name"] == "查询"
    assert offered[wires[2]].title.endswith(": 查询")


async def test_mcp_04_schemas_are_repaired_and_the_server_gets_what_the_model_sent(
    tmp_path: Path,
) -> None:
    async with pool_of(tmp_path, {"fake": fake(tmp_path, report("MCP-04") | {"echo": True})}) as r:
        await r.ready()
        tools = r.pool.servers["fake"].tools
        assert [tool.name for tool in tools] == [f"t{n}" for n in range(1, 9)]
        for tool in tools:
            schema = tool.parameters
            assert schema["type"] == "object"
            assert set(schema.get("required", ())) <= set(schema["properties"])
            assert all("items" in p for p in schema["properties"].values()
                       if p.get("type") == "array")  # fmt: skip
        result = await called(tmp_path, r, "t3", {"a": [1, {"b": None}]})
    assert json.loads(result.text) == {"a": [1, {"b": None}]}


async def test_mcp_09_a_cursor_that_does_not_move_ends_the_list(tmp_path: Path) -> None:
    async with pool_of(tmp_path, {"fake": fake(tmp_path, report("MCP-09"))}) as running:
        await running.ready()
        assert [tool.name for tool in running.pool.servers["fake"].tools] == ["p1", "p2"]
    asked = [m for m in told(tmp_path) if m.get("method") == "tools/list"]
    assert len(asked) == 2


@pytest.mark.parametrize("info", [SEES, BLIND], ids=["sees", "blind"])
async def test_mcp_11_a_result_without_text_says_what_came(tmp_path: Path, info: Any) -> None:
    async with pool_of(tmp_path, {"fake": fake(tmp_path, report("MCP-11"))}) as running:
        await running.ready()
        wire = wire_of(running, "shot")
        async with playing(tmp_path, running, [call(wire), say("Done.")], info) as server:
            result = (await approved(server))[0]
            assert isinstance(server.model, ScriptedModel)
            last = server.model.requests[-1]
    for words in ("inside", "https://x.test/y", "future", "audio/wav"):
        assert words in result.text
    pictures = [image for message in last.messages for image in message.images]
    if info is SEES:
        assert [image.media_type for image in pictures] == ["image/png"]
    else:
        assert "1 image/png (not shown to this model)" in result.text


@pytest.mark.parametrize(
    ("tool", "text", "failed"),
    [
        ("s1", '{"tables": [1]}', False),
        ("s2", "[1, 2]", False),
        ("s3", "connection refused", True),
        ("s4", "(no output)", False),
    ],
)
async def test_mcp_12_structure_alone_is_the_result_and_an_error_is_seen(
    tmp_path: Path, tool: str, text: str, failed: bool
) -> None:
    async with pool_of(tmp_path, {"fake": fake(tmp_path, report("MCP-12"))}) as running:
        await running.ready()
        result = await called(tmp_path, running, tool)
    assert (result.text, result.is_error) == (text, failed)


async def test_mcp_14_noise_on_stderr_is_read_and_its_end_is_kept(tmp_path: Path) -> None:
    async with pool_of(tmp_path, {"fake": fake(tmp_path, report("MCP-14"))}) as running:
        await running.ready()
        result = await called(tmp_path, running, "ok")
        tail = running.pool.servers["fake"].last_words
    assert result.text == "ok"
    assert set(tail) == {"e"}
    assert 1_000 < len(tail) <= 8_192


async def test_mcp_16_a_call_in_which_the_server_dies_is_told_and_not_repeated(
    tmp_path: Path,
) -> None:
    async with pool_of(tmp_path, {"fake": fake(tmp_path, report("MCP-16"))}, pause_s=0.05) as r:
        await r.ready()
        lost = await called(tmp_path, r, "boom")
        assert lost.is_error
        assert "ended during the call" in lost.text
        assert "Traceback: boom" in lost.text
        assert (await called(tmp_path, r, "ok")).text == "ok"
        assert r.pool.servers["fake"].starts == 2
    sent = [m["params"]["name"] for m in told(tmp_path) if m.get("method") == "tools/call"]
    assert sent == ["boom", "ok"]


async def test_mcp_16_a_server_that_dies_at_each_start_is_given_up(tmp_path: Path) -> None:
    scenario = {"die_at_start": True}
    async with pool_of(tmp_path, {"fake": fake(tmp_path, scenario)}, pause_s=0.01) as running:
        await running.ready()
        server = running.pool.servers["fake"]
        assert (server.state, server.starts) == ("failed", 5)
        assert "no licence" in server.error
        assert "given up" in server.error


async def test_mcp_19_variables_are_put_in_and_a_missing_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN_CANARY", "canary-7")
    monkeypatch.delenv("UNSET", raising=False)
    scenario = report("MCP-19")
    missing = fake(tmp_path, scenario, "missing", env=scenario["env"])
    fine = {k: v for k, v in scenario["env"].items() if k != "D"}
    servers = {"fake": fake(tmp_path, scenario, env=fine), "missing": missing}
    async with pool_of(tmp_path, servers) as running:
        await running.ready()
        result = await called(tmp_path, running, "env")
        failed = running.pool.servers["missing"]
        assert failed.state == "failed"
        assert "UNSET" in failed.error
    got = json.loads(result.text)
    assert got["A"] == f"{Path.home()}/x"
    assert (got["B"], got["C"], got["E"]) == ("canary-7", "dflt", "100$")


async def test_mcp_20_a_huge_result_is_cut_and_kept_whole_in_a_file(tmp_path: Path) -> None:
    async with pool_of(tmp_path, {"fake": fake(tmp_path, report("MCP-20"))}) as running:
        await running.ready()
        result = await called(tmp_path, running, "big")
    assert len(result.text) <= 20_000
    assert result.truncated
    assert "read_file" in result.text
    kept = list((tmp_path / "files" / "outputs").rglob("*.txt"))
    assert [len(file.read_text("utf-8")) for file in kept] == [5_000_000]


async def test_mcp_21_requests_of_the_server_are_answered_and_odd_messages_ignored(
    tmp_path: Path,
) -> None:
    async with pool_of(tmp_path, {"fake": fake(tmp_path, report("MCP-21"))}) as running:
        await running.ready()
        result = await called(tmp_path, running, "ok")
        assert result.text in ("ok", "by its id as a string")
        answers: dict[str, Any] = {}
        end = time.monotonic() + 10
        while len(answers) < 5 and time.monotonic() < end:
            answers = {m["id"]: m for m in told(tmp_path) if "method" not in m}
            await asyncio.sleep(0.01)
    assert answers["srv-0"]["result"] == {}
    root = answers["srv-1"]["result"]["roots"][0]
    assert root["uri"] == (tmp_path / "project").resolve().as_uri()
    assert "error" in answers["srv-2"]
    assert "error" in answers["srv-3"]
    assert answers["srv-4"]["error"]["code"] == -32601

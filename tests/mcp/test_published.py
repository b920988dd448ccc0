"""`./dev test --mcp`: the servers and the conformance suite of others, as they are published."""

import asyncio
import os
import re
import socket
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from shipmate.mcp.presets import PRESETS
from shipmate.mcp.settings import McpServerSettings
from tests.mcp.published import ROOT, TABLE, duckduckgo, node, npm_packages, version_of
from tests.mcp.running import pool_of
from tests.mcp.test_reports import called

pytestmark = [pytest.mark.mcp, pytest.mark.timeout(900)]

EVERYTHING = "@modelcontextprotocol/server-everything"
SUITE = "@modelcontextprotocol/conformance"
CLIENT = Path(__file__).with_name("conformance_client.py")
NOT_OURS = {
    "auth/basic-cimd": "needs a client id that is an address of the public web",
    "auth/scope-step-up": "asks for more rights in the middle of a call: not done yet",
    "auth/2025-03-26-oauth-metadata-backcompat": "an older way to find who signs in: not done yet",
    "auth/pre-registration": "needs a client id that its owner has registered by hand",
}
SCENARIO_S = 60


@contextmanager
def everything(transport: str) -> Generator[McpServerSettings]:
    script = str(npm_packages() / EVERYTHING / "dist" / "index.js")
    if transport == "stdio":
        yield McpServerSettings(command=(node(), script, "stdio"))
        return
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    word = "streamableHttp" if transport == "http" else "sse"
    environment = {**os.environ, "PORT": str(port)}
    with subprocess.Popen([node(), script, word], env=environment) as process:
        try:
            path = "mcp" if transport == "http" else "sse"
            url = f"http://127.0.0.1:{port}/{path}"
            yield McpServerSettings(transport=transport, url=url)  # pyright: ignore[reportArgumentType] - one of the three
        finally:
            process.kill()


@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
async def test_the_official_server_of_everything(tmp_path: Path, transport: str) -> None:
    with everything(transport) as settings:
        async with pool_of(tmp_path, {"all": settings}, connect_s=60.0, pause_s=0.5) as running:
            server = running.pool.servers["all"]
            async with asyncio.timeout(120):
                while server.state != "ready":
                    assert server.state != "failed", server.error
                    await asyncio.sleep(0.05)
            result = await called(tmp_path, running, "echo", {"message": "hi"}, server="all")
            assert "hi" in result.text
            TABLE.put(
                f"server-everything over {transport}",
                version_of(EVERYTHING),
                f"{len(server.tools)} tools, revision {server.version}, echo called",
            )


async def listed(tmp_path: Path, name: str, settings: Any, version: str) -> list[str]:
    async with pool_of(tmp_path, {name: settings}, connect_s=120.0) as running:
        await running.pool.settled(120)
        server = running.pool.servers[name]
        assert server.state == "ready", (server.error, server.tail)
        TABLE.put(name, version, f"{len(server.tools)} tools, revision {server.version}")
        return [tool.name for tool in server.tools]


async def test_the_preset_duckduckgo_starts_and_lists(tmp_path: Path) -> None:
    settings = McpServerSettings(command=(duckduckgo(),))
    python = Path(duckduckgo()).with_name("python")
    said = subprocess.run(
        [python, "-m", "pip", "show", "duckduckgo-mcp-server"],
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"Version: (\S+)", said.stdout)
    names = await listed(tmp_path, "duckduckgo", settings, found[1] if found else "")
    assert "search" in names


async def test_the_preset_desktop_commander_starts_and_lists(tmp_path: Path) -> None:
    package = "@wonderwhy-er/desktop-commander"
    command = PRESETS["desktop-commander"].settings(npm_packages().parent).command
    settings = McpServerSettings(command=(node(), *command[1:]), always_ask=True)
    names = await listed(tmp_path, "desktop-commander", settings, version_of(package))
    assert "start_process" in names


def scenarios() -> list[str]:
    """Those for clients, of the revisions that are published."""
    said = subprocess.run(
        [node(), npm_packages() / ".bin" / "conformance", "list", "--client"],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = re.findall(r"- (\S+) \[([^\]]*)\]", said.stdout)
    return [name for name, versions in rows if re.search(r"\d{4}-", versions)]


def passed(scenario: str) -> bool:
    client = f"{sys.executable} {CLIENT}"
    command = [node(), str(npm_packages() / ".bin" / "conformance"), "client", "--command", client]
    done = subprocess.run(
        [*command, "--scenario", scenario, "--timeout", str(SCENARIO_S * 1000)],
        capture_output=True,
        text=True,
        timeout=SCENARIO_S + 20,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    return "OVERALL: PASSED" in done.stdout + done.stderr


def test_the_conformance_suite_passes_against_our_client() -> None:
    names = scenarios()
    with ThreadPoolExecutor(4) as several:
        failed = [n for n, good in zip(names, several.map(passed, names), strict=True) if not good]
    TABLE.put(
        "conformance, scenarios for clients",
        version_of(SUITE),
        f"{len(names) - len(failed)} of {len(names)} passed"
        + (f"; not: {', '.join(failed)}" if failed else ""),
    )
    assert set(failed) <= set(NOT_OURS)

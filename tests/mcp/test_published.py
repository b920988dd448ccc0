"""`./dev test --mcp`: servers of others, as they are published."""

import asyncio
import os
import re
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from shipmate.mcp.presets import PRESETS
from shipmate.mcp.settings import McpServerSettings
from tests.mcp.published import (
    COMMANDER,
    EVERYTHING,
    TABLE,
    VERSIONS,
    duckduckgo,
    node,
    npm_packages,
)
from tests.mcp.running import pool_of
from tests.mcp.test_reports import called

pytestmark = [pytest.mark.mcp, pytest.mark.timeout(900)]


@contextmanager
def everything(transport: str) -> Generator[McpServerSettings]:
    script = str(npm_packages(EVERYTHING) / EVERYTHING / "dist" / "index.js")
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
                VERSIONS[EVERYTHING],
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
    command = PRESETS["desktop-commander"].settings(npm_packages(COMMANDER).parent).command
    settings = McpServerSettings(command=(node(), *command[1:]), always_ask=True)
    names = await listed(tmp_path, "desktop-commander", settings, VERSIONS[COMMANDER])
    assert "start_process" in names

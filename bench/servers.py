"""MCP: what a call costs beside the bare SDK, a large result, and very many tools."""

import asyncio
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench.figures import Figure
from bench.rows import Bench

SERVER = Path(__file__).with_name("mcp_server.py")
CALLS = 300
SIZE = 10_000_000
MANY = (20, 500)
"""Servers, and tools of each."""


class Forgetful:
    """Implements `mcp.server.Pins` in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, bytes]] = {}

    async def accepted(self, server: str) -> dict[str, bytes]:
        return self.kept.get(server, {})

    async def accept(self, server: str, tools: Mapping[str, bytes]) -> None:
        self.kept.setdefault(server, {}).update(tools)

    async def forget(self, server: str) -> None:
        self.kept.pop(server, None)


@asynccontextmanager
async def pool(folder: Path) -> AsyncGenerator[Any]:
    from shipmate.mcp.pool import Pool
    from shipmate.mcp.server import Surroundings
    from shipmate.mcp.settings import McpServerSettings, McpSettings
    from shipmate.network.client import Client
    from shipmate.safety.secrets import Secrets

    settings = McpServerSettings(command=(sys.executable, str(SERVER)))
    around = Surroundings(
        Secrets(folder / "secrets.json"), Forgetful(), "bench", list, Client(), connect_s=60.0
    )
    async with asyncio.TaskGroup() as tasks:
        made = Pool(lambda: McpSettings(servers={"bench": settings}), around, tasks)
        await made.start()
        await made.settled(60)
        yield made
        await made.close()


async def mcp(_bench: Bench) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="shipmate-mcp-") as place:
        folder = Path(place)
        bare = await bare_call()
        async with pool(folder) as made:
            mine = await own_call(made, folder)
            seconds, megabytes = await large(made, folder)
        return [
            Figure("an MCP call, more than the bare SDK's", mine - bare, "ms", 2),
            Figure("a result of 10 MB from an MCP server", seconds, "s", 1.5),
            Figure("… in memory", megabytes, "MB", 64),
            Figure("a first request with 20 servers of 500 tools", many(), "ms", 20),
        ]


async def bare_call() -> float:
    from mcp.client.stdio import StdioServerParameters

    from mcp import Client

    started = StdioServerParameters(command=sys.executable, args=[str(SERVER)])
    async with Client(started, mode="legacy") as client:
        return await median_of(lambda: client.call_tool("echo", {"text": "hi"}))


async def own_call(made: Any, folder: Path) -> float:
    tool, context = prepared(made, folder, "echo")

    async def one() -> None:
        from shipmate.tools.output import border

        await border(await tool.run(context, text="hi"), context.work, "c1")

    return await median_of(one)


async def large(made: Any, folder: Path) -> tuple[float, float]:
    from shipmate.tools.output import border

    tool, context = prepared(made, folder, "big")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.perf_counter()
    result = await border(await tool.run(context, size=SIZE), context.work, "c1")
    took = time.perf_counter() - begun
    assert result.truncated
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return took, (after - before) / 1024


def prepared(made: Any, folder: Path, name: str) -> Any:
    from shipmate.mcp.shelf import Wanted
    from shipmate.tools.tool import ToolContext, Workspace

    tool = made.offer(Wanted(("mcp:*",))).tools[f"bench__{name}"]
    return tool, ToolContext(Workspace(folder, "s1", files=folder / "files"), "c1")


def many() -> float:
    """Milliseconds from all servers being ready to the bytes of the first request."""
    from shipmate.llm.encoding import RequestEncoder
    from shipmate.llm.model import ChatMessage, ModelInfo, ToolSpec
    from shipmate.mcp.shelf import Shelves, Stock
    from shipmate.mcp.tools import as_tool

    stocks = [Stock(name, tools, 100_000) for name, tools in listings(as_tool)]
    begun = time.perf_counter()
    offer = Shelves().offer(stocks, 12_800)
    specs = [ToolSpec(t.name, t.description, t.parameters) for t in offer.tools.values()]
    encoder = RequestEncoder(ModelInfo("bench/m"))
    encoder.encode([ChatMessage("system", "You help."), ChatMessage("user", "hi")], specs)
    return (time.perf_counter() - begun) * 1000


def listings(as_tool: Any) -> list[tuple[str, dict[str, Any]]]:
    from shipmate.mcp.definitions import listed

    servers, tools = MANY
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    found: list[tuple[str, dict[str, Any]]] = []
    for number in range(servers):
        name = f"server{number}"
        raw = [
            {"name": f"tool_{n}", "description": "What it does. " * 5, "inputSchema": schema}
            for n in range(tools)
        ]
        made, _ = listed(name, raw)
        found.append((name, {one.wire: as_tool(_nobody, name, one) for one in made}))
    return found


def _nobody(server: str) -> None:
    """None of these is called."""


async def median_of(call: Any) -> float:
    """Milliseconds of one call."""
    taken: list[float] = []
    for _ in range(CALLS):
        begun = time.perf_counter()
        await call()
        taken.append((time.perf_counter() - begun) * 1000)
    return statistics.median(taken)

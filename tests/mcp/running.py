"""Pools of real servers for tests."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from shipmate.agent.profile import ASSISTANT, Agent
from shipmate.database.pins import Pins
from shipmate.database.sqlite import SqliteStore
from shipmate.handlers.stored import stored
from shipmate.llm.model import ModelInfo
from shipmate.llm.scripted import ScriptedModel, Step
from shipmate.mcp.pool import Pool
from shipmate.mcp.server import Surroundings
from shipmate.mcp.settings import McpServerSettings, McpSettings
from shipmate.mcp.shelf import Wanted
from shipmate.network.client import Client
from shipmate.protocol import ApprovalRequest, SessionRow, ToolResult
from shipmate.safety.secrets import Secrets
from shipmate.tools import processes
from shipmate.tools.tool import Workspace
from tests.play import Stage, stage
from tests.reports import CASES

FAKE = Path(__file__).with_name("fake_server.py")
PATIENCE = 60.0
SEES = ModelInfo("scripted/demo", vision=True)
BLIND = ModelInfo("scripted/demo")


def report(name: str) -> dict[str, Any]:
    """The scenario of a bug report."""
    return json.loads((CASES / "files" / name / "scenario.json").read_text("utf-8"))


def fake(folder: Path, scenario: Mapping[str, Any], name: str = "fake", **more: Any) -> Any:
    """Settings of a fake server that plays a scenario; what it is told stands in its log."""
    file = folder / f"{name}.scenario.json"
    file.write_text(json.dumps(scenario), "utf-8")
    command = (sys.executable, str(FAKE), str(file), str(log_of(folder, name)))
    return McpServerSettings(command=command, **more)


def log_of(folder: Path, name: str = "fake") -> Path:
    return folder / f"{name}.log.jsonl"


def told(folder: Path, name: str = "fake") -> list[dict[str, Any]]:
    """What the fake server was sent, in order."""
    return [line["in"] for line in _log(folder, name) if "in" in line]


def noted(folder: Path, what: str, name: str = "fake") -> list[int]:
    return [line[what] for line in _log(folder, name) if what in line]


def _log(folder: Path, name: str) -> list[dict[str, Any]]:
    file = log_of(folder, name)
    lines = file.read_text("utf-8").split("\n")[:-1] if file.exists() else []
    return [json.loads(line) for line in lines]


@dataclass
class Running:
    pool: Pool
    settings: dict[str, McpServerSettings]
    store: SqliteStore
    share: float = 0.1
    environ: dict[str, str] = field(default_factory=dict[str, str])

    async def ready(self) -> None:
        await self.pool.settled(PATIENCE)

    def names(self, wanted: Wanted | None = None) -> list[str]:
        return list(self.pool.offer(wanted or Wanted(ASSISTANT.providers)).tools)


@asynccontextmanager
async def pool_of(
    folder: Path, servers: Mapping[str, McpServerSettings], **around: Any
) -> AsyncGenerator[Running]:
    """A pool of servers, started; the database lies in the folder."""
    store = await SqliteStore.open(folder / "sessions.db")
    client = Client()
    settings = dict(servers)
    secrets = Secrets(folder / "secrets.json")
    owner = processes.owner(folder)
    try:
        async with asyncio.TaskGroup() as tasks:
            surroundings = Surroundings(
                secrets, Pins(store), owner, lambda: [folder / "project"], client, **around
            )
            made: list[Running] = []
            pool = Pool(
                lambda: McpSettings(servers=settings, tools_share=made[0].share),
                surroundings,
                tasks,
            )
            made.append(Running(pool, settings, store))
            await pool.start()
            try:
                yield made[0]
            finally:
                await pool.close()
    finally:
        await client.aclose()
        await store.close()


@asynccontextmanager
async def playing(
    folder: Path, running: Running, steps: Sequence[Step], info: ModelInfo = BLIND
) -> AsyncGenerator[Stage]:
    """An executor whose agent has the tools of the pool, as `session.assembly` gives them."""
    root = (folder / "project").resolve()
    root.mkdir(exist_ok=True)
    model = ScriptedModel(steps, info=info)

    async def assemble(row: SessionRow) -> Agent:
        offer = running.pool.offer(Wanted(ASSISTANT.providers, ("*",), info.context_length))
        work = Workspace(root, row.id, files=folder / "files", vision=info.vision)
        tools, shelf = dict(offer.tools), dict(offer.shelf)
        return Agent(ASSISTANT, model, "You help.", tools, work, titles=False, shelf=shelf)

    image = partial(stored, folder / "files")
    stages = folder / "stage"
    stages.mkdir(exist_ok=True)
    async with stage(stages, (), tools=(), info=info, assemble=assemble, image=image) as server:
        server.model = model
        yield server


async def approved(server: Stage, text: str = "go") -> list[ToolResult]:
    """Say something, approve whatever asks, and give the results."""
    session = await server.create()
    await server.say(session, text)
    while (await server.row(session)).status == "waiting_approval":
        asked = await server.blocks(session, ApprovalRequest)
        waiting = next(block for block in asked if not isinstance(block.result, bool))
        await server.executor.decide(session, True, block=waiting.id)
        await server.watch(session)
    return await server.blocks(session, ToolResult)

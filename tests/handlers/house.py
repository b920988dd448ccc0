"""A house for tests: a real store, a real executor, the whole gate; only the model is scripted."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from shipmate.agent.profile import ASSISTANT, Agent, Team
from shipmate.app import installer_of, mcp_pool, repositories_of
from shipmate.config import Config
from shipmate.database.keys import Keys
from shipmate.database.stores import open_store
from shipmate.database.users import Users
from shipmate.handlers.fetches import Fetches
from shipmate.handlers.gate import Gate
from shipmate.handlers.house import House
from shipmate.handlers.place import Place
from shipmate.handlers.table import ENDPOINTS
from shipmate.llm.providers import Providers
from shipmate.llm.scripted import ScriptedModel, Step
from shipmate.mcp.pool import Pool
from shipmate.network.client import Client
from shipmate.protocol import SessionRow
from shipmate.safety.audit import Audit
from shipmate.session.executor import Executor
from shipmate.session.noticing import noticing
from shipmate.tools.agents import call_agent
from shipmate.tools.ask import ask_user
from shipmate.tools.tool import ToolContext, Workspace, tool
from tests.handlers.client import Answered, ask


@tool(provider="read_write")
async def note(ctx: ToolContext, text: str) -> str:
    """Write a note into the project."""
    with (ctx.root / "note.txt").open("a") as file:
        file.write(text)
    return "written"


@dataclass
class Whole:
    """The gate with everything behind it."""

    gate: Gate
    keys: Keys
    executor: Executor
    model: ScriptedModel
    project: Path
    pool: Pool
    secret: str
    """A bearer token with every scope."""

    async def call(
        self, method: str, target: str, body: bytes = b"", *, secret: str = ""
    ) -> Answered:
        """An authorized call."""
        headers = [("authorization", f"Bearer {secret or self.secret}")]
        if body:
            headers.append(("content-type", "application/json"))
        return await ask(self.gate, method, target, headers=headers, body=body)


@asynccontextmanager
async def whole(
    folder: Path, steps: Iterable[Step] = (), *, pause: float = 0, database: str = ""
) -> AsyncGenerator[Whole]:
    project = folder / "demo"
    project.mkdir(exist_ok=True)
    config = Config.load(folder)
    config.set("projects.demo", {"path": str(project)})
    store = await open_store(database, folder / "sessions.db")
    keys = await Keys.open(store)
    model = ScriptedModel(steps, pause=pause)

    async def assemble(row: SessionRow) -> Agent:
        tools = {one.name: one for one in (note, ask_user, call_agent)}
        work = Workspace(project, row.id)

        async def join(_name: str, _tools: object) -> Agent:
            return await assemble(row)

        team = Team({"assistant": "Helps."}, join)
        return Agent(ASSISTANT, model, "You help.", tools, work, titles=False, team=team)

    audit = Audit(folder)
    providers = Providers(lambda: config.settings.providers, config.secrets, folder / "models")
    client = Client()
    async with asyncio.TaskGroup() as tasks:
        executor = Executor(store, tasks, assemble)
        executor.door.notice = noticing(audit)
        await executor.recover()
        house = House(
            keys=keys,
            users=await Users.open(store),
            audit=audit,
            place=Place.at(8765),
            executor=executor,
            config=config,
            epoch=store.epoch,
            profiles=lambda: {"assistant": ASSISTANT},
            providers=providers,
            fetches=Fetches(folder / "models"),
            files=folder / "files",
            pool=(pool := mcp_pool(config, store, tasks, client)),
            installer=installer_of(config, pool, tasks),
            github=repositories_of(config, client),
        )
        house.settled.set()
        gate = Gate(house, ENDPOINTS)
        _, secret = await keys.create_token("tests", ["admin"])
        try:
            yield Whole(gate, keys, executor, model, project, house.pool, secret)
        finally:
            await house.installer.close()
            await house.pool.close()
            await executor.close()
    await client.aclose()
    audit.close()
    await providers.close()
    await store.close()

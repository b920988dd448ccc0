"""A conversation in this process, when no server holds the data directory."""

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from shipmate.app import Parts, opened
from shipmate.cli.conversation import Beginning, Told
from shipmate.config import Config
from shipmate.errors import NotFoundError
from shipmate.handlers.fresh import check_agent
from shipmate.protocol import ApprovalRequest
from shipmate.session.projects import find_project

SERVERS_S = 15.0
"""How long the first message waits for MCP servers: there is but this one."""
TITLE_S = 5.0
"""How long the end of `run` waits for the title that a model gives a new session."""


@dataclass(frozen=True, slots=True)
class Here:
    parts: Parts

    async def begin(self, beginning: Beginning) -> str:
        parts = self.parts
        await parts.pool.settled(SERVERS_S)
        model = beginning.model or parts.providers.default()
        parts.providers.model(model)
        row = await parts.executor.create(
            agent=check_agent(parts.assembly.profiles(), beginning.agent),
            provider=model,
            project=project_of(parts.config, beginning.project),
            bypass=beginning.bypass,
        )
        await parts.executor.send(row.id, beginning.text)
        return row.id

    async def follow(self, session: str, after: int) -> Told:
        async with aclosing(self.parts.executor.until_done(session, after)) as batches:
            async for batch in batches:
                for item in batch:
                    yield item.type, item.data

    async def decide(
        self, session: str, block: ApprovalRequest, *, approved: bool, feedback: str = ""
    ) -> None:
        await self.parts.executor.decide(
            session, approved, block=block.id, feedback=feedback, digest=block.digest
        )

    async def answer(self, session: str, block: str, text: str) -> None:
        await self.parts.executor.answer(session, text, block=block)

    async def stop(self, session: str) -> None:
        await self.parts.executor.stop(session)


def project_of(config: Config, wanted: str) -> str:
    """A project by its id or name, else by its folder, which is added."""
    try:
        return find_project(config.settings.projects, wanted)
    except NotFoundError:
        folder = Path(wanted).expanduser()
        if not folder.is_dir():
            raise
        return config.add_project(folder.resolve())


@asynccontextmanager
async def here(data: Path) -> AsyncGenerator[Here]:
    async with opened(Config.load(data), grace=TITLE_S) as parts:
        await parts.pool.start()
        yield Here(parts)

"""Plays stories on a real executor, a real database and real tools, with a scripted model."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from shipmate.agent.budgets import NO_BUDGETS, Budgets
from shipmate.agent.context import LoadImage, no_image
from shipmate.agent.profile import ASSISTANT, Agent
from shipmate.database.sqlite import SqliteStore
from shipmate.llm.model import ModelInfo
from shipmate.llm.scripted import DEMO, ScriptedModel, Step
from shipmate.protocol import AnyBlock, AnyEvent, SessionRow, decode_block
from shipmate.session.executor import Executor
from shipmate.session.hub import Frame
from shipmate.session.rounds import Assemble
from shipmate.tools.tool import Tool, Web, Workspace

B = TypeVar("B", bound=AnyBlock)
decode_event = msgspec.json.Decoder(AnyEvent).decode


@dataclass
class Stage:
    """A server without HTTP: one executor and the model it talks to."""

    executor: Executor
    model: ScriptedModel
    store: SqliteStore

    async def create(self, **fields: Any) -> str:
        row = await self.executor.create(
            agent="assistant", provider="scripted/demo", project="demo", **fields
        )
        return row.id

    async def say(self, session: str, text: str, **fields: Any) -> list[AnyEvent]:
        """Say something and watch until the round is done or waits."""
        after = (await self.store.session(session)).last_seq
        await self.executor.send(session, text, **fields)
        return await self.watch(session, after)

    async def watch(self, session: str, after: int = 0) -> list[AnyEvent]:
        """Everything from `after` to `done`."""
        events: list[AnyEvent] = []
        async with aclosing(self.executor.until_done(session, after)) as batches:
            async for batch in batches:
                events += [decode_event(item.data) for item in batch]
        return events

    async def until(self, session: str, wanted: Callable[[Frame], bool]) -> list[Frame]:
        """Everything up to the first frame that is wanted."""
        frames: list[Frame] = []
        async with aclosing(self.executor.follow({session: 0})) as batches:
            async for batch in batches:
                for item in batch:
                    frames.append(item)
                    if wanted(item):
                        return frames
        return frames

    async def blocks(self, session: str, kind: type[B]) -> list[B]:
        return [b for b in await self.store.history(session) if isinstance(b, kind)]

    async def row(self, session: str) -> SessionRow:
        return await self.store.session(session)


@asynccontextmanager
async def stage(
    folder: Path,
    steps: Iterable[Step],
    *,
    tools: Sequence[Tool],
    pause: float = 0,
    info: ModelInfo = DEMO,
    budgets: Budgets = NO_BUDGETS,
    assemble: Assemble | None = None,
    web: Web | None = None,
    image: LoadImage = no_image,
) -> AsyncGenerator[Stage]:
    """A server on `folder`: the project is `folder/project`, the database beside it."""
    root = (folder / "project").resolve()
    root.mkdir(exist_ok=True)
    store = await SqliteStore.open(folder / "sessions.db")
    model = ScriptedModel(steps, pause=pause, info=info)
    chosen = {t.name: t for t in tools}

    async def alone(row: SessionRow) -> Agent:
        work = Workspace(root, row.id, files=folder / "files", web=web)
        return Agent(ASSISTANT, model, "You help.", chosen, work, titles=False, budgets=budgets)

    async with asyncio.TaskGroup() as tasks:
        executor = Executor(store, tasks, assemble or alone, image)
        await executor.recover()
        try:
            yield Stage(executor, model, store)
        finally:
            await executor.close()
    await store.close()


def kept(frames: Iterable[Frame]) -> list[AnyBlock]:
    return [decode_block(item.data) for item in frames if item.seq is not None]

"""Summaries that are made beside the rounds: they outlive the round that began them."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field

from shipmate.session.background import Background
from shipmate.session.door import Door


@dataclass(slots=True)
class Beside:
    """What is being summed up, by session. A session's state stays at hand meanwhile."""

    door: Door
    tasks: Background
    _running: dict[str, set[asyncio.Task[None]]] = field(
        default_factory=dict[str, set[asyncio.Task[None]]]
    )

    def start(self, session: str, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = self.tasks.start(self._held(session, work), f"summing up session {session}")
        task.add_done_callback(lambda _: work.close())  # cancelled before its first step
        self._running.setdefault(session, set()).add(task)
        task.add_done_callback(lambda _: self._over(session, task))
        return task

    async def end(self, session: str) -> None:
        """Give up what is being summed up; what was being kept of it is kept by then."""
        running = self._running.get(session, set()).copy()
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
            await self.door.settled(session)

    async def _held(self, session: str, work: Coroutine[object, object, None]) -> None:
        with self.door.held(session):
            await work

    def _over(self, session: str, task: asyncio.Task[None]) -> None:
        running = self._running[session]
        running.discard(task)
        if not running:
            del self._running[session]

"""Who runs a round. Here: tasks of this process, one a session at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from shipmate.session.background import Background

Run: TypeAlias = Callable[[str, Callable[[], bool]], Awaitable[None]]


class Engine:
    """`advance` carries a session on from its blocks; asked again meanwhile, it does so again.

    `run(session, again)` is a pass over the session; `again()` is true once when `advance` was
    called since, so that the same pass can go on.
    """

    def __init__(self, tasks: Background, run: Run) -> None:
        self._tasks = tasks
        self._run = run
        self._running: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._ending: dict[str, str] = {}
        self._closed = False

    @property
    def sessions(self) -> list[str]:
        return list(self._running)

    def ending(self, session: str) -> str:
        """Why the session's round is being ended; empty when it is not. What fails while a round
        is cut takes the place of the cut, so that alone does not tell."""
        return self._ending.get(session, "")

    def advance(self, session: str) -> None:
        if self._closed:
            return
        if session in self._running:
            self._again.add(session)
        else:
            task = self._tasks.start(self._drive(session), f"the round of session {session}")
            self._running[session] = task
            task.add_done_callback(lambda _: self._over(session, task))

    async def stop(self, session: str, why: str) -> bool:
        """End the session's round and wait until it is over; false when none ran."""
        self._again.discard(session)
        task = self._running.get(session)
        if task is None:
            return False
        self._ending[session] = why
        task.cancel(why)
        await asyncio.wait([task])
        return True

    async def close(self, seconds: float, why: str) -> None:
        """Give what runs some time to end, then end it. Nothing is carried on any more: what is
        said now is kept, and the next server goes on with it."""
        if self._running and seconds > 0:
            await asyncio.wait(self._running.values(), timeout=seconds)
        self._closed = True
        await asyncio.gather(*(self.stop(session, why) for session in self.sessions))

    async def _drive(self, session: str) -> None:
        try:
            await self._run(session, lambda: self._asked_again(session))
            while self._asked_again(session) and not self.ending(session):
                await self._run(session, lambda: self._asked_again(session))
        finally:
            self._forget(session)

    def _over(self, session: str, task: asyncio.Task[None]) -> None:
        """A task that is cancelled before its first step never reaches its `finally`."""
        if self._running.get(session) is task:
            self._forget(session)

    def _forget(self, session: str) -> None:
        self._running.pop(session, None)
        self._ending.pop(session, None)
        self._again.discard(session)

    def _asked_again(self, session: str) -> bool:
        asked = session in self._again
        self._again.discard(session)
        return asked

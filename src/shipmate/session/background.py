"""Work that outlives the call that began it."""

import asyncio
import logging
from collections.abc import Coroutine
from weakref import WeakValueDictionary

log = logging.getLogger(__name__)


class Background:
    """Tasks of one server. What one of them raises is logged and ends nothing but itself: a
    `TaskGroup` would end all the others, and the server."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._tasks: set[asyncio.Task[None]] = set()
        self._ended = False

    def start(self, work: Coroutine[object, object, None], name: str) -> asyncio.Task[None]:
        task = self._group.create_task(self._guarded(work, name), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: work.close())  # cancelled before its first step
        if self._ended:
            task.cancel()
        return task

    async def end(self, patience: float = 0) -> None:
        """What still runs may end within `patience` seconds; the rest is cancelled, and what is
        started later."""
        if self._tasks and patience > 0:
            await asyncio.wait(self._tasks, timeout=patience)
        self._ended = True
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _guarded(self, work: Coroutine[object, object, None], name: str) -> None:
        try:
            await work
        except Exception:
            log.exception("%s failed", name)


class Turns:
    """One lock a session: who changes a session waits for whoever does so before."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, session: str) -> asyncio.Lock:
        lock = self._locks.get(session)
        if lock is None:
            lock = self._locks[session] = asyncio.Lock()
        return lock

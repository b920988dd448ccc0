"""The one writer: a thread that commits what waits together."""

import asyncio
import contextlib
import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from shipmate.database.connection import Connection, Engine
from shipmate.errors import StorageError
from shipmate.faults import point

log = logging.getLogger(__name__)

T = TypeVar("T")
MAX_BATCH = 100
CLOSED = "The server is ending: nothing more can be saved. Try again when it is back."
TRIES = 5
"""Of a transaction that other writers were in the way of."""


@dataclass(slots=True)
class _Job:
    work: Callable[[Connection], Any]
    durable: bool
    future: asyncio.Future[Any] | None
    """Absent for work whose outcome nobody waits for."""


class Writer:
    """Runs jobs in order on its own thread; each sees a transaction of its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._db = engine.connect()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="database-writer", daemon=True)
        self._thread.start()

    async def run(self, work: Callable[[Connection], T], *, durable: bool = True) -> T:
        """Do `work` in a transaction. `durable`: it has reached the disk, not only the system."""
        if self._closed:
            raise StorageError(CLOSED)
        future: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put(_Job(work, durable, future))
        return await future

    def post(self, work: Callable[[Connection], Any]) -> None:
        """Do `work` some time soon; a failure is logged."""
        if self._closed:
            log.error("a background write came too late: %s", CLOSED)
            return
        self._jobs.put(_Job(work, durable=False, future=None))

    async def close(self) -> None:
        """What came before is done; what comes later is refused."""
        self._closed = True
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            batch, last = self._waiting(job)
            outcomes = self._commit(batch)
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(_settle, batch, outcomes)
            if last:
                break
        self._db.close()

    def _waiting(self, first: _Job) -> tuple[list[_Job], bool]:
        batch = [first]
        while len(batch) < MAX_BATCH:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                return batch, True
            batch.append(job)
        return batch, False

    def _commit(self, batch: list[_Job]) -> list[Any]:
        """What became of each job."""
        tries = TRIES
        while True:
            try:
                return self._written(batch)
            except self._engine.errors as error:
                self._engine.roll_back(self._db)
                tries -= 1
                if not tries or not self._engine.is_again(error):
                    return [self._engine.explain(error)] * len(batch)

    def _written(self, batch: list[_Job]) -> list[Any]:
        self._engine.begin(self._db, durable=any(job.durable for job in batch))
        outcomes = [self._attempt(job) for job in batch]
        point("record.before_commit")
        self._db.execute("COMMIT")
        point("record.committed")
        return outcomes

    def _attempt(self, job: _Job) -> Any:
        """The job's value, or the exception that undid it and nothing else."""
        self._db.execute("SAVEPOINT job")
        try:
            outcome = job.work(self._db)
        except Exception as error:
            ours = isinstance(error, self._engine.errors)
            if ours and (self._engine.is_lost(error) or self._engine.is_again(error)):
                raise
            self._db.execute("ROLLBACK TO SAVEPOINT job")
            outcome = self._engine.explain(error) if ours else error
        self._db.execute("RELEASE SAVEPOINT job")
        return outcome


def _settle(batch: list[_Job], outcomes: list[Any]) -> None:
    for job, outcome in zip(batch, outcomes, strict=True):
        if job.future is None:
            if isinstance(outcome, Exception):
                log.error("a background write failed: %s", outcome)
        elif not job.future.done():
            if isinstance(outcome, Exception):
                job.future.set_exception(outcome)
            else:
                job.future.set_result(outcome)

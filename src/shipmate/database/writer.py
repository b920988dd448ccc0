"""The one writer: a thread that commits what waits together."""

import asyncio
import contextlib
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from shipmate.database.integrity import DamagedError, add_functions
from shipmate.database.journal import file_system_of, journal_on
from shipmate.errors import StorageError
from shipmate.faults import point

log = logging.getLogger(__name__)

T = TypeVar("T")
MAX_BATCH = 100
BUSY_SECONDS = 5.0
CLOSED = "The server is ending: nothing more can be saved. Try again when it is back."


@dataclass(slots=True)
class _Job:
    work: Callable[[sqlite3.Connection], Any]
    durable: bool
    future: asyncio.Future[Any] | None
    """Absent for work whose outcome nobody waits for."""


def connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    db.execute(f"PRAGMA journal_mode={journal_on(file_system_of(path.parent.resolve()))}")
    db.execute("PRAGMA foreign_keys=ON")
    db.execute("PRAGMA synchronous=NORMAL")
    add_functions(db)
    return db


_MEANINGS = {
    "FULL": "The disk is full: nothing more can be saved. Free some space.",
    "BUSY": "The database is locked by another program. Try again in a moment.",
    "LOCKED": "The database is locked by another program. Try again in a moment.",
    "READONLY": "The database cannot be written: check the permissions of the data folder and of "
    "sessions.db in it, and whether the disk is mounted read-only.",
    "CANTOPEN": "The database cannot be opened: check the data folder and its permissions.",
    "IOERR": "The disk refused to read or write: it is full or failing. Free some space, or look "
    "into the system's log.",
}
_DAMAGED = frozenset({"CORRUPT", "NOTADB"})


def explain(error: sqlite3.Error) -> StorageError:
    """What happened, in words a person can act on."""
    name = getattr(error, "sqlite_errorname", "") or ""
    kind = name.removeprefix("SQLITE_").partition("_")[0]
    if kind in _DAMAGED:
        return DamagedError(f"The database is damaged: {error}. See: shipmate doctor --integrity.")
    return StorageError(_MEANINGS.get(kind) or f"The database failed: {error}.")


class Writer:
    """Runs jobs in order on its own thread; each sees a transaction of its own."""

    def __init__(self, path: Path) -> None:
        self._db = connect(path)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="database-writer", daemon=True)
        self._thread.start()

    async def run(self, work: Callable[[sqlite3.Connection], T], *, durable: bool = True) -> T:
        """Do `work` in a transaction. `durable`: it has reached the disk, not only the system."""
        if self._closed:
            raise StorageError(CLOSED)
        future: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put(_Job(work, durable, future))
        return await future

    def post(self, work: Callable[[sqlite3.Connection], Any]) -> None:
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
        try:
            full = any(job.durable for job in batch)
            self._db.execute(f"PRAGMA synchronous={'FULL' if full else 'NORMAL'}")
            self._db.execute("BEGIN IMMEDIATE")
            outcomes = [self._attempt(job) for job in batch]
            point("record.before_commit")
            self._db.execute("COMMIT")
            point("record.committed")
        except sqlite3.Error as error:
            self._roll_back()
            return [explain(error)] * len(batch)
        return outcomes

    def _attempt(self, job: _Job) -> Any:
        """The job's value, or the exception that undid it and nothing else."""
        self._db.execute("SAVEPOINT job")
        try:
            outcome = job.work(self._db)
        except sqlite3.OperationalError:
            raise  # disk full, locked: nothing of this batch can be kept
        except Exception as error:  # noqa: BLE001 - handed to whoever waits for the job
            self._db.execute("ROLLBACK TO job")
            outcome = explain(error) if isinstance(error, sqlite3.Error) else error
        self._db.execute("RELEASE job")
        return outcome

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._db.execute("ROLLBACK")


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

"""Offline models that are being fetched, each at most once at a time."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from shipmate.errors import ShipmateError
from shipmate.llm.offline.fetch import Progress, fetch

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Stage:
    state: Literal["running", "checking", "ready", "failed", "cancelled"]
    done: int = 0
    total: int = 0
    error: str = ""

    @property
    def last(self) -> bool:
        return self.state in ("ready", "failed", "cancelled")


@dataclass(slots=True)
class _Fetch:
    stage: Stage = Stage("running")
    news: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Future[None] | None = None

    def tell(self, stage: Stage) -> None:
        self.stage = stage
        news, self.news = self.news, asyncio.Event()
        news.set()


class Fetches:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._fetches: dict[str, _Fetch] = {}

    def start(self, name: str) -> None:
        """Begin, unless it runs already."""
        known = self._fetches.get(name)
        if known is None or known.stage.last:
            made = self._fetches[name] = _Fetch()
            made.task = asyncio.ensure_future(self._run(name, made))

    async def follow(self, name: str) -> AsyncGenerator[Stage]:
        """Where it is now, and each stage from then on; the last one says how it ended."""
        one = self._fetches[name]
        while True:
            news, stage = one.news, one.stage
            yield stage
            if stage.last:
                return
            await news.wait()

    async def cancel(self, name: str) -> None:
        one = self._fetches.get(name)
        if one and one.task and not one.task.done():
            one.task.cancel()
            await asyncio.wait([one.task])

    async def close(self) -> None:
        for name in list(self._fetches):
            await self.cancel(name)

    async def _run(self, name: str, one: _Fetch) -> None:
        def progress(at: Progress) -> None:
            state = "checking" if at.checking else "running"
            one.tell(Stage(state, at.done, at.total))

        try:
            await fetch(name, self._folder, progress)
            one.tell(Stage("ready", one.stage.total, one.stage.total))
        except asyncio.CancelledError:
            one.tell(Stage("cancelled", one.stage.done, one.stage.total))
            raise
        except ShipmateError as error:
            one.tell(Stage("failed", one.stage.done, one.stage.total, str(error)))
        except Exception:
            log.exception("fetching %s failed", name)
            one.tell(Stage("failed", error="It failed unexpectedly; the server's log has details."))

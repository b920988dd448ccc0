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
class Step:
    state: Literal["running", "checking", "ready", "failed", "cancelled"]
    done: int = 0
    total: int = 0
    error: str = ""

    @property
    def last(self) -> bool:
        return self.state in ("ready", "failed", "cancelled")


@dataclass(slots=True)
class _Fetch:
    step: Step = Step("running")
    news: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Future[None] | None = None

    def tell(self, step: Step) -> None:
        self.step = step
        news, self.news = self.news, asyncio.Event()
        news.set()


class Fetches:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._fetches: dict[str, _Fetch] = {}

    def start(self, name: str) -> None:
        """Begin, unless it runs already."""
        known = self._fetches.get(name)
        if known is None or known.step.last:
            made = self._fetches[name] = _Fetch()
            made.task = asyncio.ensure_future(self._run(name, made))

    async def follow(self, name: str) -> AsyncGenerator[Step]:
        """Where it is now, and each step from then on; the last one says how it ended."""
        one = self._fetches[name]
        while True:
            news, step = one.news, one.step
            yield step
            if step.last:
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
            one.tell(Step(state, at.done, at.total))

        try:
            await fetch(name, self._folder, progress)
            one.tell(Step("ready", one.step.total, one.step.total))
        except asyncio.CancelledError:
            one.tell(Step("cancelled", one.step.done, one.step.total))
            raise
        except ShipmateError as error:
            one.tell(Step("failed", one.step.done, one.step.total, str(error)))
        except Exception:
            log.exception("fetching %s failed", name)
            one.tell(Step("failed", error="It failed unexpectedly; the server's log has details."))

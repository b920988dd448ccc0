"""Hands each event of a session to whoever is watching it, encoded once for all of them."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from shipmate.protocol import AnyEvent, Delta, SessionChanged, SessionRow, encode

MAX_WAITING_BYTES = 1_000_000
"""A reader that is further behind is given a fresh snapshot instead of all it missed."""
OBJECTS = 400
"""Bytes of a frame in memory beside its JSON, with the piece of text it was made of."""
ROWS = "*"
"""Watched by who wants the row of every session, and nothing else."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Frame:
    """One event, ready to be sent."""

    type: str
    session: str
    data: bytes
    """Its JSON."""
    seq: int | None = None
    """For a kept block: the number a client resumes from."""
    delta: Delta | None = None
    row: SessionRow | None = None
    """Of a changed row."""

    @property
    def size(self) -> int:
        """Bytes that it takes while it waits, about."""
        return len(self.data) + OBJECTS


def frame(event: AnyEvent) -> Frame:
    kind = event.__struct_config__.tag
    delta = event if isinstance(event, Delta) else None
    row = event.row if isinstance(event, SessionChanged) else None
    return Frame(str(kind), event.session, encode(event), delta=delta, row=row)


def joined(frames: Iterable[Frame]) -> list[Frame]:
    """The same frames, with pieces of text that follow each other in one."""
    result: list[Frame] = []
    run: list[Delta] = []
    for item in frames:
        if run and not (item.delta and _continues(run[-1], item.delta)):
            result.append(_join(run, result.pop()))
            run = []
        if not run:
            result.append(item)
        if item.delta:
            run.append(item.delta)
    if run:
        result.append(_join(run, result.pop()))
    return result


def _continues(one: Delta, other: Delta) -> bool:
    same = (one.session, one.id) == (other.session, other.id)
    return (
        same and bool(one.text) == bool(other.text) and bool(one.reasoning) == bool(other.reasoning)
    )


def _join(run: list[Delta], first: Frame) -> Frame:
    if len(run) == 1:
        return first
    text, reasoning = "".join(d.text for d in run), "".join(d.reasoning for d in run)
    return frame(msgspec.structs.replace(run[0], text=text, reasoning=reasoning))


class Watcher:
    """One reader's place in the stream of some sessions; bounded."""

    def __init__(self, rows: Callable[[SessionRow], bool] | None = None) -> None:
        self.rows = rows
        """Which rows of other sessions are wanted."""
        self.lost = False
        """It fell too far behind and what waited was dropped."""
        self._frames: list[Frame] = []
        self._bytes = 0
        self._news = asyncio.Event()

    def push(self, item: Frame) -> None:
        self._news.set()
        if self.lost:
            return
        self._bytes += item.size
        self._frames.append(item)
        if self._bytes > MAX_WAITING_BYTES:
            self.lost = True
            self._frames.clear()

    def take(self) -> list[Frame]:
        """What waits, at once."""
        frames, self._frames, self._bytes = self._frames, [], 0
        self._news.clear()
        return frames

    def found(self) -> None:
        """The reader takes a fresh snapshot: what happens from now on is wanted again."""
        self.take()
        self.lost = False

    async def news(self) -> None:
        await self._news.wait()


class Hub:
    def __init__(self) -> None:
        self._watchers: defaultdict[str, set[Watcher]] = defaultdict(set)

    def publish(self, item: Frame) -> None:
        for watcher in self._watchers.get(item.session, ()):
            watcher.push(item)

    def publish_row(self, item: Frame) -> None:
        """A changed row: to those who watch the session, and to those who watch all rows."""
        self.publish(item)
        for watcher in self._watchers.get(ROWS, set()) - self._watchers.get(item.session, set()):
            if item.row and watcher.rows and watcher.rows(item.row):
                watcher.push(item)

    def publish_aside(self, item: Frame) -> None:
        """What concerns a row: to those alone who watch rows, and want this one."""
        for watcher in self._watchers.get(ROWS, ()):
            if item.row and watcher.rows and watcher.rows(item.row):
                watcher.push(item)

    @contextmanager
    def watch(
        self, sessions: Iterable[str], rows: Callable[[SessionRow], bool] | None = None
    ) -> Generator[Watcher]:
        """Events from the moment of entry on, so that nothing falls in between."""
        watcher, wanted = Watcher(rows), list(sessions)
        for session in wanted:
            self._watchers[session].add(watcher)
        try:
            yield watcher
        finally:
            for session in wanted:
                self._watchers[session].discard(watcher)
                if not self._watchers[session]:
                    del self._watchers[session]

"""Following sessions: what was kept, what is being said, and then everything as it happens."""

import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping, Set
from contextlib import aclosing

from shipmate.agent.transcript import Transcript
from shipmate.database.store import Kept
from shipmate.errors import NotFoundError
from shipmate.protocol import Done, QueueChanged, Queued, SessionChanged, SessionDeleted, SessionRow
from shipmate.session.door import Door
from shipmate.session.hub import ROWS, Frame, Watcher, frame, joined

PAGE, PAGE_BYTES = 500, 256 * 1024
"""What is read at once for who catches up; a reader that is slow holds no more."""
LARGE = 64 * 1024
"""Bytes from which on a block is held once, for all who are being sent it."""
ENDS = frozenset({"done", "session_deleted"})
PIECES = frozenset({"stream_start", "delta", "stream_end"})


async def follow(
    door: Door,
    sessions: Mapping[str, int],
    *,
    rows: Callable[[SessionRow], bool] | None = None,
) -> AsyncGenerator[list[Frame]]:
    """Batches of frames of some sessions, each from its `seq` on: no gap, no duplicate.

    First all blocks changed since, the text so far of the messages that are being streamed, and
    the session's row; then what happens. A reader that falls too far behind gets the same
    again from where it was, with `done` where no round runs any more. A session that is gone
    is told as `session_deleted`. With `rows`, the changed rows of other sessions that it says yes
    to.
    """
    seen = dict(sessions)
    with door.hub.watch([*seen, ROWS] if rows else seen, rows) as watcher:
        while True:
            behind = watcher.lost
            watcher.found()
            async for batch in _catch_up(door, seen, watcher):
                yield batch
            if behind and (dones := await _dones(door, seen)):
                yield [frame(done) for done in dones]
            while not watcher.lost:
                if fresh := joined(_unseen(watcher.take(), seen)):
                    yield fresh
                else:
                    await watcher.news()


async def until_done(door: Door, session: str, after: int) -> AsyncGenerator[list[Frame]]:
    """`follow`, up to the end of the round; where none runs, up to how the last one ended."""
    caught_up = False
    async with aclosing(follow(door, {session: after})) as batches:
        async for batch in batches:
            ends = [i for i, item in enumerate(batch) if item.type in ENDS]
            if ends:
                yield batch[: ends[0] + 1]
                return
            yield batch
            if not caught_up and any(item.type == "session" for item in batch):
                caught_up = True
                row = await door.store.session(session)
                if row.status != "running":
                    yield [frame(done_of(row, await door.transcript(session)))]
                    return


def done_of(row: SessionRow, transcript: Transcript) -> Done:
    """How the session's last round ended, as its row and its blocks tell it."""
    match row.status:
        case "waiting_answer" if transcript.paused:
            return Done(session=row.id, finished=False, reason="budget")
        case "waiting_approval" | "waiting_answer" | "interrupted":
            return Done(session=row.id, finished=False, reason=row.status)
        case "error":
            return Done(session=row.id, finished=False, reason="error", error=row.error)
        case _ if transcript.spending.stopped:
            return Done(session=row.id, finished=False, reason="budget")
        case _:
            finished = not transcript.wants_reply()
            return Done(session=row.id, finished=finished, reason="" if finished else "stopped")


async def _catch_up(
    door: Door, seen: dict[str, int], watcher: Watcher
) -> AsyncGenerator[list[Frame]]:
    rows: dict[str, SessionRow] = {}
    queues: dict[str, list[Queued]] = {}
    for session, known in list(seen.items()):
        try:
            while frames := await _page(door, session, seen):
                yield frames
            rows[session] = await door.store.session(session)
            queued = await door.store.queue(session)
            if queued or known:  # who knows the session may know of some that are gone
                queues[session] = queued
        except NotFoundError:
            del seen[session]
            yield [frame(SessionDeleted(session=session))]
    # From here on without a pause: what came meanwhile, the text so far, and the rows.
    batch = [item for item in _unseen(watcher.take(), seen) if item.type not in PIECES]
    yield batch + _as_it_stands(door, rows, queues, {(item.session, item.type) for item in batch})


async def _page(door: Door, session: str, seen: dict[str, int]) -> list[Frame]:
    """The next blocks after what was seen of a session."""
    page = await door.store.changes(session, seen[session], PAGE, PAGE_BYTES)
    if page:
        seen[session] = page[-1].seq
    return [_kept(door, session, kept) for kept in page]


def _as_it_stands(
    door: Door,
    rows: Mapping[str, SessionRow],
    queues: Mapping[str, list[Queued]],
    told: Set[tuple[str, str]],
) -> list[Frame]:
    """The text so far, the queue and the row of sessions; what was told is newer than these."""
    frames: list[Frame] = []
    for session, row in rows.items():
        if speech := door.speeches.get(session):
            frames += [frame(event) for event in speech.to_join()]
        if session in queues and (session, "queue") not in told:
            frames.append(frame(QueueChanged(session=session, items=tuple(queues[session]))))
        if not told & {(session, "session"), (session, "session_deleted")}:
            frames.append(frame(SessionChanged(session=session, row=row)))
    return frames


async def _dones(door: Door, sessions: Mapping[str, int]) -> list[Done]:
    """How the rounds ended of those sessions in which none runs: who fell behind may have
    missed it."""
    dones: list[Done] = []
    for session in sessions:
        with contextlib.suppress(NotFoundError):  # deleted: that is told
            row = await door.store.session(session)
            if row.status != "running":
                dones.append(done_of(row, await door.transcript(session)))
    return dones


def _unseen(frames: list[Frame], seen: dict[str, int]) -> list[Frame]:
    result: list[Frame] = []
    for item in frames:
        if item.seq is not None:
            if item.seq <= seen.get(item.session, 0):
                continue
            seen[item.session] = item.seq
        result.append(item)
    return result


def _kept(door: Door, session: str, kept: Kept) -> Frame:
    made = Frame(kept.type, session, kept.json, kept.seq)
    if len(kept.json) < LARGE:
        return made
    return door.large.setdefault((session, kept.seq), made)

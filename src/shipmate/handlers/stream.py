"""Our own `text/event-stream` response.

It joins what is waiting into one `send`, keeps the connection alive with an event, and closes
the source of frames however it ends: at the end, on a disconnect (also while `send` waits for
a slow reader), when the server ends.
"""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Iterable, Iterator

from starlette.types import Receive, Scope, Send

from shipmate.protocol import SessionRow
from shipmate.session.hub import Frame, joined

log = logging.getLogger(__name__)

KEEP_ALIVE_S = 15.0
PLAIN_KEEP_ALIVE = b": keep-alive\n\n"
"""For clients that take each event for a piece of an answer."""
KEEP_ALIVE = b'event: keep_alive\ndata: {"type":"keep_alive"}\n\n'
BUFFER = 256 * 1024
"""Bytes that wait for a slow reader here; then its source is not read until they are sent."""
PART = 64 * 1024
"""Bytes that are handed to the connection at a time, which keeps two such parts at most."""

HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


Frames = AsyncGenerator[list[Frame]]
"""Batches of frames; a generator, so that it can be closed."""


def numbering(epoch: str, session: str) -> str:
    """The epoch as clients see it. It names the session, so that an id of another session
    is not taken for a place in this one (FM021)."""
    return f"{epoch}.{session}"


def wire(epoch: str, frames: Iterable[Frame]) -> Iterator[bytes]:
    """`id: <epoch>-<seq>` on what is kept, `event:`, `data:` and an empty line; in parts, so that
    nothing large is copied whole."""
    part = bytearray()
    for item in frames:
        part += _head(epoch, item)
        for at in range(0, len(item.data), PART):
            part += item.data[at : at + PART]
            if len(part) >= PART:
                yield bytes(part)
                part.clear()
        part += b"\n\n"
    if part:
        yield bytes(part)


def _head(epoch: str, item: Frame) -> bytes:
    kind = item.type.encode()
    if item.seq is None:
        return b"event: %s\ndata: " % kind
    head = numbering(epoch, item.session).encode()
    return b"id: %s-%d\nevent: %s\ndata: " % (head, item.seq, kind)


def place_in(epoch: str, row: SessionRow, last_event_id: str, after: int | None) -> int:
    """The `seq` a client resumes from. `Last-Event-ID` wins, as a reader that reconnects by
    itself repeats its first `after`. What is not of this numbering, or of the future, is no
    place: then everything is replayed."""
    head, _, seq = last_event_id.rpartition("-")
    if last_event_id:
        known = head == numbering(epoch, row.id) and re.fullmatch(r"[0-9]{1,18}", seq)
        place = int(seq) if known else 0
    else:
        place = after or 0
    return place if place <= row.last_seq else 0


class EventStream:
    """The response. `closing` ends it from outside, and so does each event of `closes_with`."""

    def __init__(
        self,
        epoch: str,
        frames: Frames,
        closing: asyncio.Event,
        *,
        keep_alive: float = KEEP_ALIVE_S,
        plain: bool = False,
    ) -> None:
        self._epoch = epoch
        self._frames = frames
        self._closing = [closing]
        self._keep_alive = keep_alive
        self._plain = plain
        """Only `data:` lines; frames are sent as they are."""
        self._waiting: list[Frame] = []
        self._bytes = 0
        self._silent = False
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._ended = False

    def closes_with(self, closing: asyncio.Event) -> None:
        self._closing.append(closing)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        # Not a TaskGroup: that would wait for all; here the first that ends ends the others.
        reading = asyncio.ensure_future(self._read())
        writing = asyncio.ensure_future(self._write(send))
        ends = [
            writing,
            asyncio.ensure_future(_gone(receive)),
            *(asyncio.ensure_future(closing.wait()) for closing in self._closing),
        ]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (reading, *ends):
                task.cancel()
            await asyncio.gather(reading, *ends, return_exceptions=True)
            await self._frames.aclose()
        if not writing.cancelled():
            writing.result()
        elif any(closing.is_set() for closing in self._closing):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _read(self) -> None:
        """Fill what waits to be sent. While `send` waits, what arrives is joined."""
        try:
            async for batch in self._frames:
                self._waiting += batch
                self._bytes += sum(item.size for item in batch)
                self._wake.set()
                if self._bytes > BUFFER:
                    self._room.clear()
                    await self._room.wait()
        except Exception:
            log.exception("an event stream broke off")
        finally:
            self._ended = True
            self._wake.set()

    async def _write(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        tick = loop.call_later(self._keep_alive, self._break_silence)
        try:
            while not (self._ended and not self._waiting):
                await self._wake.wait()
                self._wake.clear()
                for part in self._take():
                    await send({"type": "http.response.body", "body": part, "more_body": True})
                    tick.cancel()
                    tick = loop.call_later(self._keep_alive, self._break_silence)
                if self._bytes <= BUFFER:
                    self._room.set()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            tick.cancel()

    def _take(self) -> Iterator[bytes]:
        """What waits, in parts; the pieces of a text in it as one event."""
        frames, self._waiting, self._bytes = self._waiting, [], 0
        silent, self._silent = self._silent, False
        if self._plain:
            told = (b"data: %s\n\n" % item.data for item in frames)
            return told if frames or not silent else iter((PLAIN_KEEP_ALIVE,))
        return wire(self._epoch, joined(frames)) if frames or not silent else iter((KEEP_ALIVE,))

    def _break_silence(self) -> None:
        self._silent = True
        self._wake.set()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

"""Our own `text/event-stream` response.

It joins what is waiting into one `send`, keeps the connection alive with an event, and closes
the source of frames however it ends: at the end, on a disconnect (also while `send` waits for
a slow reader), when the server ends.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from typing import Protocol

from starlette.types import Receive, Scope, Send

log = logging.getLogger(__name__)

KEEP_ALIVE_S = 15.0
KEEP_ALIVE = b'event: keep_alive\ndata: {"type":"keep_alive"}\n\n'
BUFFER = 256 * 1024
"""Bytes that wait for a slow reader here; then its source is not read until they are sent."""

HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class Frame(Protocol):
    """One event as it goes on the wire."""

    @property
    def data(self) -> bytes:
        """JSON, without line ends."""
        ...

    @property
    def type(self) -> str: ...

    @property
    def seq(self) -> int | None:
        """Only on kept blocks."""
        ...


Frames = AsyncGenerator[tuple[str, Frame]]
"""Epoch and frame; a generator, so that it can be closed."""


def wire(epoch: str, frame: Frame) -> bytes:
    """`id: <epoch>-<seq>`, `event:`, `data:` and an empty line."""
    head = b"" if frame.seq is None else b"id: %s-%d\n" % (epoch.encode(), frame.seq)
    return b"%sevent: %s\ndata: %s\n\n" % (head, frame.type.encode(), frame.data)


class EventStream:
    """The response. `closing` ends it from outside."""

    def __init__(
        self, frames: Frames, closing: asyncio.Event, *, keep_alive: float = KEEP_ALIVE_S
    ) -> None:
        self._frames = frames
        self._closing = closing
        self._keep_alive = keep_alive
        self._waiting = bytearray()
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._ended = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        # Not a TaskGroup: that would wait for all; here the first that ends ends the others.
        reading = asyncio.ensure_future(self._read())
        writing = asyncio.ensure_future(self._write(send))
        ends = [
            writing,
            asyncio.ensure_future(_gone(receive)),
            asyncio.ensure_future(self._closing.wait()),
        ]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (reading, *ends):
                task.cancel()
            await asyncio.gather(reading, *ends, return_exceptions=True)
            await self._frames.aclose()
        if writing.cancelled() and self._closing.is_set():
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _read(self) -> None:
        """Fill what waits to be sent. While `send` waits, what arrives is joined."""
        try:
            async for epoch, frame in self._frames:
                self._waiting += wire(epoch, frame)
                self._wake.set()
                if len(self._waiting) > BUFFER:
                    self._room.clear()
                    await self._room.wait()
        except Exception:
            log.exception("an event stream broke off")
        finally:
            self._ended = True
            self._wake.set()

    async def _write(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        tick = loop.call_later(self._keep_alive, self._say_something)
        try:
            while not (self._ended and not self._waiting):
                await self._wake.wait()
                self._wake.clear()
                body, self._waiting = bytes(self._waiting), bytearray()
                self._room.set()
                if body:
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                    tick.cancel()
                    tick = loop.call_later(self._keep_alive, self._say_something)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            tick.cancel()

    def _say_something(self) -> None:
        self._waiting += KEEP_ALIVE
        self._wake.set()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

"""Tells what holds up the event loop: every session and every stream waits for it."""

import asyncio
import contextlib
import logging
import sys
import threading
import time
import traceback
from collections.abc import Generator

log = logging.getLogger(__name__)

PATIENCE_S = 2.0
"""A loop that does not come round for this long is told of."""
EVERY_S = 1.0


@contextlib.contextmanager
def watched(
    loop: asyncio.AbstractEventLoop, patience: float = PATIENCE_S, every: float = EVERY_S
) -> Generator[None]:
    """While it lasts, a loop that hangs is logged, with the place at which its thread stands, and
    again when it goes on. Entered in the loop's own thread."""
    over, held_up = threading.Event(), threading.get_ident()

    def watch() -> None:
        while not over.wait(every):
            _look(loop, held_up, patience, over)

    thread = threading.Thread(target=watch, name="watchdog", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()


def _look(
    loop: asyncio.AbstractEventLoop, held_up: int, patience: float, over: threading.Event
) -> None:
    """Ask the loop to answer, and wait for it."""
    answered, begun = threading.Event(), time.monotonic()
    try:
        loop.call_soon_threadsafe(answered.set)
    except RuntimeError:  # it is closed
        return
    if answered.wait(patience) or over.is_set():
        return
    frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage] - the only way
    frame = frames.get(held_up)
    where = "".join(traceback.format_stack(frame)) if frame else "(it cannot be told where)"
    log.warning("the event loop is held up since %s s by:\n%s", patience, where.rstrip())
    while not (answered.wait(patience) or over.is_set()):
        pass
    log.warning("the event loop went on after %.1f s", time.monotonic() - begun)

"""What is begun and must come to its end, whoever is cancelled meanwhile."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def whole(ending: Coroutine[Any, Any, object]) -> None:
    """Wait to the end of it, however often this is cancelled (by a clock, or twice by who closes):
    who has a server ended is told when its processes are gone."""
    task = asyncio.ensure_future(ending)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    task.result()

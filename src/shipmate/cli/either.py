"""Work on what is kept: through the server that holds the data directory, or here."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from shipmate.cli.server_file import Running, take
from shipmate.config.directory import DATABASE, data_directory
from shipmate.database.sqlite import SqliteStore

T = TypeVar("T")


def either(
    data: Path | None, there: Callable[[Running], T], here: Callable[[SqliteStore], Awaitable[T]]
) -> T:
    """Through the server when one holds the directory, else in the database itself."""
    folder = data_directory(data)
    with ExitStack() as stack:
        if server := take(stack, folder):
            return there(server)
        return asyncio.run(_here(folder, here))


async def _here(folder: Path, work: Callable[[SqliteStore], Awaitable[T]]) -> T:
    store = await SqliteStore.open(folder / DATABASE)
    try:
        return await work(store)
    finally:
        await store.close()

"""Work on what is kept: through the server that holds the data directory, or here."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import TypeVar

from shipmate.cli.server_file import Running, take
from shipmate.config import Config
from shipmate.config.directory import DATABASE, data_directory
from shipmate.database.sql_store import SqlStore
from shipmate.database.stores import open_store

T = TypeVar("T")


def either(
    data: Path | None, there: Callable[[Running], T], here: Callable[[SqlStore], Awaitable[T]]
) -> T:
    """Through the server when one holds the directory, else in the database itself."""
    folder = data_directory(data)
    with ExitStack() as stack:
        if server := take(stack, folder):
            return there(server)
        return asyncio.run(_here(folder, here))


async def _here(folder: Path, work: Callable[[SqlStore], Awaitable[T]]) -> T:
    async with store_of(Config.load(folder)) as store:
        return await work(store)


@asynccontextmanager
async def store_of(config: Config) -> AsyncGenerator[SqlStore]:
    """What the directory's server would hold, for as long as the context lasts."""
    store = await open_store(config.settings.server.database, config.data / DATABASE)
    try:
        yield store
    finally:
        await store.close()

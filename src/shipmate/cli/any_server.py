"""A server for a command that needs one: that which holds the data directory, or one in this
process for as long as the command runs."""

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from shipmate.app import Parts, application, make_house, opened, settle
from shipmate.cli import server_file
from shipmate.cli.serve import GRACE_S, Server, listen
from shipmate.cli.server_file import Running
from shipmate.config import Config
from shipmate.errors import ShipmateError
from shipmate.handlers.house import House
from shipmate.safety.redaction import Redacting

log = logging.getLogger(__name__)


@asynccontextmanager
async def a_server(data: Path) -> AsyncGenerator[Running]:
    async with AsyncExitStack() as stack:
        if running := server_file.take(stack, data):
            yield running
        else:
            yield await stack.enter_async_context(_own(data))


def log_to_stderr() -> None:
    """Standard output belongs to the protocol."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Redacting("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


@asynccontextmanager
async def _own(data: Path) -> AsyncGenerator[Running]:
    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    with contextlib.closing(listening):
        async with opened(Config.load(data)) as parts:
            house = await make_house(parts, port)
            server, started = Server(application(house)), asyncio.Event()
            answering = asyncio.ensure_future(server.answer(listening, started.set))
            settling = asyncio.ensure_future(_settled(parts, house))
            running = Running(
                f"http://127.0.0.1:{port}", house.keys.lend("this machine"), os.getpid()
            )
            server_file.write(data, running)
            try:
                await started.wait()
                yield running
            finally:
                settling.cancel()
                house.closing.set()
                await parts.executor.close(GRACE_S)
                house.ended.set()
                server.should_exit = True
                await asyncio.wait([answering, settling])
                await house.fetches.close()
                server_file.remove(data)


async def _settled(parts: Parts, house: House) -> None:
    try:
        await settle(parts, house)
    except ShipmateError as error:
        log.warning("looking for model providers failed: %s", error)

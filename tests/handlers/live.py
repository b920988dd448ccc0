"""A real server on a free port, in this process."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import uvicorn
from starlette.types import ASGIApp


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncGenerator[int]:
    """The port on which `app` answers."""
    config = uvicorn.Config(app, port=0, lifespan="off", log_config=None, ws="none")
    server = uvicorn.Server(config)
    task = asyncio.ensure_future(server._serve())  # pyright: ignore[reportPrivateUsage] - without signal handlers
    while not server.started:
        await asyncio.sleep(0)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        server.force_exit = True
        await task

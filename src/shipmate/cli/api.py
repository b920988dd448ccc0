"""The API of a running server, for commands that follow what happens there."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from shipmate.cli.conversation import Told
from shipmate.cli.patience import wait_before
from shipmate.cli.server_file import Running, ServerError

CHAT = "/api/agent/chat/stream"
_FRAME = re.compile(rb"(?:id: [^\n]*\n)?event: ([^\n]*)\ndata: ([^\n]*)\n\n")


@dataclass(frozen=True, slots=True)
class Api:
    http: aiohttp.ClientSession
    url: str

    async def call(self, method: str, path: str, body: Any = None) -> Any:
        """The decoded answer; a refusal is a `ServerError` with its status."""
        async with self._asked(method, path, body) as answer:
            content = await answer.read()
            return msgspec.json.decode(content) if content else None

    async def stream(self, method: str, path: str, body: Any = None) -> Told:
        """Type and JSON of each event, up to the end of the stream."""
        async with self._asked(method, path, body) as answer:
            waiting = b""
            async for part in answer.content.iter_any():
                waiting += part
                end = 0
                for frame in _FRAME.finditer(waiting):
                    yield frame[1].decode(), frame[2]
                    end = frame.end()
                waiting = waiting[end:]

    @asynccontextmanager
    async def _asked(
        self, method: str, path: str, body: Any
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        """An answer that is no refusal."""
        for attempt in count(1):
            async with self.http.request(method, self.url + path, json=body) as answer:
                if answer.status < 400:
                    yield answer
                    return
                refused = ServerError(str(msgspec.json.decode(await answer.read())["detail"]))
                refused.status = answer.status
                asked = answer.headers.get("Retry-After")
            if not (seconds := wait_before(attempt, refused.status, asked)):
                raise refused
            await asyncio.sleep(seconds)

    async def default_model(self) -> str:
        return (await self.call("GET", "/api/agent/info"))["default_model"]

    async def project(self, wanted: str) -> str:
        """A project by its id or name, else by its folder, which is added."""
        known = (await self.call("GET", "/api/projects"))["projects"]
        folder = Path(wanted).expanduser()
        if any(wanted in (one["id"], one["name"]) for one in known) or not folder.is_dir():
            return wanted
        added = await self.call("POST", "/api/projects", {"path": str(folder.resolve())})
        return added["id"]


@asynccontextmanager
async def connected(server: Running) -> AsyncGenerator[Api]:
    headers = {"Authorization": f"Bearer {server.token}"}
    endless = aiohttp.ClientTimeout(total=None, sock_read=60)  # a keep_alive comes each 15 s
    try:
        async with aiohttp.ClientSession(headers=headers, timeout=endless) as http:
            yield Api(http, server.url)
    except (aiohttp.ClientError, TimeoutError) as error:
        raise ServerError(
            f"The server at {server.url} (process {server.pid}) does not answer: {error}."
        ) from error

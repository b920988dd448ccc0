"""A conversation with the server that holds the data directory."""

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

from shipmate.cli.conversation import Beginning, Told
from shipmate.cli.patience import wait_before
from shipmate.cli.server_file import Running, ServerError
from shipmate.protocol import ApprovalRequest, SessionChanged

CHAT = "/api/agent/chat/stream"
_FRAME = re.compile(rb"(?:id: [^\n]*\n)?event: ([^\n]*)\ndata: ([^\n]*)\n\n")


@dataclass(frozen=True, slots=True)
class There:
    http: aiohttp.ClientSession
    url: str

    async def begin(self, beginning: Beginning) -> str:
        body = {
            "task": beginning.text,
            "agent": beginning.agent,
            "provider": beginning.model or await self._default_model(),
            "project": await self._project(beginning.project),
            "bypass_approval": beginning.bypass,
        }
        async for kind, data in self._stream(body):
            if kind == "session":
                return msgspec.json.decode(data, type=SessionChanged).row.id
        raise ServerError("The server did not tell of the new session.")

    async def follow(self, session: str, after: int) -> Told:
        async for event in self._stream({"session": session, "after": after}):
            yield event

    async def decide(
        self, session: str, block: ApprovalRequest, *, approved: bool, feedback: str = ""
    ) -> None:
        fields = {"session": session, "id": block.id, "digest": block.digest}
        fields |= {"approved": approved, "feedback": feedback}
        await self._call("POST", "/api/agent/approval", fields)

    async def answer(self, session: str, block: str, text: str) -> None:
        fields = {"session": session, "id": block, "answer": text}
        await self._call("POST", "/api/agent/answer", fields)

    async def stop(self, session: str) -> None:
        await self._call("POST", "/api/agent/stop", {"session": session})

    async def _default_model(self) -> str:
        return (await self._call("GET", "/api/agent/info"))["default_model"]

    async def _project(self, wanted: str) -> str:
        known = (await self._call("GET", "/api/projects"))["projects"]
        folder = Path(wanted).expanduser()
        if any(wanted in (one["id"], one["name"]) for one in known) or not folder.is_dir():
            return wanted
        added = await self._call("POST", "/api/projects", {"path": str(folder.resolve())})
        return added["id"]

    async def _call(self, method: str, path: str, body: Any = None) -> Any:
        async with self._asked(method, path, body) as answer:
            content = await answer.read()
            return msgspec.json.decode(content) if content else None

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
                detail = msgspec.json.decode(await answer.read())["detail"]
                asked = answer.headers.get("Retry-After")
            if not (seconds := wait_before(attempt, answer.status, asked)):
                raise ServerError(str(detail))
            await asyncio.sleep(seconds)

    async def _stream(self, body: Any) -> Told:
        async with self._asked("POST", CHAT, body) as answer:
            waiting = b""
            async for part in answer.content.iter_any():
                waiting += part
                end = 0
                for frame in _FRAME.finditer(waiting):
                    yield frame[1].decode(), frame[2]
                    end = frame.end()
                waiting = waiting[end:]


@asynccontextmanager
async def there(server: Running) -> AsyncGenerator[There]:
    headers = {"Authorization": f"Bearer {server.token}"}
    endless = aiohttp.ClientTimeout(total=None, sock_read=60)  # a keep_alive comes each 15 s
    try:
        async with aiohttp.ClientSession(headers=headers, timeout=endless) as http:
            yield There(http, server.url)
    except (aiohttp.ClientError, TimeoutError) as error:
        raise ServerError(
            f"The server at {server.url} (process {server.pid}) does not answer: {error}."
        ) from error

"""A conversation with the server that holds the data directory."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec

from shipmate.cli.api import CHAT, Api, connected
from shipmate.cli.conversation import Beginning, Told
from shipmate.cli.server_file import Running, ServerError
from shipmate.protocol import ApprovalRequest, SessionChanged


@dataclass(frozen=True, slots=True)
class There:
    api: Api

    async def begin(self, beginning: Beginning) -> str:
        body = {
            "task": beginning.text,
            "agent": beginning.agent,
            "provider": beginning.model or await self.api.default_model(),
            "project": await self.api.project(beginning.project),
            "bypass_approval": beginning.bypass,
        }
        async for kind, data in self.api.stream("POST", CHAT, body):
            if kind == "session":
                return msgspec.json.decode(data, type=SessionChanged).row.id
        raise ServerError("The server did not tell of the new session.")

    async def follow(self, session: str, after: int) -> Told:
        async for event in self.api.stream("POST", CHAT, {"session": session, "after": after}):
            yield event

    async def decide(
        self, session: str, block: ApprovalRequest, *, approved: bool, feedback: str = ""
    ) -> None:
        fields = {"session": session, "id": block.id, "digest": block.digest}
        fields |= {"approved": approved, "feedback": feedback}
        await self.api.call("POST", "/api/agent/approval", fields)

    async def answer(self, session: str, block: str, text: str) -> None:
        fields = {"session": session, "id": block, "answer": text}
        await self.api.call("POST", "/api/agent/answer", fields)

    async def stop(self, session: str) -> None:
        await self.api.call("POST", "/api/agent/stop", {"session": session})


@asynccontextmanager
async def there(server: Running) -> AsyncGenerator[There]:
    async with connected(server) as api:
        yield There(api)

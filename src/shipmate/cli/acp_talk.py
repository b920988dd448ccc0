"""One session of an editor: what is said there, and who decides."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import acp
import msgspec
from acp import schema
from msgspec import UNSET

from shipmate.cli.acp_updates import Updates
from shipmate.cli.api import CHAT, Api
from shipmate.cli.server_file import ServerError
from shipmate.protocol import AnyEvent, ApprovalRequest, Done

CONFLICT = 409
_decode = msgspec.json.Decoder(AnyEvent).decode

ENDS: dict[str, schema.StopReason] = {
    "": "end_turn",
    "waiting_answer": "end_turn",
    "budget": "end_turn",
    "stopped": "cancelled",
    "waiting_approval": "end_turn",
    "limit": "max_turn_requests",
}
ALLOW, ALWAYS, DENY = "allow", "always", "deny"


@dataclass(slots=True)
class Talk:
    api: Api
    id: str
    client_id: str
    """From which the session's id was drawn; empty: it was there before."""
    project: str
    agent: str
    model: str
    updates: Updates
    begun: bool = False
    """The session is there; it is made with the first message."""
    after: int = 0
    pending: dict[str, ApprovalRequest] = field(default_factory=dict[str, ApprovalRequest])

    async def say(
        self, client: acp.Client, text: str, attachments: list[dict[str, str]]
    ) -> schema.StopReason:
        """Say something, and tell the editor what happens until the round ends or waits for an
        answer."""
        body = await self._said(text, attachments)
        while True:
            done = await self._follow(client, body)
            if done.reason in ("error", "interrupted"):
                raise acp.RequestError(-32603, done.error or "The round was interrupted.")
            if not self.pending or done.reason != "waiting_approval":
                return ENDS[done.reason]
            if not await self._decided(client):
                return "cancelled"
            body = {"session": self.id, "after": self.after}

    async def _said(self, text: str, attachments: list[dict[str, str]]) -> dict[str, Any]:
        if not self.begun:
            self.begun = True
            return {
                "task": text,
                "attachments": attachments,
                "client_id": self.client_id,
                "project": self.project,
                "agent": self.agent,
                "provider": self.model,
            }
        view = await self.api.call("GET", f"/api/agent/sessions/{self.id}?limit=1")
        if question := view["session"]["pending_question"]:
            answer = {"session": self.id, "id": question, "answer": text}
            await self.api.call("POST", "/api/agent/answer", answer)
            return {"session": self.id, "after": self.after}
        return {
            "session": self.id,
            "message": text,
            "attachments": attachments,
            "after": self.after,
        }

    async def _follow(self, client: acp.Client, body: dict[str, Any]) -> Done:
        done = Done(finished=False, reason="interrupted", error="The server ended.")
        async with aclosing(self._events("POST", CHAT, body)) as events:
            async for event in events:
                for update in self.updates.of(event):
                    await client.session_update(self.id, update)
                if isinstance(event, Done):
                    done = event
        return done

    async def _events(self, method: str, path: str, body: Any = None) -> AsyncGenerator[AnyEvent]:
        async for _, data in self.api.stream(method, path, body):
            event = _decode(data)
            self.after = max(self.after, getattr(event, "seq", 0))
            if isinstance(event, ApprovalRequest):
                if event.result is UNSET:
                    self.pending[event.id] = event
                else:
                    self.pending.pop(event.id, None)
            yield event

    async def _decided(self, client: acp.Client) -> bool:
        """Have the person decide what waits, in the editor or on the page; false: cancelled."""
        while self.pending:
            request = next(iter(self.pending.values()))
            asking = asyncio.ensure_future(
                client.request_permission(
                    session_id=self.id,
                    tool_call=self.updates.asked(request),
                    options=_options(request),
                )
            )
            watching = asyncio.ensure_future(self._settled_elsewhere(request))
            try:
                await asyncio.wait([asking, watching], return_when=asyncio.FIRST_COMPLETED)
            finally:
                watching.cancel()
                await asyncio.wait([watching])
                if not asking.done():
                    asking.cancel()
            if asking.cancelled() or not asking.done():
                continue  # the page was quicker
            outcome = asking.result().outcome
            if not isinstance(outcome, schema.AllowedOutcome):
                return False
            await self._decide(request, outcome.option_id)
        return True

    async def _decide(self, request: ApprovalRequest, option: str) -> None:
        body: dict[str, Any] = {"session": self.id, "id": request.id, "approved": option != DENY}
        body["digest"] = request.digest
        if option == ALWAYS:
            body["scope"] = "session"
        try:
            await self.api.call("POST", "/api/agent/approval", body)
        except ServerError as error:
            if error.status != CONFLICT:  # the first decision wins, wherever it was made
                raise
        if self.pending.get(request.id) is request:
            del self.pending[request.id]

    async def _settled_elsewhere(self, request: ApprovalRequest) -> None:
        """Until it was decided, or is another one."""
        path = f"/api/agent/sessions/{self.id}/events?after={self.after}"
        async with aclosing(self._events("GET", path)) as events:
            async for _ in events:
                if self.pending.get(request.id) is not request:
                    return


def _options(request: ApprovalRequest) -> list[schema.PermissionOption]:
    options = [schema.PermissionOption(option_id=ALLOW, name="Approve", kind="allow_once")]
    if "session" in request.scopes and request.suggested:
        name = f"Approve in this session: {', '.join(request.suggested)}"
        options.append(schema.PermissionOption(option_id=ALWAYS, name=name, kind="allow_always"))
    return [*options, schema.PermissionOption(option_id=DENY, name="Deny", kind="reject_once")]

"""The SDK's dispatcher, with a tap: each answer is kept as it came, before the SDK looks at it."""

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

from shipmate.mcp.foreign import as_list, as_object, as_text

taken: ContextVar[list[dict[str, Any]] | None] = ContextVar("taken", default=None)


"""Where the answers to what this task asks are kept."""


class Tapped(JSONRPCDispatcher):
    """Keeps each answer as it came, and shows the session one it cannot choke on: the SDK refuses
    a whole list for one odd tool, and a result for one part of a kind it does not know."""

    async def send_raw_request(
        self, method: str, params: Any, opts: Any = None, **more: Any
    ) -> Any:
        raw = await super().send_raw_request(method, params, opts, **more)
        kept = taken.get()
        if kept is not None and method in ("tools/list", "tools/call"):
            kept.append(raw)
            return _calm_list(raw) if method == "tools/list" else _calm_result(raw)
        return raw


def _calm_list(raw: Mapping[str, Any]) -> dict[str, Any]:
    calm = [
        {"name": name, "inputSchema": _calm_schema(as_object(tool).get("inputSchema"))}
        for tool in as_list(raw.get("tools"))
        if (name := as_text(as_object(tool).get("name")))
    ]
    return {"tools": calm, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def _calm_schema(schema: Any) -> dict[str, Any]:
    """With its properties: they may name headers that go along with a call."""
    return {"type": "object", "properties": as_object(as_object(schema).get("properties"))}


def _calm_result(raw: Mapping[str, Any]) -> dict[str, Any]:
    if raw.get("resultType") == "input_required":
        return dict(raw)
    return {"content": [], "resultType": "complete"}


class Ending(Tapped):
    """Tells when the transport has ended."""

    def __init__(self, read: Any, write: Any, *, ended: asyncio.Event) -> None:
        super().__init__(read, write)
        self._ended_event = ended

    async def run(self, *args: Any, **options: Any) -> None:
        try:
            await super().run(*args, **options)
        finally:
            self._ended_event.set()

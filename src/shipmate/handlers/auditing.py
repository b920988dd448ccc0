"""What is asked of the server, in the audit log; and the log itself, for admins."""

import asyncio
from collections import deque
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta

from shipmate.handlers.route import Answer, Call, Endpoint, Input, Nothing, endpoint
from shipmate.safety.audit import Entry, Verified, entries, verify
from shipmate.safety.redaction import redacted


async def audited(one: Endpoint, call: Call[Any]) -> None:
    """A request that was carried out; it is on disk before the answer is sent."""
    given = {name: getattr(call.given, name, UNSET) for name in one.audit or ()}
    what = {name: _plain(value) for name, value in given.items() if value is not UNSET}
    await told(call, one.name, **dict(call.path), **what)


async def told(call: Call[Any], event: str, **what: Any) -> None:
    caller = call.caller
    kept = call.house.audit.tell(
        event, who=caller.name, user=caller.user, address=call.address, what=what
    )
    await asyncio.wrap_future(kept)


def _plain(value: Any) -> Any:
    return redacted(value)[:300] if isinstance(value, str) else msgspec.to_builtins(value)


class Wanted(Input, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 200
    before: Annotated[int, Meta(ge=0)] = 0
    """Only lines with a lower number; 0: from the end."""
    event: str = ""
    who: str = ""


class AuditList(msgspec.Struct, frozen=True):
    entries: list[Entry]
    """The newest first."""


@endpoint("GET", "/api/audit", scope="admin", query=Wanted, answer=AuditList)
async def audit(call: Call[Wanted]) -> Answer:
    """The audit log, the newest lines first."""
    return AuditList(await asyncio.to_thread(_newest, call.house.audit.folder, call.given))


@endpoint("GET", "/api/audit/verify", scope="admin", answer=Verified)
async def verify_audit(call: Call[Nothing]) -> Answer:
    """Whether the chain of the log is whole; the first line that is not."""
    return await asyncio.to_thread(verify, call.house.audit.folder)


def _newest(folder: Path, asked: Wanted) -> list[Entry]:
    found = (
        entry
        for entry in entries(folder)
        if (not asked.before or entry.n < asked.before)
        and asked.event in ("", entry.event)
        and asked.who in ("", entry.who)
    )
    return list(deque(found, asked.limit))[::-1]

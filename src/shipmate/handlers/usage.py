"""What was used: tokens, and cost where prices are known."""

from typing import Annotated

import msgspec
from msgspec import Meta

from shipmate.database.usage import UsageRow
from shipmate.handlers.route import Answer, Call, Input, endpoint


class Wanted(Input, frozen=True, kw_only=True):
    session: str = ""
    """Empty: all of one's own sessions (an admin's: of everybody's), deleted ones too."""
    days: Annotated[int, Meta(ge=1, le=3660)] = 30


class UsageList(msgspec.Struct, frozen=True):
    rows: list[UsageRow]
    """One for each day, session and model; the newest day first."""
    tokens: int
    """Prompt and completion of all of them."""
    cost: float


@endpoint("GET", "/api/usage", scope="read", query=Wanted, answer=UsageList)
async def usage(call: Call[Wanted]) -> Answer:
    """Tokens and cost by day, session and model, sub-agents and summaries included."""
    asked, caller = call.given, call.caller
    owner = None if caller.everything or asked.session else caller.user
    rows = await call.house.executor.store.usage(asked.session, asked.days, owner=owner)
    tokens = sum(row.prompt + row.completion for row in rows)
    return UsageList(rows, tokens, sum(row.cost for row in rows))

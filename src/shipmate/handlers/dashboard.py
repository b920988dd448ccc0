"""How things stand over all sessions."""

import msgspec

from shipmate.database.store import StateCount
from shipmate.handlers.reach import listing
from shipmate.handlers.route import Answer, Call, Nothing, endpoint


class Dashboard(msgspec.Struct, frozen=True):
    states: list[StateCount]
    """Sessions by project and state; archived ones are not counted."""


@endpoint("GET", "/api/dashboard", scope="read", answer=Dashboard)
async def dashboard(call: Call[Nothing]) -> Answer:
    """How many sessions of one's own, and of those shared with one, are in which state."""
    owner, seen_by = listing(call.caller, "")
    return Dashboard(await call.house.executor.store.states(owner=owner, seen_by=seen_by))

"""Addresses that a browser can open as they are: a navigation carries no header token."""

import secrets
import time
from dataclasses import dataclass, field

VALID_S = 600
MOST = 200
"""So many are known at once; the oldest goes first."""


@dataclass(slots=True)
class Tickets:
    """What each may show, until it is too old. Only in memory: a restart ends all."""

    _known: dict[str, tuple[str, str, float]] = field(
        default_factory=dict[str, tuple[str, str, float]]
    )

    def issue(self, session: str, user: str) -> str:
        while len(self._known) >= MOST:
            del self._known[next(iter(self._known))]
        ticket = secrets.token_urlsafe(32)
        self._known[ticket] = session, user, time.monotonic() + VALID_S
        return ticket

    def holder(self, ticket: str) -> tuple[str, str] | None:
        """The session it shows and the user it was given to; None: never given out, or too old."""
        session, user, until = self._known.get(ticket, ("", "", 0.0))
        return (session, user) if time.monotonic() < until else None

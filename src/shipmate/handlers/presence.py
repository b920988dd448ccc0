"""Who has streams open: they end when the sign-in, the token or the user behind them does."""

import asyncio
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from shipmate.handlers.errors import HttpError

EACH, ALL = 200, 5000
"""Streams of one credential, and of all. A browser needs one, and one for each message sent."""


class Presence:
    def __init__(self, each: int = EACH, everyone: int = ALL) -> None:
        self._each, self._everyone = each, everyone
        self._open: dict[asyncio.Event, tuple[str, str]] = {}
        self._counts = Counter[str]()

    @contextmanager
    def stays(self, credential: str, user: str) -> Generator[asyncio.Event]:
        """Set when the stream is to end. `credential`: the sign-in or token by its id. 429 when too
        many are open."""
        if self._counts[credential] >= self._each or len(self._open) >= self._everyone:
            raise HttpError(
                429,
                "too_many_streams",
                "Too many event streams are open; close one, or follow several sessions on one.",
                {"Retry-After": "5"},
            )
        ended = asyncio.Event()
        self._open[ended] = credential, user
        self._counts[credential] += 1
        try:
            yield ended
        finally:
            del self._open[ended]
            self._counts[credential] -= 1
            self._counts += Counter()  # drops what is zero

    def end(self, *, credential: str = "", user: str = "", but: str = "") -> None:
        """End the streams of a sign-in or a token by its id, or a user's save one sign-in's."""
        for ended, (who, whose) in self._open.items():
            if (credential and who == credential) or (user and whose == user and who != but):
                ended.set()

"""How often something may be tried: buckets that fill again with time.

A bound of memory comes with each: the keys that were seen longest ago are forgotten first.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from shipmate.handlers.errors import HttpError

KEYS = 10_000


@dataclass(slots=True)
class Bucket:
    """`burst` at once, then one every `every` seconds, for each key."""

    burst: int
    every: float
    clock: Callable[[], float] = time.monotonic
    _spent: OrderedDict[str, tuple[float, float]] = field(
        default_factory=OrderedDict[str, tuple[float, float]]
    )
    """What was taken of each key's bucket, and when that was so."""

    def take(self, key: str, what: str) -> None:
        """One more; 429 when there is none left."""
        if wait := self.wait(key):
            raise HttpError(
                429,
                "too_many",
                f"Too many {what}: try again in {int(wait) + 1} s.",
                {"Retry-After": str(int(wait) + 1)},
            )
        self._spent[key] = self._now(key) + 1, self.clock()
        self._spent.move_to_end(key)
        if len(self._spent) > KEYS:
            self._spent.popitem(last=False)

    def wait(self, key: str) -> float:
        """Seconds until there is one; 0: now."""
        return max(0.0, (self._now(key) + 1 - self.burst) * self.every)

    def forgive(self, key: str) -> None:
        """It was no try after all: give back all that was taken."""
        self._spent.pop(key, None)

    def _now(self, key: str) -> float:
        spent, at = self._spent.get(key, (0.0, 0.0))
        return max(0.0, spent - (self.clock() - at) / self.every)


@dataclass(slots=True)
class Limits:
    """Those of one server."""

    names: Bucket = field(default_factory=lambda: Bucket(10, 60))
    """Wrong passwords of one name."""
    addresses: Bucket = field(default_factory=lambda: Bucket(30, 20))
    """Wrong passwords and links from one address."""
    credentials: Bucket = field(default_factory=lambda: Bucket(300, 0.2))
    """Wrong tokens and sign-ins from one address; they cannot be guessed, but they cost time."""
    requests: Bucket = field(default_factory=lambda: Bucket(3000, 1 / 300))
    """Requests of one caller."""
    looks: Bucket = field(default_factory=lambda: Bucket(1, 3600))
    """Lines of the audit log about one caller who looks at one session of somebody else."""

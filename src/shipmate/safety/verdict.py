"""The answer of every judge: may this call run, must the user be asked, is it refused."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from shipmate.protocol import AnyDetail


class Level(IntEnum):
    """Ordered: of two levels the higher one wins."""

    ALLOW = 0
    ASK = 1
    """Yellow: an ordinary approval."""
    DANGER = 2
    """Red: an approval with a warning."""
    REFUSE = 3
    """Rejected outright; nobody can approve it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a tool's judge says of one call.

    `title` and `details` are what the dialog shows. `binds` is what the approval is bound to
    besides the arguments: real path to SHA-256 of the content shown ("" where nothing was),
    and names such as `cwd`. When the call is run it is judged again, and any difference refuses.
    """

    level: Level
    reason: str = ""
    rule: str = ""
    title: str = ""
    details: AnyDetail | None = None
    binds: Mapping[str, str] = field(default_factory=dict[str, str])
    bypassable: bool = False
    """A file operation inside the project and outside dangerous places: the bypass covers it."""


ALLOW = Verdict(Level.ALLOW)

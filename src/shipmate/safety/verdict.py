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
class Subject:
    """One thing that a call does, in the terms of the user's rules (`safety.rules`)."""

    kind: str
    """`shell`, `write`, `read`, `web`, `mcp` or `tool`."""
    name: str = ""
    """The path within the project, the host, `server/tool`, the tool's name."""
    words: tuple[str, ...] = ()
    """Of `shell`: the words of one simple command."""
    folder: str = "."
    """Of `shell`: where it runs, relative to the project."""


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
    touches: tuple[Subject, ...] = ()
    """All that the call does: a rule that denies or asks holds when it names one of these."""
    covers: tuple[Subject, ...] = ()
    """The parts that need asking: rules that allow must name each. Empty: none can allow it,
    except that of the tool's name where `touches` is empty, too."""
    suggested: tuple[str, ...] = ()
    """The rules that would cover these parts; by default those parts themselves."""


ALLOW = Verdict(Level.ALLOW)

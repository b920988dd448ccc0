"""The port to durable storage. Every number and every order comes from here.

Writes go through one writer; each call is one transaction, calls that wait are committed
together. What a call wrote is on disk when it returns (`durable`), or on its way there.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from shipmate.database.query import Term
from shipmate.database.usage import UsageRow
from shipmate.llm.prices import Costs
from shipmate.llm.windows import Learned
from shipmate.protocol import AnyBlock, Pending, Queued, SessionRow, Status
from shipmate.safety.rules.rule import Rule


@dataclass(frozen=True, slots=True)
class Saved:
    """A block as it was kept: numbered, with the JSON that is on disk and goes on the wire."""

    block: AnyBlock
    json: bytes


@dataclass(frozen=True, slots=True)
class Kept:
    """A kept block as read: its JSON, not decoded, of whatever version."""

    pos: int
    seq: int
    type: str
    json: bytes


@dataclass(frozen=True, slots=True)
class Written:
    """What one transaction changed: the blocks, and the session's row after it."""

    saved: tuple[Saved, ...]
    row: SessionRow


@dataclass(frozen=True, slots=True)
class View:
    """A session as it stood at one moment."""

    row: SessionRow
    blocks: list[Kept]
    """A window of them, by `pos`."""
    pending: list[Pending]
    """All that wait for the user, the oldest first."""


@dataclass(frozen=True, slots=True)
class SessionFilter:
    project: str = ""
    archived: bool | None = False
    pinned: bool | None = None
    status: str = ""
    before: tuple[int, str] | None = None
    """Rows updated before this (time, id): the cursor of a page."""
    limit: int = 50
    owner: str | None = None
    """Whose; None: whoever's."""
    seen_by: str | None = None
    """Only those that this person owns, or that are shared with them; None: all."""


class StateCount(msgspec.Struct, frozen=True):
    project: str
    status: Status
    sessions: int


@dataclass(frozen=True, slots=True)
class LiveText:
    """Text of a message that was being streamed when it was last flushed."""

    session: str
    id: str
    text: str
    reasoning: str


@dataclass(frozen=True, slots=True)
class SearchFilter:
    terms: tuple[Term, ...]
    project: str = ""
    role: str = ""
    since: int = 0
    until: int = 0
    """Milliseconds since 1970 UTC, of what was said; 0: whenever."""
    archived: bool | None = None
    owner: str | None = None
    seen_by: str | None = None
    """As in a `SessionFilter`."""
    before: int = 0
    """Only matches whose id is lower; 0: from the newest."""
    limit: int = 50


@dataclass(frozen=True, slots=True)
class Match:
    """A block that has the words, or a title (then `block` is empty)."""

    id: int
    session: str
    block: str
    role: str
    words: str
    """Its words as they are kept, with blanks between."""


class Indexing(msgspec.Struct, frozen=True):
    """How far the conversations are that were there before they could be searched."""

    left: int
    of: int


class Store(Protocol):
    """Sessions and their blocks. Unknown sessions and blocks raise `NotFoundError`;
    what cannot be written raises `StorageError`."""

    @property
    def epoch(self) -> str:
        """Changes when the numbering does (a restored database)."""
        ...

    async def create_session(self, row: SessionRow) -> SessionRow: ...
    async def fill_session(self, row: SessionRow, blocks: Sequence[tuple[str, Kept]]) -> SessionRow:
        """A new session made of blocks that stood elsewhere: id and block, numbered already,
        of kinds that this version does not know, too."""
        ...

    async def session(self, session: str) -> SessionRow: ...
    async def sessions_named(self, sessions: Collection[str]) -> dict[str, SessionRow]:
        """The rows of these, by id; those that are gone are left out."""
        ...

    async def sessions(self, wanted: SessionFilter) -> list[SessionRow]: ...
    async def delete_session(self, session: str) -> set[str]:
        """Remove all of it; the ids of stored files that no other session shows."""
        ...

    async def write(
        self,
        session: str,
        blocks: Sequence[AnyBlock] = (),
        *,
        row: dict[str, Any] | None = None,
        durable: bool = True,
    ) -> Written:
        """Keep blocks and changed fields of the row in one transaction, numbered in order.
        A block whose id is known replaces it at its place. `add_tokens` in `row` is added;
        `usage` (a `Spent`, or None) goes to what was used."""
        ...

    async def change(
        self,
        session: str,
        block: str,
        revise: Callable[[AnyBlock], AnyBlock],
        *,
        row: dict[str, Any] | None = None,
        rules: Callable[[AnyBlock], Sequence[Rule]] | None = None,
    ) -> Written:
        """Read, revise and keep one block in one transaction, with the `rules` that the revised
        one brings; what `revise` raises undoes it."""
        ...

    async def block(self, session: str, block: str) -> AnyBlock: ...
    async def history(self, session: str) -> list[AnyBlock]:
        """All blocks by `pos`, those of a kind that this version does not know left out."""
        ...

    async def writing(self, session: str) -> list[AnyBlock]:
        """The results of calls that wrote files, among the user's messages, by `pos`."""
        ...

    async def changes(
        self, session: str, after: int, limit: int = 1000, size: int = 1 << 62
    ) -> list[Kept]:
        """Blocks added or changed since `after`, by `seq`: the first `limit` of them, and none
        after the one with which they have `size` bytes."""
        ...

    async def window(self, session: str, before: int = 0, limit: int = 100) -> list[Kept]:
        """The last `limit` blocks (before the place `before`), by `pos`."""
        ...

    async def view(self, session: str, before: int = 0, limit: int = 100) -> View:
        """The session with the window of its blocks that `window` gives, at one moment."""
        ...

    async def of_type(self, session: str, kind: str) -> list[Kept]:
        """All blocks of one type, by `pos`."""
        ...

    async def queue(self, session: str) -> list[Queued]:
        """What waits to be said, the next first. One goes when the `User` block with its id is
        kept."""
        ...

    async def waiting_queues(self) -> list[str]:
        """Idle sessions in whose queue something waits, the longest idle first."""
        ...

    async def change_queue(
        self, session: str, revise: Callable[[Sequence[Queued]], Sequence[Queued]]
    ) -> list[Queued]:
        """Read, revise and keep the queue in one transaction; what `revise` raises undoes it."""
        ...

    async def pending(self) -> list[tuple[SessionRow, list[Pending]]]:
        """What waits for the user in all sessions, those that have waited longest first."""
        ...

    async def rules(self) -> Sequence[Rule]:
        """The user's rules, the oldest first."""
        ...

    async def add_rule(self, rule: Rule) -> Rule:
        """Keep a rule; the one that stands where there is the same, in force again."""
        ...

    async def change_rule(self, rule: str, revise: Callable[[Rule], Rule]) -> Rule: ...
    async def remove_rule(self, rule: str) -> None: ...

    async def search(self, wanted: SearchFilter) -> list[Match]:
        """Blocks that have all terms, the newest first. No terms: none."""
        ...

    async def search_titles(self, wanted: SearchFilter) -> list[Match]:
        """Titles that have all terms, those of the sessions that began last first."""
        ...

    async def search_sessions(self, wanted: SearchFilter) -> list[Match]:
        """The newest match of each session that has one, the newest first; `limit` counts
        sessions."""
        ...

    async def blocks(self, wanted: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Kept]:
        """Blocks by session and id; those that are gone are left out."""
        ...

    async def indexing(self) -> Indexing | None:
        """What of the sessions that were there before cannot be found yet; None: nothing."""
        ...

    async def to_index(self) -> None:
        """Waits until a session was filled that is to be indexed."""
        ...

    async def index_piece(self) -> bool:
        """Index some more of them; False: there is nothing left."""
        ...

    async def costs(self, session: str) -> Costs:
        """What the session has cost, and all of them today."""
        ...

    async def usage(
        self, session: str = "", days: int = 30, *, owner: str | None = None
    ) -> list[UsageRow]:
        """What was used in the last `days` days, of one session or of all (whose: `owner`)."""
        ...

    async def states(self, *, owner: str | None, seen_by: str | None) -> list[StateCount]:
        """How many sessions are in which state; whose, as in a `SessionFilter`."""
        ...

    async def shows(self, file: str, seen_by: str) -> bool:
        """Whether a stored file is shown in a session that this person may see."""
        ...

    async def learned(self) -> dict[str, Learned]:
        """What providers told of their models' limits, by `provider/model`."""
        ...

    async def keep_learned(self, model: str, learned: Learned) -> None: ...

    def append_text(self, session: str, message: str, text: str, reasoning: str) -> None:
        """Keep more of a message that is being streamed; written with the next batch.
        The rows go when the message's block is kept."""
        ...

    def drop_text(self, session: str, message: str) -> None:
        """Forget what was kept of a message that is streamed anew."""
        ...

    async def live_texts(self) -> list[LiveText]:
        """What was being streamed when the last server died."""
        ...

    async def close(self) -> None: ...

"""What is read of sessions as it stood at one moment: in one transaction of a reader."""

from msgspec import UNSET

from shipmate.database.connection import Connection
from shipmate.database.rows import list_waiting, read_blocks, read_session
from shipmate.database.store import Kept, View
from shipmate.protocol import Pending, SessionRow, decode_kept

_ASKED = (
    "AND type IN ('approval_request', 'ask_user') AND pos >= "
    "(SELECT COALESCE(min(pos), 0) FROM blocks WHERE session = ? AND id IN (?, ?)) ORDER BY pos"
)
"""From the oldest on that the row names: a long session has many that were decided."""


def read_view(db: Connection, session: str, before: int, limit: int) -> View:
    row = read_session(db, session)
    waits = row.pending_approval or row.pending_question
    return View(row, read_window(db, session, before, limit), waiting(db, row) if waits else [])


def read_window(db: Connection, session: str, before: int, limit: int) -> list[Kept]:
    tail = "AND (? = 0 OR pos < ?) ORDER BY pos DESC LIMIT ?"
    return read_blocks(db, tail, session, before, before, limit)[::-1]


def waiting(db: Connection, row: SessionRow) -> list[Pending]:
    """What waits for the user in a session, the oldest first."""
    named = (row.id, row.pending_approval, row.pending_question)
    blocks = (decode_kept(kept.json) for kept in read_blocks(db, _ASKED, row.id, *named))
    return [b for b in blocks if isinstance(b, Pending) and b.result is UNSET]


def pending(db: Connection) -> list[tuple[SessionRow, list[Pending]]]:
    """Sessions in which something waits for the user, with what waits, the oldest first."""
    found = [(row, waiting(db, row)) for row in list_waiting(db)]
    return sorted((one for one in found if one[1]), key=lambda one: one[1][0].at)

"""Messages that wait for their turn: the statements a transaction is made of."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from shipmate.database import rows
from shipmate.database.connection import Connection
from shipmate.protocol import Queued, encode

Revise: TypeAlias = Callable[[Sequence[Queued]], Sequence[Queued]]

_decode = msgspec.json.Decoder(Queued).decode


def read_queue(db: Connection, session: str) -> list[Queued]:
    query = "SELECT body FROM queue WHERE session = ? ORDER BY place"
    return [_decode(body) for (body,) in db.execute(query, (session,))]


def read_waiting(db: Connection) -> list[str]:
    """Idle sessions in which something waits."""
    query = (
        "SELECT id FROM sessions WHERE status = 'idle' AND id IN (SELECT session FROM queue) "
        "ORDER BY updated_at"
    )
    return [session for (session,) in db.execute(query)]


def revise_queue(db: Connection, session: str, revise: Revise) -> list[Queued]:
    """Write the session's queue anew, as `revise` makes it; what it raises undoes all."""
    rows.hold(db, session)
    rows.read_session(db, session)
    revised = list(revise(read_queue(db, session)))
    db.execute("DELETE FROM queue WHERE session = ?", (session,))
    db.executemany(
        "INSERT INTO queue VALUES (?, ?, ?, ?)",
        [(session, place, one.id, encode(one)) for place, one in enumerate(revised)],
    )
    return revised

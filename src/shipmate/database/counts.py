"""How many sessions there are, by project and state."""

from shipmate.database.connection import Connection
from shipmate.database.rows import SEEN
from shipmate.database.store import StateCount


def states(db: Connection, owner: str | None, seen_by: str | None) -> list[StateCount]:
    """Of those that are not archived; `owner` and `seen_by` as in a `SessionFilter`."""
    seen, values = ("", ()) if seen_by is None else (f"AND {SEEN}", (seen_by, seen_by))
    query = (
        "SELECT project, status, count(*) FROM sessions WHERE archived = 0 "  # noqa: S608 - fixed names
        f"AND owner = coalesce(?, owner) {seen} GROUP BY project, status ORDER BY project, status"
    )
    return [StateCount(*row) for row in db.execute(query, (owner, *values))]

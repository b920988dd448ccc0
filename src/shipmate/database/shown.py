"""Stored files that blocks show: which go with a session, and who may see one."""

import re

from shipmate.database.connection import Connection
from shipmate.database.rows import SEEN, unknown

_SHOWING = "SELECT body FROM blocks WHERE type IN ('attachment', 'tool_result')"
_FILE = re.compile(rb'"file":"([A-Za-z0-9_-]{1,100})"')


def delete_session(db: Connection, session: str) -> set[str]:
    """Remove all of it; the ids of the stored files that it showed."""
    files = set[str]()
    for (body,) in db.execute(f"{_SHOWING} AND session = ?", (session,)):
        files.update(name.decode() for name in _FILE.findall(body))
    if not db.execute("DELETE FROM sessions WHERE id = ?", (session,)).rowcount:
        raise unknown(session)
    return files


def unused(db: Connection, files: set[str]) -> set[str]:
    """Those of them that nothing shows any more. Looks through all blocks that show files."""
    left = set(files)
    for query in (_SHOWING, "SELECT body FROM queue"):
        for (body,) in db.execute(query) if left else ():
            left.difference_update(name.decode() for name in _FILE.findall(body))
    return left


def shows(db: Connection, file: str, seen_by: str) -> bool:
    """Whether a session that this person may see shows the stored file."""
    seen = f"SELECT id FROM sessions WHERE {SEEN}"  # noqa: S608 - fixed names
    query = f"{_SHOWING} AND session IN ({seen}) AND instr(body, ?) LIMIT 1"
    values = (seen_by, seen_by, b'"file":"%s"' % file.encode())
    return db.execute(query, values).fetchone() is not None

"""Words beside the rows: kept and removed in the transactions that change them."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from shipmate.database import words
from shipmate.database.connection import Connection
from shipmate.database.finding import Field, Finder
from shipmate.database.integrity import words_hash
from shipmate.database.store import Indexing, Match, SearchFilter
from shipmate.database.texts import role, texts
from shipmate.protocol import AnyBlock, decode_kept

MOST_INDEXED = 200_000
"""Characters of one block; what follows them is not found."""
PIECE_BLOCKS = 100
PIECE_BYTES = 200_000
"""Of what was there before, in one transaction: others wait 30 ms for it at most."""
MOST_SCANNED = 10_000
"""Matches that are looked through for the sessions they are in."""
_SLOTS = 20
"""Bits of an id below its milliseconds."""
_LATEST = (1 << 42) - 2
"""Milliseconds; a block that says it is of a later time counts as of then."""
_ENDLESS = 1 << 62


# --- kept ---------------------------------------------------------------------------------


def index_block(db: Connection, session: str, block: AnyBlock) -> None:
    text = "\n".join(one for one in texts(block) if one)[:MOST_INDEXED]
    parts, wholes = words.indexed(text)
    _index(db, session, block.id, role(block), block.at, (parts, wholes, ""))


def index_title(db: Connection, session: str, title: str, at: int) -> None:
    _index(db, session, "", "title", at, ("", "", " ".join(words.indexed(title)).strip()))


def _index(
    db: Connection,
    session: str,
    block: str,
    whose: str,
    at: int,
    columns: tuple[str, str, str],
) -> None:
    """What is indexed already, with the same words, stays as it is."""
    digest = words_hash(*columns)
    query = "SELECT id, digest FROM indexed WHERE session = ? AND block = ?"
    known = db.execute(query, (session, block)).fetchone()
    if known and known[1] == digest:
        return
    if known:
        db.execute("DELETE FROM indexed WHERE id = ?", known[:1])
    if not any(columns):
        return
    number = known[0] if known else _free(db, at)
    values = (number, session, block, whose, digest)
    db.execute("INSERT INTO indexed VALUES (?, ?, ?, ?, ?)", values)
    insert = "INSERT INTO search (rowid, parts, wholes, title) VALUES (?, ?, ?, ?)"
    db.execute(insert, (number, *columns))


def _free(db: Connection, at: int) -> int:
    first = min(max(at, 0), _LATEST) << _SLOTS
    query = "SELECT max(id) FROM indexed WHERE id >= ? AND id < ?"
    last = db.execute(query, (first, first + (1 << _SLOTS))).fetchone()[0]
    return first if last is None else last + 1


# --- what was there before ------------------------------------------------------------------


def index_piece(db: Connection) -> bool:
    """Index some blocks of a session that was there before; False: there is none left."""
    query = (
        "SELECT u.session, u.after, s.title, s.created_at FROM unindexed u "
        "JOIN sessions s ON s.id = u.session ORDER BY u.number LIMIT 1"
    )
    found = db.execute(query).fetchone()
    if found is None:
        return False
    session, after, title, created = found
    if not after:
        index_title(db, session, title, created)
    query = "SELECT pos, body FROM blocks WHERE session = ? AND pos > ? ORDER BY pos LIMIT ?"
    size, last = 0, 0
    for pos, body in db.execute(query, (session, after, PIECE_BLOCKS)).fetchall():
        if (block := _decoded(body)) is not None:
            index_block(db, session, block)
        last, size = pos, size + len(body)
        if size >= PIECE_BYTES:
            break
    if last:
        db.execute("UPDATE unindexed SET after = ? WHERE session = ?", (last, session))
    else:
        db.execute("DELETE FROM unindexed WHERE session = ?", (session,))
    return True


def _decoded(body: bytes) -> AnyBlock | None:
    try:
        return decode_kept(body)
    except (msgspec.DecodeError, UnicodeDecodeError):  # damaged: it is shown nowhere either
        return None


def indexing(db: Connection) -> Indexing | None:
    """None: all there is can be found."""
    left = db.execute("SELECT count(*) FROM unindexed").fetchone()[0]
    of = db.execute("SELECT count(*) FROM sessions").fetchone()[0]
    return Indexing(left, of) if left else None


# --- looked for -----------------------------------------------------------------------------


def matches(db: Connection, wanted: SearchFilter, finder: Finder) -> list[Match]:
    """Blocks that have all terms, the newest first."""
    return [Match(*row) for row in _rows(db, wanted, finder, "said", "f.parts", wanted.limit)]


def titles(db: Connection, wanted: SearchFilter, finder: Finder) -> list[Match]:
    """Titles that have all terms, of the sessions that began last first."""
    return [Match(*row) for row in _rows(db, wanted, finder, "named", "f.title", wanted.limit)]


def newest_of_sessions(db: Connection, wanted: SearchFilter, finder: Finder) -> list[Match]:
    """The newest match of each session, of `limit` sessions; of `MOST_SCANNED` matches."""
    newest: dict[str, Match] = {}
    for row in _rows(db, wanted, finder, "said", "''", MOST_SCANNED):
        match = Match(*row)
        newest.setdefault(match.session, match)
        if len(newest) == wanted.limit:
            break
    return list(newest.values())


def _rows(
    db: Connection, wanted: SearchFilter, finder: Finder, field: Field, shown: str, limit: int
) -> Iterable[Any]:
    if not wanted.terms:
        return ()
    conditions, values = _conditions(wanted)
    query = (
        f"SELECT i.id, i.session, i.block, i.role, {shown} FROM {finder.source} "  # noqa: S608 - fixed words
        f"WHERE {finder.condition(field)} AND f.rowid >= ? AND f.rowid < ? {conditions} "
        "ORDER BY f.rowid DESC LIMIT ?"
    )
    first = min(wanted.since, _LATEST) << _SLOTS
    last = (min(wanted.until, _LATEST) + 1) << _SLOTS if wanted.until else _ENDLESS
    end = min(wanted.before or _ENDLESS, last)
    match = finder.expression(field, wanted.terms)
    return db.execute(query, (match, first, end, *values, limit))


def _conditions(wanted: SearchFilter) -> tuple[str, Sequence[Any]]:
    given: dict[str, Sequence[Any]] = {}
    if wanted.project:
        given["s.project = ?"] = (wanted.project,)
    if wanted.role:
        given["i.role = ?"] = (wanted.role,)
    if wanted.archived is not None:
        given["s.archived = ?"] = (wanted.archived,)
    if wanted.owner is not None:
        given["s.owner = ?"] = (wanted.owner,)
    if wanted.seen_by is not None:
        given[_SEEN] = (wanted.seen_by, wanted.seen_by)
    values = [value for one in given.values() for value in one]
    return "".join(f"AND {condition} " for condition in given), values


_SEEN = "(s.owner = ? OR EXISTS (SELECT 1 FROM json_each(s.readers) WHERE value = ?))"

"""Sessions as rows, blocks as numbered JSON: the statements a transaction is made of."""

import logging
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import msgspec

from shipmate.database import usage
from shipmate.database.connection import Connection
from shipmate.database.integrity import SESSION_HASHED, row_hash
from shipmate.database.patched import patched
from shipmate.database.searching import index_block, index_title
from shipmate.database.store import Kept, Saved, SessionFilter, Written
from shipmate.errors import NotFoundError, ShipmateError
from shipmate.protocol import (
    AnyBlock,
    ContextUsage,
    Message,
    SessionRow,
    User,
    clean,
    decode_kept,
    encode,
)

log = logging.getLogger(__name__)

_COLUMNS = (
    "id, agent, provider, project, title, bypass_approval, archived, status, pending_approval, "
    "pending_question, created_at, updated_at, last_seq, tokens, context_tokens, context_max, "
    "context_source, error, untrusted, owner, readers, pinned"
)
_HASHED_AT = [_COLUMNS.split(", ").index(name) for name in SESSION_HASHED.split(", ")]
_PLAIN = frozenset(
    {
        *("agent", "provider", "project", "title", "bypass_approval", "archived", "status"),
        *("pending_approval", "pending_question", "error", "created_at", "updated_at", "owner"),
        *("untrusted", "pinned"),
    }
)
_SAVE = """
INSERT INTO blocks (session, id, pos, seq, type, body, hash) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (session, id) DO UPDATE
SET seq = excluded.seq, type = excluded.type, body = excluded.body, hash = excluded.hash
"""


def now() -> int:
    """Milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000


def to_row(columns: Sequence[Any]) -> SessionRow:
    names = SessionRow.__struct_fields__[:14]
    fields = dict(zip(names, columns[:14], strict=True))
    fields["bypass_approval"] = bool(fields["bypass_approval"])
    fields["archived"] = bool(fields["archived"])
    error, untrusted, owner, readers, pinned = columns[17:]
    return SessionRow(
        **fields,
        context_usage=_usage(*columns[14:17]),
        error=error,
        untrusted=bool(untrusted),
        owner=owner,
        readers=_readers(readers),
        pinned=bool(pinned),
    )


_readers = msgspec.json.Decoder(tuple[str, ...]).decode


def _usage(tokens: int, window: int, source: Literal["api", "estimate"]) -> ContextUsage | None:
    if not window:
        return None
    percent = round(100 * tokens / window, 1)
    return ContextUsage(tokens=tokens, max=window, percent=percent, source=source)


def unknown(session: str) -> NotFoundError:
    return NotFoundError(f"There is no session {session!r}. It may have been deleted.")


def insert_session(db: Connection, row: SessionRow) -> SessionRow:
    """The row as it is kept; the one that stands where its id is known."""
    row = msgspec.structs.replace(row, created_at=now(), updated_at=now())
    db.execute(
        "INSERT INTO sessions (id, agent, provider, project, title, bypass_approval, created_at, "
        "updated_at, owner) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        (
            *(row.id, row.agent, row.provider, row.project, row.title),
            *(row.bypass_approval, row.created_at, row.updated_at, row.owner),
        ),
    )
    hash_sessions(db, row.id)
    kept = read_session(db, row.id)
    index_title(db, kept.id, kept.title, kept.created_at)
    return kept


def hash_sessions(db: Connection, session: str = "") -> None:
    """Hash a session's row anew, or all of them."""
    query = f"SELECT id, {SESSION_HASHED} FROM sessions WHERE ? = '' OR id = ?"  # noqa: S608 - fixed names
    for name, *values in db.execute(query, (session, session)).fetchall():
        db.execute("UPDATE sessions SET hash = ? WHERE id = ?", (row_hash(*values), name))


def hold(db: Connection, session: str) -> None:
    """Keep other writers from the session until the transaction ends: what is read of it now is
    still so when it is changed."""
    db.execute("UPDATE sessions SET id = id WHERE id = ?", (session,))


def read_session(db: Connection, session: str) -> SessionRow:
    found = db.execute(f"SELECT {_COLUMNS} FROM sessions WHERE id = ?", (session,)).fetchone()  # noqa: S608 - fixed names
    if found is None:
        raise unknown(session)
    return to_row(found)


def read_sessions(db: Connection, sessions: Collection[str]) -> dict[str, SessionRow]:
    names = encode(list(sessions)).decode()
    query = f"SELECT {_COLUMNS} FROM sessions WHERE id IN (SELECT value FROM json_each(?))"  # noqa: S608 - fixed names
    rows = (to_row(found) for found in db.execute(query, (names,)))
    return {row.id: row for row in rows}


SEEN = "(owner = ? OR EXISTS (SELECT 1 FROM json_each(readers) WHERE value = ?))"
"""A person's own sessions, and those that are shared with them."""


def list_sessions(db: Connection, wanted: SessionFilter) -> list[SessionRow]:
    conditions: dict[str, Any] = {}
    if wanted.project:
        conditions["project = ?"] = wanted.project
    if wanted.archived is not None:
        conditions["archived = ?"] = wanted.archived
    if wanted.pinned is not None:
        conditions["pinned = ?"] = wanted.pinned
    if wanted.status:
        conditions["status = ?"] = wanted.status
    if wanted.owner is not None:
        conditions["owner = ?"] = wanted.owner
    values = list(conditions.values())
    if wanted.seen_by is not None:
        conditions[SEEN] = None
        values += [wanted.seen_by, wanted.seen_by]
    if wanted.before:
        conditions["(updated_at, id) < (?, ?)"] = None
        values += wanted.before
    where = " AND ".join(conditions) or "true"
    query = (
        f"SELECT {_COLUMNS} FROM sessions WHERE {where} ORDER BY updated_at DESC, id DESC LIMIT ?"  # noqa: S608 - fixed names
    )
    return [to_row(row) for row in db.execute(query, (*values, wanted.limit))]


def list_waiting(db: Connection) -> list[SessionRow]:
    """Sessions in which something waits for the user."""
    query = (
        f"SELECT {_COLUMNS} FROM sessions WHERE pending_approval != '' OR pending_question != ''"  # noqa: S608 - fixed names
    )
    return [to_row(columns) for columns in db.execute(query)]


def update_session(
    db: Connection, session: str, changes: Mapping[str, Any], blocks: int
) -> SessionRow:
    """Change the row and take `blocks` numbers; unknown when the session was deleted."""
    fields: dict[str, Any] = {"last_seq = last_seq + ?": blocks, "updated_at = ?": now()}
    for name, value in changes.items():
        if name == "add_tokens":
            fields["tokens = tokens + ?"] = value
        elif name == "context_usage":
            fields |= {
                "context_tokens = ?": value.tokens,
                "context_max = ?": value.max,
                "context_source = ?": value.source,
            }
        elif name == "readers":
            fields["readers = ?"] = encode(value).decode()
        elif name == "usage":
            pass  # in a table of its own, see `write_blocks`
        elif name in _PLAIN:
            fields[f"{name} = ?"] = clean(value) if isinstance(value, str) else value
        else:
            raise ValueError(f"a session row has no field {name!r}")
    statement = f"UPDATE sessions SET {', '.join(fields)} WHERE id = ? RETURNING {_COLUMNS}"  # noqa: S608 - fixed names
    found = db.execute(statement, (*fields.values(), session)).fetchone()
    if found is None:
        raise unknown(session)
    values = row_hash(*(found[at] for at in _HASHED_AT))
    db.execute("UPDATE sessions SET hash = ? WHERE id = ?", (values, session))
    row = to_row(found)
    index_title(db, session, row.title, row.created_at)
    return row


def write_blocks(
    db: Connection, session: str, blocks: Sequence[AnyBlock], changes: Mapping[str, Any]
) -> Written:
    row = update_session(db, session, changes, len(blocks))
    if spent := changes.get("usage"):
        usage.add(db, session, spent)
    first = row.last_seq - len(blocks) + 1
    saved = [_save(db, session, block, first + i, row.updated_at) for i, block in enumerate(blocks)]
    return Written(tuple(saved), row)


def _save(db: Connection, session: str, block: AnyBlock, seq: int, at: int) -> Saved:
    pos = block.pos or _place(db, session, block.id) or seq
    block = msgspec.structs.replace(block, session=session, pos=pos, seq=seq, at=block.at or at)
    body = encode(block)
    values = (session, block.id, pos, seq, block.__struct_config__.tag, body)
    db.execute(_SAVE, (*values, row_hash(*values)))
    index_block(db, session, block)
    if isinstance(block, Message):
        db.execute("DELETE FROM live_text WHERE session = ? AND message = ?", (session, block.id))
    elif isinstance(block, User):
        db.execute("DELETE FROM queue WHERE session = ? AND id = ?", (session, block.id))
    return Saved(block, body)


def _place(db: Connection, session: str, block: str) -> int:
    query = "SELECT pos FROM blocks WHERE session = ? AND id = ?"
    found = db.execute(query, (session, block)).fetchone()
    return found[0] if found else 0


def read_block(db: Connection, session: str, block: str) -> AnyBlock:
    read_session(db, session)
    query = "SELECT body FROM blocks WHERE session = ? AND id = ?"
    found = db.execute(query, (session, block)).fetchone()
    if found is None:
        raise NotFoundError(f"There is no {block!r} in session {session!r}.")
    if (decoded := decode_kept(found[0])) is None:
        raise ShipmateError(f"This version does not know what {block!r} is; it can only be shown.")
    return decoded


def read_blocks(db: Connection, tail: str, *values: Any, size: int = 1 << 62) -> list[Kept]:
    """`size`: bytes after which no more are read."""
    query = f"SELECT pos, seq, type, body FROM blocks WHERE session = ? {tail}"  # noqa: S608 - ours
    found: list[Kept] = []
    for pos, seq, kind, body in db.execute(query, values):
        if _is_json(body):
            found.append(Kept(pos, seq, kind, patched(kind, body)))
            size -= len(body)
            if size <= 0:
                break
    return found


def read_several(db: Connection, wanted: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Kept]:
    """Blocks by session and id; those that are gone are left out."""
    found: dict[tuple[str, str], Kept] = {}
    for session, block in wanted:
        for kept in read_blocks(db, "AND id = ?", session, block):
            found[session, block] = kept
    return found


def _is_json(body: bytes) -> bool:
    """One damaged block must not break the answer that it is a part of."""
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except msgspec.DecodeError as error:
        log.warning("a damaged block is left out (%s); see: shipmate doctor --integrity", error)
        return False
    return True


def fill_session(db: Connection, row: SessionRow, blocks: Sequence[tuple[str, Kept]]) -> SessionRow:
    """A new session with blocks that are numbered already; the one that stands where its id is
    known."""
    if db.execute("SELECT 1 FROM sessions WHERE id = ?", (row.id,)).fetchone():
        return read_session(db, row.id)
    insert_session(db, row)
    values = [(row.id, block, k.pos, k.seq, k.type, k.json) for block, k in blocks]
    db.executemany(_SAVE, [(*v, row_hash(*v)) for v in values])
    db.execute("INSERT INTO unindexed (session) VALUES (?) ON CONFLICT DO NOTHING", (row.id,))
    changes = {
        "created_at": row.created_at or now(),
        "add_tokens": row.tokens,
        "untrusted": row.untrusted,
    }
    last = max((max(kept.pos, kept.seq) for _, kept in blocks), default=0)
    return update_session(db, row.id, changes, last)

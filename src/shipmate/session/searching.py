"""Words looked for in all conversations: the messages that have them, the conversations."""

import asyncio
import logging
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import msgspec

from shipmate.database.query import Term
from shipmate.database.store import Indexing, Kept, Match, SearchFilter, Store
from shipmate.database.texts import texts
from shipmate.errors import ShipmateError
from shipmate.protocol import Attachment, SessionRow, ToolResult, decode_kept
from shipmate.session.excerpts import Excerpt, excerpt, marks

log = logging.getLogger(__name__)

Order: TypeAlias = Literal["best", "newest"]
WEIGHED = 200
"""Matches, the newest first, that are put in the order of how well they fit."""
PAUSE_S = 0.01
"""Between pieces of what is indexed afterwards: what people wait for goes before."""
_CURSOR = re.compile(r"([0-9]{1,19})-([0-9]{1,3})")


class CursorError(ShipmateError):
    status = 422
    code = "invalid"


class SearchHit(msgspec.Struct, frozen=True):
    """A block that has the words."""

    session: str
    title: str
    project: str
    archived: bool
    owner: str
    block: str
    pos: int
    type: str
    role: str
    at: int
    untrusted: bool
    """Strangers wrote it, or the session has read what they wrote."""
    snippet: Excerpt


class SearchAnswer(msgspec.Struct, frozen=True):
    hits: list[SearchHit]
    cursor: str
    """For the next page; empty at the end."""
    indexing: Indexing | None
    """What was there before and cannot be found yet; null when there is nothing."""


class SessionHit(msgspec.Struct, frozen=True):
    session: SessionRow
    marks: list[tuple[int, int]]
    """Of what stands in the title."""
    hit: SearchHit | None
    """The newest message that has the words; null where they are in the title alone."""


class SessionsAnswer(msgspec.Struct, frozen=True):
    sessions: list[SessionHit]
    """Those whose titles have the words first, then by the newest message that has them."""
    cursor: str
    indexing: Indexing | None


async def search(
    store: Store, wanted: SearchFilter, *, order: Order = "best", cursor: str = ""
) -> SearchAnswer:
    """`wanted.limit` of the messages that fit. The best are the best of each `WEIGHED`."""
    before, offset = _place(cursor)
    limit = wanted.limit
    size = WEIGHED if order == "best" else limit + 1
    found = await store.search(replace(wanted, before=before, limit=size))
    ranked = ranking(found, wanted.terms) if order == "best" else found
    page = ranked[offset : offset + limit]
    answer = SearchAnswer(await _hits(store, page, wanted.terms), "", await store.indexing())
    if len(ranked) > offset + limit and order == "best":
        return msgspec.structs.replace(answer, cursor=f"{before}-{offset + limit}")
    if len(found) == size:
        last = found[-1] if order == "best" else page[-1]
        return msgspec.structs.replace(answer, cursor=f"{last.id}-0")
    return answer


async def search_sessions(
    store: Store, wanted: SearchFilter, *, cursor: str = ""
) -> SessionsAnswer:
    """`wanted.limit` of the conversations in whose title or messages the words are."""
    _, offset = _place(cursor)
    most = offset + wanted.limit + 1
    titled = await store.search_titles(replace(wanted, limit=most)) if not wanted.role else []
    found = await store.search_sessions(replace(wanted, limit=most + len(titled)))
    newest = {match.session: match for match in found}
    order = list(dict.fromkeys([*(m.session for m in titled), *newest]))
    page = order[offset : offset + wanted.limit]
    hits = await _hits(store, [newest[one] for one in page if one in newest], wanted.terms)
    by_session = {hit.session: hit for hit in hits}
    rows = await store.sessions_named(page)
    return SessionsAnswer(
        [
            SessionHit(rows[one], marks(rows[one].title, wanted.terms), by_session.get(one))
            for one in page
            if one in rows
        ],
        f"0-{offset + wanted.limit}" if len(order) > offset + wanted.limit < 1000 else "",
        await store.indexing(),
    )


def _place(cursor: str) -> tuple[int, int]:
    if not cursor:
        return 0, 0
    parts = _CURSOR.fullmatch(cursor)
    if parts is None or int(parts[1]) >= 1 << 62:
        raise CursorError("The query does not fit: `cursor` is none we gave.")
    return int(parts[1]), int(parts[2])


def ranking(found: Sequence[Match], terms: Sequence[Term]) -> list[Match]:
    """The best first; of those that fit alike, the newest."""
    phrase = " ".join(part for term in terms for part in term.parts)
    scores = {
        one.id: _score(one, terms, phrase) - place / (2 * WEIGHED)
        for place, one in enumerate(found)
    }
    return sorted(found, key=lambda one: -scores[one.id])


def _score(match: Match, terms: Sequence[Term], phrase: str) -> float:
    words = f" {match.words} "
    score = 2.0 if len(terms) > 1 and f" {phrase}" in words else 0.0
    for term in terms:
        exact = f" {' '.join(term.parts)} "
        score += 1.0 if exact in words else 0.0
        score += 0.25 * math.log1p(words.count(exact.rstrip()))
    score += {"user": 0.6, "assistant": 0.3}.get(match.role, 0.0)
    return score + 0.3 * math.exp(-len(words) / 2000)


async def _hits(store: Store, found: Sequence[Match], terms: Sequence[Term]) -> list[SearchHit]:
    if not found:
        return []
    blocks = await store.blocks([(one.session, one.block) for one in found])
    rows = await store.sessions_named({one.session for one in found})
    made = [
        (rows[one.session], one, kept)
        for one in found
        if (kept := blocks.get((one.session, one.block))) and one.session in rows
    ]
    return await asyncio.to_thread(lambda: [_hit(row, one, kept, terms) for row, one, kept in made])


def _hit(row: SessionRow, match: Match, kept: Kept, terms: Sequence[Term]) -> SearchHit:
    block = decode_kept(kept.json)
    strange = isinstance(block, ToolResult) and block.untrusted
    strange |= isinstance(block, Attachment) and block.kind in ("issue", "pull_request")
    return SearchHit(
        session=row.id,
        title=row.title,
        project=row.project,
        archived=row.archived,
        owner=row.owner,
        block=match.block,
        pos=kept.pos,
        type=kept.type,
        role=match.role,
        at=block.at if block else 0,
        untrusted=strange or row.untrusted,
        snippet=excerpt(texts(block) if block else (), terms),
    )


async def index_all(store: Store) -> None:
    """Index what was there before, piece by piece; it goes on where the last start ended."""
    more = True
    while more:
        more = await store.index_piece()
        await asyncio.sleep(PAUSE_S)


async def keep_indexed(store: Store) -> None:
    """The same, and then each session that is filled at once: an import, a branch."""
    if begun := await store.indexing():
        log.info("%s conversations become searchable", begun.left)
    while True:
        await index_all(store)
        await store.to_index()

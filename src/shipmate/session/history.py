"""What an agent finds of the past: its own project's conversations, and its own user's alone."""

import time

from shipmate.database.query import MOST_CHARACTERS, parse
from shipmate.database.store import SearchFilter, Store
from shipmate.protocol import MatchesDetail, SessionRow
from shipmate.session.searching import SearchHit, search
from shipmate.tools.tool import ToolError, ToolOutput


async def past(store: Store, row: SessionRow, query: str, role: str, limit: int) -> ToolOutput:
    """Excerpts of what has the words. Untrusted where one of them is."""
    terms = parse(query[:MOST_CHARACTERS])
    if not terms:
        raise ToolError("`query` has no word to look for, only signs.")
    wanted = SearchFilter(terms=terms, project=row.project, role=role, owner=row.owner, limit=limit)
    found = await search(store, wanted)
    told = [_line(hit, here=hit.session == row.id) for hit in found.hits]
    if not told:
        told = ["Nothing was found in this project's conversations."]
    if found.cursor:
        told.append("There is more: give more words, or a higher `maxResults`.")
    if found.indexing:
        told.append("Older conversations are still being indexed: look again later.")
    return ToolOutput(
        "\n".join(told),
        details=MatchesDetail(count=len(found.hits), what="hits", more=bool(found.cursor)),
        untrusted=any(hit.untrusted for hit in found.hits),
    )


def _line(hit: SearchHit, *, here: bool) -> str:
    where = "this conversation" if here else f"{hit.title or 'untitled'} (session {hit.session})"
    day = time.strftime("%Y-%m-%d", time.gmtime(hit.at / 1000))
    return f"{day}, {hit.role}, {where}, block {hit.pos}: {hit.snippet.text}"

"""Words looked for in all conversations that one may see."""

from typing import Annotated, Literal

from msgspec import Meta

from shipmate.database.query import MOST_CHARACTERS, parse
from shipmate.database.store import SearchFilter
from shipmate.errors import NotFoundError
from shipmate.handlers.errors import HttpError
from shipmate.handlers.reach import listing, project_named
from shipmate.handlers.route import Answer, Call, Input, endpoint
from shipmate.session.searching import (
    Order,
    SearchAnswer,
    SessionsAnswer,
    search,
    search_sessions,
)

LATEST = 2**53


class SearchSessions(Input, frozen=True, kw_only=True):
    q: Annotated[str, Meta(max_length=MOST_CHARACTERS)]
    """Words, beginnings of words, "phrases", as they are typed: no sign is an error."""
    project: str = ""
    """By id or name."""
    role: Literal["", "user", "assistant", "tool", "system"] = ""
    """Who says it."""
    since: Annotated[int, Meta(ge=0, le=LATEST)] = 0
    until: Annotated[int, Meta(ge=0, le=LATEST)] = 0
    """Milliseconds since 1970 UTC; 0: whenever."""
    archived: Literal["false", "true", "all"] = "all"
    owner: str = ""
    """A user's name; `all`: all one may see; empty: one's own, and those shared with one."""
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    cursor: str = ""
    """From the answer before; empty: from the first."""


class Search(SearchSessions, frozen=True, kw_only=True):
    order: Order = "best"


@endpoint("GET", "/api/agent/search", scope="read", query=Search, answer=SearchAnswer)
async def search_messages(call: Call[Search]) -> Answer:
    """Messages, calls and results that have the words, each with where it is and an excerpt."""
    asked = call.given
    store = call.house.executor.store
    return await search(store, _wanted(call), order=asked.order, cursor=asked.cursor)


@endpoint(
    "GET", "/api/agent/search/sessions", scope="read", query=SearchSessions, answer=SessionsAnswer
)
async def search_for_sessions(call: Call[SearchSessions]) -> Answer:
    """Sessions in whose title or content the words are."""
    store = call.house.executor.store
    return await search_sessions(store, _wanted(call), cursor=call.given.cursor)


def _wanted(call: Call[Search] | Call[SearchSessions]) -> SearchFilter:
    asked = call.given
    owner, seen_by = listing(call.caller, asked.owner)
    if asked.until and asked.until < asked.since:
        raise HttpError(422, "invalid", "The query does not fit: `until` is before `since`.")
    return SearchFilter(
        terms=parse(asked.q),
        project=_project(call, asked.project),
        role=asked.role,
        since=asked.since,
        until=asked.until,
        archived={"false": False, "true": True, "all": None}[asked.archived],
        owner=owner,
        seen_by=seen_by,
        limit=asked.limit,
    )


def _project(call: Call[Search] | Call[SearchSessions], wanted: str) -> str:
    """Its id; a project that was removed is still named by its sessions."""
    try:
        return project_named(call, wanted) if wanted else ""
    except NotFoundError:
        return wanted

"""`shipmate search`: through the running server, or in the database itself."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import typer

from shipmate.cli.either import either
from shipmate.cli.server_file import Running, call
from shipmate.config import Config
from shipmate.config.directory import data_directory
from shipmate.database.query import MOST_CHARACTERS, parse
from shipmate.database.sql_store import SqlStore
from shipmate.database.store import SearchFilter
from shipmate.errors import NotFoundError, ShipmateError
from shipmate.safety.unseen import visible
from shipmate.session.projects import find_project
from shipmate.session.searching import SearchAnswer, SearchHit, search

NOTHING = 3
"""Exit status when nothing was found."""
_PATH = "/api/agent/search"
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Wanted:
    words: str
    project: str
    role: str
    days: int
    limit: int


def search_for(wanted: Wanted, data: Path | None, json: bool) -> int:
    words = wanted.words
    if not parse(words):
        raise ShipmateError(f"{words!r} has no word to look for; type letters or digits.")
    if len(words) > MOST_CHARACTERS:
        raise ShipmateError(f"The query has {len(words):,} characters; 1,000 are the most.")
    since = time.time_ns() // 1_000_000 - wanted.days * _DAY_MS if wanted.days else 0
    rest: dict[str, Any] = {"role": str(wanted.role), "since": since, "limit": wanted.limit}

    def there(server: Running) -> SearchAnswer:
        given = {"q": words, "project": wanted.project, "owner": "all", **rest}
        return msgspec.convert(call(server, "GET", f"{_PATH}?{urlencode(given)}"), SearchAnswer)

    async def here(store: SqlStore) -> SearchAnswer:
        project = _project(data, wanted.project)
        return await search(store, SearchFilter(parse(words), project, **rest))

    return _show(either(data, there, here), json)


def _show(found: SearchAnswer, json: bool) -> int:
    for hit in found.hits:
        typer.echo(msgspec.json.encode(hit) if json else _told(hit))
    if found.indexing:
        left = found.indexing.left
        typer.echo(f"{left} older conversations are still being indexed.", err=True)
    if not found.hits:
        typer.echo("Nothing was found.", err=True)
        return NOTHING
    if found.cursor and not json:
        typer.echo(f"There is more than these {len(found.hits)}; see --limit.", err=True)
    return 0


def _project(data: Path | None, wanted: str) -> str:
    try:
        return wanted and find_project(Config.load(data_directory(data)).settings.projects, wanted)
    except NotFoundError:
        return wanted  # it was removed; its conversations still name it


def _told(hit: SearchHit) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(hit.at / 1000))
    archived = " (archived)" if hit.archived else ""
    title = visible(hit.title or "untitled")
    text = visible(hit.snippet.text)
    return f"{hit.session} {hit.pos}  {when}  {hit.role}  {title}{archived}\n    {text}"

"""Requests to GitHub's API: signed in where there is a token, cached by ETag, within its limits.

Only the configured host is asked. What GitHub answered is kept with its ETag and asked for again
with `If-None-Match`; an answer "not modified" costs nothing of the rate limit. Once GitHub has
said that it takes no more requests, none is sent until the time that it named.
"""

import hashlib
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import msgspec

from shipmate.github.credentials import Credentials, Token
from shipmate.github.failures import GitHubError, RateLimitError, failure
from shipmate.github.settings import GitHubSettings, Place, place_of
from shipmate.network.client import Answer, Client
from shipmate.network.request import Request
from shipmate.safety.urls import read_url

MOST: Final = 20_000_000
"""Bytes of one answer, decoded."""
KEPT: Final = 32_000_000
"""Bytes of all answers that are kept."""
HEADERS: Final = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
_NEXT: Final = re.compile(r'<([^<>]*)>\s*;[^,<]*\brel="?next"?')
_CURSOR: Final = ("page", "after")

T = TypeVar("T")


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of GitHub's rate limit."""

    limit: int
    remaining: int
    resets_at: int
    """Seconds since 1970 UTC."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A success."""

    body: bytes
    next: str = ""
    """What to ask for the next page: `page=2`, or `after=…`; empty at the end."""
    etag: str = ""
    fresh: bool = True
    """False: it is what was kept, and GitHub says that it still holds."""


@dataclass(slots=True)
class Kept:
    """Answers by what was asked, and with whose token; the least used go first."""

    limit: int = KEPT
    size: int = 0
    answers: OrderedDict[tuple[str, str], Reply] = field(
        default_factory=OrderedDict[tuple[str, str], Reply]
    )

    def get(self, key: tuple[str, str]) -> Reply | None:
        if (found := self.answers.get(key)) is not None:
            self.answers.move_to_end(key)
        return found

    def put(self, key: tuple[str, str], reply: Reply) -> None:
        if (old := self.answers.pop(key, None)) is not None:
            self.size -= len(old.body)
        self.answers[key] = reply
        self.size += len(reply.body)
        while self.size > self.limit:
            _, gone = self.answers.popitem(last=False)
            self.size -= len(gone.body)


@dataclass(slots=True)
class GitHub:
    """One for the process."""

    client: Client
    settings: Callable[[], GitHubSettings]
    credentials: Credentials
    proxied: Callable[[], bool] = lambda: False
    """Whether a proxy is set up for the public network; github.com is reached by it."""
    clock: Callable[[], float] = time.time
    kept: Kept = field(default_factory=Kept)
    _rates: dict[tuple[str, str], Rate] = field(default_factory=dict[tuple[str, str], Rate])
    _closed: dict[tuple[str, str], RateLimitError] = field(
        default_factory=dict[tuple[str, str], RateLimitError]
    )
    """Limits that are reached, by token and kind of request."""

    @property
    def place(self) -> Place:
        return place_of(self.settings().base_url)

    async def token(self) -> Token:
        return await self.credentials.token(self.place)

    async def get(self, path: str, what: str, **query: Any) -> Reply:
        """`what` is asked for, in words. Raises `GitHubError` and `NetworkError`."""
        place, token = self.place, await self.token()
        url = f"{place.api}{path}{f'?{urlencode(query)}' if query else ''}"
        key = (_mark(token), url)
        kept = self.kept.get(key)
        extra = {"If-None-Match": kept.etag} if kept else {}
        request = Request(headers=extra, exempt=self.exempt(place))
        reply = await self._sent(url, request, token, what, kept)
        if reply.etag:
            self.kept.put(key, reply)
        return reply

    async def post(self, path: str, what: str, body: Mapping[str, Any]) -> Reply:
        place, token = self.place, await self.token()
        request = Request(
            method="POST",
            headers={"Content-Type": "application/json"},
            body=msgspec.json.encode(body),
            exempt=self.exempt(place),
        )
        return await self._sent(f"{place.api}{path}", request, token, what)

    async def rate(self, kind: str = "core") -> Rate | None:
        """As GitHub told it last; None before it has."""
        return self._rates.get((_mark(await self.token()), kind))

    def exempt(self, place: Place) -> frozenset[str]:
        return frozenset() if place.public and self.proxied() else place.exempt

    async def _sent(
        self, url: str, request: Request, token: Token, what: str, kept: Reply | None = None
    ) -> Reply:
        kind = "search" if urlsplit(url).path.endswith("/search/issues") else "core"
        limit = (_mark(token), kind)
        self._check_open(limit)
        signed = {"Authorization": f"Bearer {token.value}"} if token.value else {}
        request = replace(request, headers={**HEADERS, **signed, **request.headers})
        async with self.client.request(read_url(url, request.exempt), request) as answer:
            body = b"" if answer.status == 304 else await answer.read(MOST)
        self._note(limit, answer)
        if answer.status == 304 and kept is not None:
            return Reply(kept.body, kept.next, kept.etag, fresh=False)
        _check_whole(answer, request)
        if not 200 <= answer.status < 300:
            error = failure(answer, body, what, signed_in=token.source, now=self.clock())
            if isinstance(error, RateLimitError):
                self._closed[limit] = error
            raise error
        return Reply(body, _next(answer.headers.get("Link", "")), answer.headers.get("ETag", ""))

    def _check_open(self, limit: tuple[str, str]) -> None:
        closed = self._closed.get(limit)
        if closed is None:
            return
        now = self.clock()
        if now < closed.resets_at:
            raise RateLimitError(str(closed), closed.resets_at, now)
        del self._closed[limit]

    def _note(self, limit: tuple[str, str], answer: Answer) -> None:
        told = [answer.headers.get(f"X-RateLimit-{n}", "") for n in ("Limit", "Remaining", "Reset")]
        if all(one.isascii() and one.isdigit() and len(one) < 12 for one in told):
            most, left, resets = map(int, told)
            self._rates[limit] = Rate(limit=most, remaining=left, resets_at=resets)


def decoded(reply: Reply, kind: type[T]) -> T:
    """The answer as `kind`. An answer of another form is no GitHub's."""
    try:
        return msgspec.json.decode(reply.body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise GitHubError(
            f"The answer is not one of GitHub's API ({str(error)[:200]}); check base_url of "
            "[github]: of GitHub Enterprise it is https://HOST/api/v3."
        ) from error


def cursor_query(cursor: str) -> dict[str, str]:
    """The query of a cursor that we gave; `ValueError` for any other text."""
    pairs = dict(parse_qsl(cursor, keep_blank_values=True))
    if set(pairs) - set(_CURSOR) or (cursor and not pairs):
        raise ValueError("`cursor` is none we gave")
    return pairs


def part(name: str | int) -> str:
    """One part of a path."""
    return quote(str(name), safe="")


def _check_whole(answer: Answer, request: Request) -> None:
    place = answer.url.place
    if answer.elsewhere is not None:
        raise GitHubError(f"{place} points to {answer.elsewhere.place}, which is not asked.")
    if answer.hops and request.method != "GET":
        raise GitHubError(f"{place} says that the repository has moved; set its new name.")
    if answer.cut == "size":
        raise GitHubError(f"The answer of {place} has more than {MOST:,} bytes.")
    if answer.cut:
        raise GitHubError(f"The answer of {place} did not come whole. Try again.")


def _next(link: str) -> str:
    """The parts of `Link: <…>; rel="next"` that lead to the next page; the place is ours."""
    found = _NEXT.search(link)
    if found is None:
        return ""
    pairs = parse_qsl(urlsplit(found[1]).query)
    return urlencode([(name, value) for name, value in pairs if name in _CURSOR])


def _mark(token: Token) -> str:
    """Tells tokens apart without keeping them."""
    return hashlib.sha256(token.value.encode()).hexdigest()[:16] if token.value else ""

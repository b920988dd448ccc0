"""Issues and pull requests of a project's repository at GitHub."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from shipmate.github.client import Rate
from shipmate.github.items import Check, Comment, Detail, Item, Kind, Label, PullFiles, Review
from shipmate.github.remote import Source
from shipmate.github.repository import Repository, Wanted, Which
from shipmate.handlers.errors import HttpError
from shipmate.handlers.reach import repository_of
from shipmate.handlers.route import Answer, Call, Input, Nothing, endpoint

OF = "/api/github/{project}"
ISSUE = f"{OF}/issues/{{number}}"
PULL = f"{OF}/pulls/{{number}}"


class Connection(msgspec.Struct, frozen=True):
    repository: str
    """`owner/name`."""
    source: Source
    """The project's settings, or its git remote."""
    url: str
    signed_in: str
    """Where the token is from; empty: there is none, and only public repositories are read."""
    rate: Rate | None
    """As GitHub told it last."""


class FindIssues(Input, frozen=True, kw_only=True):
    kind: Kind | Literal["all"] = "all"
    state: Which = "open"
    search: Annotated[str, Meta(max_length=200)] = ""
    """Words of the title, or a number."""
    labels: Annotated[str, Meta(max_length=500)] = ""
    """Names, with commas in between; all of them."""
    cursor: Annotated[str, Meta(max_length=500)] = ""
    """From the answer before; empty: from the newest."""


class IssueList(msgspec.Struct, frozen=True):
    items: tuple[Item, ...]
    """By number, the highest first."""
    cursor: str
    """For the next page; empty at the end."""
    total: int
    """-1 where GitHub does not count them. Of more than 1,000 found only the newest are given."""
    rate: Rate | None


class Page(Input, frozen=True, kw_only=True):
    cursor: Annotated[str, Meta(max_length=500)] = ""


class Labels(msgspec.Struct, frozen=True):
    labels: tuple[Label, ...]


class Comments(msgspec.Struct, frozen=True):
    comments: tuple[Comment, ...]
    """The oldest first."""
    cursor: str


class IssueView(msgspec.Struct, frozen=True):
    issue: Detail
    comments: tuple[Comment, ...]
    cursor: str
    """For more comments."""


class Reviews(msgspec.Struct, frozen=True):
    reviews: tuple[Review, ...]
    comments: tuple[Comment, ...]
    """On lines of the diff."""


class Commit(Input, frozen=True, kw_only=True):
    sha: Annotated[str, Meta(pattern="^[0-9a-f]{7,64}$")]


class Checks(msgspec.Struct, frozen=True):
    checks: tuple[Check, ...]


async def _repository(call: Call[Any]) -> Repository:
    return (await repository_of(call, call.path["project"]))[0]


def _number(call: Call[Any]) -> int:
    text = call.path["number"]
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10):
        raise HttpError(404, "not_found", f"There is no issue {text[:40]!r}: it has a number.")
    return int(text)


@contextmanager
def _our_cursor() -> Generator[None]:
    """A cursor that is none of ours is the caller's mistake."""
    try:
        yield
    except ValueError as error:
        raise HttpError(422, "invalid", f"The query does not fit: {error}.") from error


@endpoint("GET", OF, scope="read", answer=Connection)
async def github_connection(call: Call[Nothing]) -> Answer:
    """Which repository is a project's, and what signs in there. 409: none is known."""
    repository, source = await repository_of(call, call.path["project"])
    github = repository.github
    token = await github.token()
    return Connection(
        str(repository.name), source, repository.url, token.source, await github.rate()
    )


@endpoint("GET", f"{OF}/issues", scope="read", query=FindIssues, answer=IssueList)
async def github_issues(call: Call[FindIssues]) -> Answer:
    """Issues and pull requests, the highest number first. What GitHub has sent before and says is
    still so is not sent again. 503: its rate limit is reached."""
    repository, asked = await _repository(call), call.given
    labels = tuple(filter(None, (one.strip() for one in asked.labels.split(","))))
    wanted = Wanted(
        kind=asked.kind,
        state=asked.state,
        search=asked.search,
        labels=labels,
        cursor=asked.cursor,
    )
    with _our_cursor():
        found = await repository.listing(wanted)
    rate = await repository.github.rate("search" if found.total >= 0 else "core")
    return IssueList(found.items, found.cursor, found.total, rate)


@endpoint("GET", f"{OF}/labels", scope="read", answer=Labels)
async def github_labels(call: Call[Nothing]) -> Answer:
    """The first 100 labels of the repository."""
    return Labels(await (await _repository(call)).labels())


@endpoint("GET", ISSUE, scope="read", answer=IssueView)
async def github_issue(call: Call[Nothing]) -> Answer:
    """An issue or a pull request, with its first 100 comments."""
    repository, number = await _repository(call), _number(call)
    detail = await repository.detail(number)
    return IssueView(detail, *await repository.comments(number))


@endpoint("GET", f"{ISSUE}/comments", scope="read", query=Page, answer=Comments)
async def github_comments(call: Call[Page]) -> Answer:
    """A page of the comments of an issue or a pull request."""
    repository = await _repository(call)
    with _our_cursor():
        return Comments(*await repository.comments(_number(call), call.given.cursor))


@endpoint("GET", f"{PULL}/files", scope="read", query=Page, answer=PullFiles)
async def github_files(call: Call[Page]) -> Answer:
    """The diff of a pull request, a page of files at a time."""
    repository = await _repository(call)
    with _our_cursor():
        return await repository.files(_number(call), call.given.cursor)


@endpoint("GET", f"{PULL}/reviews", scope="read", answer=Reviews)
async def github_reviews(call: Call[Nothing]) -> Answer:
    """The reviews of a pull request, and the comments on its lines."""
    return Reviews(*await (await _repository(call)).reviews(_number(call)))


@endpoint("GET", f"{PULL}/checks", scope="read", query=Commit, answer=Checks)
async def github_checks(call: Call[Commit]) -> Answer:
    """The results of the checks of a pull request's last commit, which `sha` names."""
    _number(call)
    return Checks(await (await _repository(call)).checks(call.given.sha))

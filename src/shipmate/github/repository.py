"""One repository at GitHub: what is asked of it, and what is written to it."""

import asyncio
import re
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import msgspec

from shipmate.github.client import GitHub, cursor_query, decoded, part
from shipmate.github.failures import InvalidError, NotThereError
from shipmate.github.items import (
    Check,
    Comment,
    Detail,
    Item,
    Kind,
    Label,
    PullFiles,
    Review,
)
from shipmate.github.patches import file_change
from shipmate.github.wire import (
    WireComment,
    WireFile,
    WireFound,
    WireItem,
    WireLabel,
    WireRepository,
    WireReview,
    WireRuns,
    WireStatuses,
)

PAGE: Final = 100
FEWEST: Final = 30
"""So many issues are looked for among issues and pull requests, which GitHub lists together."""
PAGES: Final = 5
REVIEWED: Final = 5
"""Pages of a pull request's reviews and of their comments."""
FOUND: Final = 1_000
"""More GitHub's search does not give."""
Which: TypeAlias = Literal["open", "closed", "all"]
_NUMBER: Final = re.compile(r"#?(\d{1,9})")


class Name(msgspec.Struct, frozen=True):
    owner: str
    name: str

    def __str__(self) -> str:
        return f"{self.owner}/{self.name}"


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which issues and pull requests."""

    kind: Kind | Literal["all"] = "all"
    state: Which = "open"
    search: str = ""
    """Words of the title, or a number."""
    labels: tuple[str, ...] = ()
    cursor: str = ""


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    items: tuple[Item, ...]
    """By number, the highest first."""
    cursor: str = ""
    """For the next page; empty at the end."""
    total: int = -1
    """How many there are, where GitHub counts them; of more than 1,000 the newest are given."""


@dataclass(frozen=True, slots=True)
class Repository:
    github: GitHub
    name: Name

    @property
    def path(self) -> str:
        return f"/repos/{part(self.name.owner)}/{part(self.name.name)}"

    @property
    def url(self) -> str:
        return f"{self.github.place.web}/{self.name}"

    async def about(self) -> WireRepository:
        return decoded(await self.github.get(self.path, f"repository {self.name}"), WireRepository)

    # --- lists ----------------------------------------------------------------------------

    async def listing(self, wanted: Wanted) -> Listing:
        if number := _NUMBER.fullmatch(wanted.search.strip()):
            return await self._one(int(number[1]), wanted)
        if wanted.search.strip() or (wanted.kind == "pull_request" and wanted.labels):
            return await self._found(wanted)
        if wanted.kind == "issue":
            return await self._issues_only(wanted)
        return await self._page(wanted)

    async def _page(self, wanted: Wanted) -> Listing:
        pulls = wanted.kind == "pull_request"
        labels = {"labels": ",".join(wanted.labels)} if wanted.labels else {}
        reply = await self.github.get(
            f"{self.path}/{'pulls' if pulls else 'issues'}",
            f"repository {self.name}",
            **{"state": wanted.state, "sort": "created", "direction": "desc", "per_page": PAGE},
            **labels,
            **cursor_query(wanted.cursor),
        )
        return Listing(items=_sorted(decoded(reply, list[WireItem])), cursor=reply.next)

    async def _issues_only(self, wanted: Wanted) -> Listing:
        """GitHub lists both together: pages are read until some issues are among them."""
        found: list[Item] = []
        for _ in range(PAGES):
            page = await self._page(msgspec.structs.replace(wanted, kind="all"))
            found += [one for one in page.items if one.kind == "issue"]
            wanted = msgspec.structs.replace(wanted, cursor=page.cursor)
            if len(found) >= FEWEST or not page.cursor:
                break
        return Listing(items=tuple(found), cursor=wanted.cursor)

    async def _found(self, wanted: Wanted) -> Listing:
        kind = {"issue": ["is:issue"], "pull_request": ["is:pr"], "all": []}[wanted.kind]
        state = [f"state:{wanted.state}"] if wanted.state != "all" else []
        labels = [f"label:{_quoted(label)}" for label in wanted.labels]
        words = [_quoted(word) for word in wanted.search.split()]
        query = " ".join([f"repo:{self.name}", *kind, *state, *labels, "in:title", *words])
        reply = await self.github.get(
            "/search/issues",
            f"repository {self.name}",
            **{"q": query, "sort": "created", "order": "desc", "per_page": PAGE},
            **cursor_query(wanted.cursor),
        )
        found = decoded(reply, WireFound)
        return Listing(items=_sorted(found.items), cursor=reply.next, total=found.total_count)

    async def _one(self, number: int, wanted: Wanted) -> Listing:
        try:
            item = (await self._wire(number, "issue")).item()
        except NotThereError:
            return Listing(items=(), total=0)
        opened = item.state in ("open", "draft")
        fits = wanted.kind in ("all", item.kind) and wanted.state in (
            "all",
            "open" if opened else "closed",
        )
        return Listing(items=(item,) if fits else (), total=int(fits))

    async def labels(self) -> tuple[Label, ...]:
        """The first 100 of them."""
        reply = await self.github.get(f"{self.path}/labels", "labels", per_page=PAGE)
        wire = decoded(reply, list[WireLabel])
        return tuple(Label(one.name or "", one.color or "") for one in wire)

    # --- one of them ----------------------------------------------------------------------

    async def detail(self, number: int) -> Detail:
        wire = await self._wire(number, "issue")
        if not wire.is_pull:
            return wire.detail()
        pull = (await self._wire(number, "pull_request")).detail()
        return msgspec.structs.replace(pull, comments=wire.comments)

    async def comments(self, number: int, cursor: str = "") -> tuple[tuple[Comment, ...], str]:
        """A page of them, the oldest first, and the cursor of the next one."""
        reply = await self.github.get(
            f"{self.path}/issues/{number}/comments",
            f"issue {self.name}#{number}",
            per_page=PAGE,
            **cursor_query(cursor),
        )
        found = decoded(reply, list[WireComment])
        return tuple(one.comment() for one in found), reply.next

    async def files(self, number: int, cursor: str = "") -> PullFiles:
        reply = await self._of_pull(number, "files", cursor)
        changes = tuple(map(file_change, decoded(reply, list[WireFile])))
        return PullFiles(changes, reply.next)

    async def reviews(self, number: int) -> tuple[tuple[Review, ...], tuple[Comment, ...]]:
        """The verdicts of a pull request, and the comments on its lines, the oldest first."""
        verdicts, comments = await asyncio.gather(
            self._all_of_pull(number, "reviews", list[WireReview]),
            self._all_of_pull(number, "comments", list[WireComment]),
        )
        reviews = tuple(one.review() for page in verdicts for one in page)
        return reviews, tuple(one.comment() for page in comments for one in page)

    async def checks(self, sha: str) -> tuple[Check, ...]:
        """Of a commit: runs of GitHub Actions and apps, and the statuses of older services."""
        if not re.fullmatch(r"[0-9a-f]{7,64}", sha):
            raise InvalidError("A commit is named by its hexadecimal id.")
        where = f"{self.path}/commits/{sha}"
        runs, statuses = await asyncio.gather(
            self.github.get(f"{where}/check-runs", f"commit {sha[:10]}", per_page=PAGE),
            self.github.get(f"{where}/status", f"commit {sha[:10]}", per_page=PAGE),
        )
        made = [one.check() for one in decoded(runs, WireRuns).check_runs]
        told = [one.check() for one in decoded(statuses, WireStatuses).statuses]
        return (*made, *told)

    # --- what is written ------------------------------------------------------------------

    async def comment(self, number: int, body: str) -> Comment:
        reply = await self.github.post(
            f"{self.path}/issues/{number}/comments", f"issue {self.name}#{number}", {"body": body}
        )
        return decoded(reply, WireComment).comment()

    async def open_pull(
        self, *, title: str, body: str, head: str, base: str, draft: bool
    ) -> Detail:
        fields = {"title": title, "body": body, "head": head, "base": base, "draft": draft}
        reply = await self.github.post(f"{self.path}/pulls", f"repository {self.name}", fields)
        return decoded(reply, WireItem).detail()

    async def _wire(self, number: int, kind: Kind) -> WireItem:
        what = "issues" if kind == "issue" else "pulls"
        named = f"issue or pull request {self.name}#{number}"
        return decoded(await self.github.get(f"{self.path}/{what}/{number}", named), WireItem)

    async def _of_pull(self, number: int, what: str, cursor: str) -> Any:
        named = f"pull request {self.name}#{number}"
        query = {"per_page": PAGE, **cursor_query(cursor)}
        return await self.github.get(f"{self.path}/pulls/{number}/{what}", named, **query)

    async def _all_of_pull(self, number: int, what: str, kind: Any) -> list[Any]:
        pages: list[Any] = []
        cursor = ""
        for _ in range(REVIEWED):
            reply = await self._of_pull(number, what, cursor)
            pages.append(decoded(reply, kind))
            if not (cursor := reply.next):
                break
        return pages


def _sorted(wire: list[WireItem]) -> tuple[Item, ...]:
    items = {one.number: one.item() for one in wire}
    return tuple(items[number] for number in sorted(items, reverse=True))


def _quoted(word: str) -> str:
    """As one word of GitHub's search: nothing in it is an operator or a qualifier."""
    plain = word.replace("\\", " ").replace('"', " ").strip()
    return f'"{plain}"' if plain else ""

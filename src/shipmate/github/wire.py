"""GitHub's own forms, read with what is needed of them, each part as GitHub's description allows it
(`tests/github/shapes.json`): a deleted user is null, a body may be.
"""

from typing import Literal, TypeAlias

import msgspec

from shipmate.github.items import Check, Comment, Detail, Item, Label, Review, State
from shipmate.tools.output import clean


class WireUser(msgspec.Struct):
    login: str


class WireLabel(msgspec.Struct):
    name: str | None = None
    color: str | None = None


class _Merged(msgspec.Struct):
    merged_at: str | None = None


class _Milestone(msgspec.Struct):
    title: str


class _Ref(msgspec.Struct):
    label: str
    ref: str
    sha: str


class WireItem(msgspec.Struct):
    """`issue`, `issue-search-result-item`, `pull-request-simple` and `pull-request`."""

    number: int
    title: str
    state: str
    user: WireUser | None
    html_url: str
    labels: list[WireLabel | str]
    created_at: str
    updated_at: str
    comments: int = 0
    body: str | None = None
    draft: bool | None = None
    pull_request: _Merged | None = None
    merged_at: str | None = None
    assignees: list[WireUser] | None = None
    milestone: _Milestone | None = None
    head: _Ref | None = None
    base: _Ref | None = None
    additions: int = 0
    deletions: int = 0
    changed_files: int = 0

    @property
    def is_pull(self) -> bool:
        return self.pull_request is not None or self.head is not None

    @property
    def shown_state(self) -> State:
        if self.merged_at or (self.pull_request is not None and self.pull_request.merged_at):
            return "merged"
        if self.state != "open":
            return "closed"
        return "draft" if self.draft else "open"

    def item(self) -> Item:
        return Item(
            number=self.number,
            kind="pull_request" if self.is_pull else "issue",
            state=self.shown_state,
            title=clean(self.title),
            author=_login(self.user),
            labels=tuple(map(_label, self.labels)),
            comments=self.comments,
            created_at=self.created_at,
            updated_at=self.updated_at,
            url=self.html_url,
        )

    def detail(self) -> Detail:
        base, head = self.base, self.head
        near = base and head and base.label.partition(":")[0] == head.label.partition(":")[0]
        return Detail(
            **msgspec.structs.asdict(self.item()),
            body=clean(self.body or ""),
            assignees=tuple(one.login for one in self.assignees or ()),
            milestone=clean(self.milestone.title) if self.milestone else "",
            base=base.ref if base else "",
            head=(head.ref if near else head.label) if head else "",
            head_sha=head.sha if head else "",
            additions=self.additions,
            deletions=self.deletions,
            changed_files=self.changed_files,
        )


class WireFound(msgspec.Struct):
    total_count: int
    incomplete_results: bool
    items: list[WireItem]


class WireComment(msgspec.Struct):
    """`issue-comment` and `pull-request-review-comment`."""

    id: int
    html_url: str
    created_at: str
    user: WireUser | None
    body: str | None = None
    author_association: str | None = None
    path: str = ""
    line: int | None = None
    original_line: int | None = None
    diff_hunk: str = ""
    in_reply_to_id: int | None = None

    def comment(self) -> Comment:
        return Comment(
            id=self.id,
            author=_login(self.user),
            body=clean(self.body or ""),
            created_at=self.created_at,
            url=self.html_url,
            role=self.author_association or "NONE",
            path=clean(self.path),
            line=self.line or self.original_line or 0,
            hunk=clean(self.diff_hunk),
            answers=self.in_reply_to_id or 0,
        )


class WireReview(msgspec.Struct):
    state: str
    html_url: str
    user: WireUser | None
    body: str | None = None
    submitted_at: str | None = None

    def review(self) -> Review:
        return Review(
            author=_login(self.user),
            state=self.state,
            body=clean(self.body or ""),
            at=self.submitted_at or "",
            url=self.html_url,
        )


class WireFile(msgspec.Struct):
    """`diff-entry`."""

    filename: str
    status: str
    additions: int
    deletions: int
    patch: str | None = None
    previous_filename: str | None = None


class _Run(msgspec.Struct):
    name: str
    status: str
    conclusion: str | None = None
    html_url: str | None = None
    details_url: str | None = None

    def check(self) -> Check:
        state = _CONCLUDED.get(self.conclusion or "", "failed") if self.conclusion else "waiting"
        said = (self.conclusion or self.status).replace("_", " ")
        url = self.html_url or self.details_url or ""
        return Check(name=clean(self.name), state=state, said=said, url=url)


class WireRuns(msgspec.Struct):
    check_runs: list[_Run]


class _Status(msgspec.Struct):
    context: str
    state: str
    description: str | None = None
    target_url: str | None = None

    def check(self) -> Check:
        state = _STATUS.get(self.state, "failed")
        said = clean(self.description or self.state)
        return Check(name=clean(self.context), state=state, said=said, url=self.target_url or "")


class WireStatuses(msgspec.Struct):
    statuses: list[_Status]


class WireRepository(msgspec.Struct):
    full_name: str
    default_branch: str
    private: bool = False
    archived: bool | None = False


_Checked: TypeAlias = Literal["waiting", "passed", "failed", "skipped"]
_CONCLUDED: dict[str, _Checked] = {
    "success": "passed",
    "neutral": "skipped",
    "skipped": "skipped",
    "stale": "skipped",
}
_STATUS: dict[str, _Checked] = {"success": "passed", "pending": "waiting"}


def _login(user: WireUser | None) -> str:
    return user.login if user else ""


def _label(label: WireLabel | str) -> Label:
    if isinstance(label, str):
        return Label(clean(label), "")
    return Label(clean(label.name or ""), label.color or "")

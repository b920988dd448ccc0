"""An issue or a pull request as context of a message: what strangers wrote, within a limit."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from shipmate.github.items import Comment, Detail, Review
from shipmate.github.repository import Repository
from shipmate.protocol import Attachment, FileChange
from shipmate.tools.output import cut

MOST: Final = 40_000
"""Characters of all of it."""
BODY: Final = 16_000
DIFF: Final = 14_000
SAID: Final = 4_000
"""Of one comment."""


async def attachment(repository: Repository, number: int) -> Attachment:
    """As it stands now. Raises `GitHubError`."""
    detail = await repository.detail(number)
    comments, more = await repository.comments(number)
    parts = [head(detail), _body(detail)]
    if detail.kind == "pull_request":
        files, (reviews, remarks) = await asyncio.gather(
            repository.files(number), repository.reviews(number)
        )
        parts += [changes(files.files), verdicts(reviews), said(remarks)]
    parts.append(said(comments))
    text = "\n\n".join(part for part in parts if part)
    notice = ""
    if len(text) > MOST or more:
        text = cut(text, MOST)
        tool = "read_issue" if detail.kind == "issue" else "read_pull_request"
        notice = f"[Cut: this is not all of it. The rest: {tool} {{'number': {number}}}]\n"
    return Attachment(
        kind=detail.kind,
        name=f"{repository.name}#{number}",
        title=" ".join(detail.title.split()),
        text=notice + text,
    )


def head(detail: Detail) -> str:
    what = "Issue" if detail.kind == "issue" else "Pull request"
    lines = [
        f"{what} #{detail.number}: {' '.join(detail.title.split())}",
        f"State: {detail.state}. By {detail.author or 'a user who is gone'}, {detail.created_at}.",
    ]
    if detail.labels:
        lines.append(f"Labels: {', '.join(label.name for label in detail.labels)}")
    if detail.assignees:
        lines.append(f"Assigned to: {', '.join(detail.assignees)}")
    if detail.milestone:
        lines.append(f"Milestone: {detail.milestone}")
    if detail.base:
        changed = f"{detail.changed_files} files, +{detail.additions} -{detail.deletions}"
        lines.append(f"From {detail.head} into {detail.base}: {changed}")
    lines.append(detail.url)
    return "\n".join(lines)


def _body(detail: Detail) -> str:
    text = detail.body.strip()
    return text if len(text) <= BODY else f"{cut(text, BODY)}\n[Cut: {len(text):,} characters.]"


def said(comments: Sequence[Comment]) -> str:
    return "\n\n".join(f"{_line(one)}\n{_shortened(one.body)}" for one in comments)


def _line(one: Comment) -> str:
    place = f" on {one.path}:{one.line}" if one.path else ""
    return f"--- {one.author or 'a user who is gone'} ({one.role.lower()}){place}, {one.created_at}"


def verdicts(reviews: Iterable[Review]) -> str:
    lines = [
        f"--- Review by {one.author or 'a user who is gone'}: {one.state}\n{_shortened(one.body)}"
        for one in reviews
        if one.body or one.state not in ("COMMENTED", "PENDING")
    ]
    return "\n".join(line.rstrip() for line in lines)


def changes(files: Iterable[FileChange]) -> str:
    """The diff in the usual form."""
    lines: list[str] = []
    for file in files:
        lines.append(f"--- {file.was or file.path}\n+++ {file.path}")
        if file.note:
            lines.append(f"[{file.note}]")
        for hunk in file.hunks:
            lines.append(f"@@ -{hunk.old_start} +{hunk.new_start} @@")
            lines += hunk.lines
    text = "\n".join(lines)
    return text if len(text) <= DIFF else f"{cut(text, DIFF)}\n[The diff is cut.]"


def _shortened(text: str) -> str:
    text = text.strip()
    return text if len(text) <= SAID else f"{cut(text, SAID)}\n[Cut.]"

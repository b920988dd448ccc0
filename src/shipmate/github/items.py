"""Issues and pull requests, as they are told on."""

from typing import Literal, TypeAlias

import msgspec

from shipmate.protocol import FileChange

Kind: TypeAlias = Literal["issue", "pull_request"]
State: TypeAlias = Literal["open", "closed", "draft", "merged"]


class Label(msgspec.Struct, frozen=True):
    name: str
    color: str
    """Six hexadecimal digits."""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """An issue or a pull request as a list shows it."""

    number: int
    kind: Kind
    state: State
    title: str
    author: str
    """Empty: the user is gone."""
    labels: tuple[Label, ...]
    comments: int
    created_at: str
    updated_at: str
    url: str


class Detail(Item, frozen=True, kw_only=True):
    """One of them, whole."""

    body: str
    """Markdown, written by strangers."""
    assignees: tuple[str, ...]
    milestone: str
    base: str = ""
    """Of a pull request: the branch it goes to."""
    head: str = ""
    """Its own branch; `owner:branch` of another repository."""
    head_sha: str = ""
    additions: int = 0
    deletions: int = 0
    changed_files: int = 0


class Comment(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    author: str
    body: str
    created_at: str
    url: str
    role: str
    """Of its author: OWNER, MEMBER, CONTRIBUTOR, NONE, …"""
    path: str = ""
    """Of a review's comment: the file."""
    line: int = 0
    hunk: str = ""
    answers: int = 0
    """Id of the comment that it answers."""


class Review(msgspec.Struct, frozen=True, kw_only=True):
    author: str
    state: str
    """APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED, PENDING."""
    body: str
    at: str
    url: str


class Check(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    state: Literal["waiting", "passed", "failed", "skipped"]
    said: str
    """Its conclusion in GitHub's word, or what the service wrote."""
    url: str


class PullFiles(msgspec.Struct, frozen=True):
    files: tuple[FileChange, ...]
    cursor: str
    """For the next page; empty at the end."""

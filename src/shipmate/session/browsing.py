"""A person looks into a project's folder: by the rules of the tools that list and read."""

import os
from itertools import islice
from typing import Literal

from msgspec import Struct

from shipmate.errors import NotFoundError, ShipmateError
from shipmate.tools.decode import decode, decode_head, kind_of
from shipmate.tools.files import (
    NotThereError,
    check_regular,
    decide,
    file_errors,
    opened,
    read_descriptor,
    real_path,
)
from shipmate.tools.listing import Entry, walk
from shipmate.tools.tool import ToolError, Workspace

MAX_ENTRIES = 2_000
"""Of one folder."""
MAX_SHOWN = 1024 * 1024
"""Bytes of a file."""


class RefusedError(ShipmateError):
    status = 403
    code = "path"


class FolderEntry(Struct, frozen=True):
    name: str
    path: str
    """Below the project's folder, with `/`."""
    kind: Literal["folder", "file", "link", "other"]


class FolderView(Struct, frozen=True):
    path: str
    entries: list[FolderEntry]
    """Folders first, each by name."""
    hidden: int
    """Entries that .gitignore hides."""
    more: bool


class FileView(Struct, frozen=True):
    path: str
    size: int
    """Bytes."""
    text: str
    """Empty where `kind` says what it is instead of a text."""
    kind: str
    cut: bool
    """It is longer than `text`."""


def folder(work: Workspace, path: str) -> FolderView:
    try:
        _, relative = real_path(work, path or ".", "list")
        start = "" if relative == "." else relative
        walker = walk(work, start)
        found = list(islice(walker.entries(start, deep=False), MAX_ENTRIES + 1))
    except ToolError as error:
        raise _told(error) from error
    if walker.unreadable:
        raise RefusedError(f"The folder cannot be read: {', '.join(walker.unreadable)}.")
    entries = [_entry(one) for one in found[:MAX_ENTRIES]]
    entries.sort(key=lambda one: (one.kind != "folder", one.name.lower(), one.name))
    return FolderView(start, entries, walker.ignored, len(found) > MAX_ENTRIES)


def _entry(one: Entry) -> FolderEntry:
    kind = "link" if one.link else "folder" if one.folder else "file" if one.file else "other"
    return FolderEntry(one.relative.rpartition("/")[2], one.relative, kind)


def file(work: Workspace, path: str) -> FileView:
    """Of a file that agents have to ask for (a secret, by its name) nothing is given."""
    try:
        decision = decide(work, path, "read")
        if decision.verdict in {"ask", "ask_danger"}:
            raise RefusedError(f"{decision.reason}: open it in an editor of your own.")
        _, relative = real_path(work, path, "read")
        with file_errors(path), opened(work.root, relative, os.O_RDONLY) as descriptor:
            size = check_regular(descriptor, path).st_size
            data = read_descriptor(descriptor, MAX_SHOWN)
    except ToolError as error:
        raise _told(error) from error
    text = decode_head(data) if size > len(data) else decode(data)
    if text is None:
        return FileView(relative, size, "", kind_of(data), cut=False)
    return FileView(relative, size, text.text, "", cut=size > len(data))


def _told(error: ToolError) -> ShipmateError:
    kind = NotFoundError if isinstance(error, NotThereError) else RefusedError
    return kind(str(error))

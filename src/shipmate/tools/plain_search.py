"""Searches where there is no ripgrep: `python -m shipmate.tools.plain_search REQUEST`.

Takes a `Search` as JSON and answers as ripgrep does (`--json`, or `--files --null`). `re`
backtracks: whoever starts this ends it when it takes too long.
"""

import os
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from shipmate.tools.decode import decode
from shipmate.tools.files import check_regular, opened, read_descriptor
from shipmate.tools.listing import Walk, walk
from shipmate.tools.reading import shown_name
from shipmate.tools.ripgrep import Search
from shipmate.tools.tool import ToolError, Workspace

_BYTES = 50_000_000
"""Larger files are named as not searched."""


def main() -> int:
    search = msgspec.json.decode(sys.argv[1], type=Search)
    root = Path(search.root)
    work = Workspace(root, protected=tuple(root / folder for folder in search.protected))
    start = search.start.removeprefix("./")
    walker = walk(work, start, ignored=search.ignored)
    files = [start] if (root / start).is_file() else _files(walker, start, search)
    if search.query is None:
        for file in files:
            sys.stdout.buffer.write(b"./" + os.fsencode(file) + b"\0")
    else:
        return _matching(search, work, files)
    return _complain(walker.unreadable)


def _files(walker: Walk, start: str, search: Search) -> list[str]:
    found: list[str] = []
    for entry in walker.entries(start):
        name = entry.relative.rpartition("/")[2]
        dotted = any(part.startswith(".") for part in entry.relative.split("/"))
        wanted = not search.names or any(fnmatchcase(name, glob) for glob in search.names)
        if entry.file and name != ".git" and wanted and (search.dots or not dotted):
            found.append(entry.relative)
    return sorted(found, key=lambda path: path.split("/"))


def _matching(search: Search, work: Workspace, files: list[str]) -> int:
    query = search.query or ""
    flags = re.MULTILINE | (0 if search.case_sensitive else re.IGNORECASE)
    try:
        pattern = re.compile(query if search.regexp else re.escape(query), flags)
    except re.error as error:
        return _complain([f"regex parse error: {error}"])
    unread: list[str] = []
    for file in files:
        try:
            text = _text(work, file)
        except (OSError, ToolError) as error:
            unread.append(f"./{shown_name(file)}: {error}")
            continue
        for match in _matches(pattern, text):
            _write({"type": "match", "data": {"path": {"text": f"./{shown_name(file)}"}, **match}})
    _write({"type": "summary", "data": {"stats": {"searches": len(files)}}})
    return _complain(unread)


def _text(work: Workspace, file: str) -> str:
    """Of a binary file nothing is searched."""
    with opened(work.root, file, os.O_RDONLY) as descriptor:
        if check_regular(descriptor, file).st_size > _BYTES:
            raise ToolError(f"larger than {_BYTES:,} bytes")
        decoded = decode(read_descriptor(descriptor))
    return decoded.text.replace("\r\n", "\n") if decoded else ""


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[dict[str, Any]]:
    """One for each line with a match, its first."""
    number, counted, done = 1, 0, -1
    for match in pattern.finditer(text):
        begin = text.rfind("\n", 0, match.start()) + 1
        if begin <= done:
            continue
        number, counted, done = number + text.count("\n", counted, begin), begin, begin
        end = text.find("\n", match.end())
        line = text[begin : len(text) if end < 0 else end]
        offset = len(text[begin : match.start()].encode("utf-8", "replace"))
        length = len(match[0].encode("utf-8", "replace"))
        yield {
            "lines": {"text": line.encode("utf-8", "replace").decode()},
            "line_number": number,
            "submatches": [{"start": offset, "end": offset + length}],
        }


def _write(message: dict[str, Any]) -> None:
    """At once, so that what was found counts when the search is ended."""
    sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
    sys.stdout.buffer.flush()


def _complain(lines: list[str]) -> int:
    sys.stderr.write("".join(f"rg: {line}\n" for line in lines))
    return 2 if lines else 0


if __name__ == "__main__":
    sys.exit(main())

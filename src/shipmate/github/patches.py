"""The diff of a pull request, as GitHub gives it of each file, in the form the page shows."""

import re
from typing import Final, Literal

from shipmate.github.wire import WireFile
from shipmate.protocol import FileChange, Hunk
from shipmate.tools.output import clean

MOST_LINES: Final = 3_000
"""Of one file."""
LINE: Final = 2_000
"""Characters of a line."""
_HEAD: Final = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@")
_CHANGE: Final[dict[str, Literal["create", "modify", "delete", "rename"]]] = {
    "added": "create",
    "copied": "create",
    "removed": "delete",
    "renamed": "rename",
}


def file_change(file: WireFile) -> FileChange:
    hunks, cut = _hunks(file.patch or "")
    notes: list[str] = []
    if not hunks and file.additions + file.deletions:
        notes.append("GitHub does not show this diff: it is too large")
    elif not hunks and file.status in ("added", "modified", "changed"):
        notes.append("no text, or nothing but its mode has changed")
    if cut:
        notes.append("the diff is cut")
    return FileChange(
        path=clean(file.filename),
        change=_CHANGE.get(file.status, "modify"),
        was=clean(file.previous_filename or ""),
        added=file.additions,
        removed=file.deletions,
        hunks=hunks,
        note="; ".join(notes),
    )


def _hunks(patch: str) -> tuple[tuple[Hunk, ...], bool]:
    found: list[Hunk] = []
    lines: list[str] = []
    start = (0, 0)
    all_lines = patch.split("\n") if patch else []

    def close() -> None:
        if lines:
            found.append(Hunk(old_start=start[0], new_start=start[1], lines=tuple(lines)))

    for line in all_lines[:MOST_LINES]:
        if head := _HEAD.match(line):
            close()
            lines, start = [], (int(head[1]), int(head[2]))
        elif line[:1] in (" ", "+", "-"):
            shown = clean(line)
            lines.append(shown if len(shown) <= LINE else f"{shown[:LINE]}…")
    close()
    return tuple(found), len(all_lines) > MOST_LINES

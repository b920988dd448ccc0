"""What becomes of one file or folder, and of the parts of it that the user accepted."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from shipmate.protocol import FileChange, Hunk
from shipmate.safety.paths import PathDecision
from shipmate.tools.diffs import accepted, file_change
from shipmate.tools.files import sha256

MAX_TOLD = 60
"""Lines of what was left out that the model is told."""


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one place. `after` is None for a folder that is made."""

    place: PathDecision
    asked: str
    """The path as the call has it."""
    before: bytes | None
    after: bytes | None
    said: tuple[str, ...] = ()
    """What to tell of it when it is done."""
    whole: bool = False
    """The model gave the whole content."""
    partly: bool = False
    """The user left hunks of it out."""

    @property
    def nothing(self) -> bool:
        return self.place.exists if self.after is None else self.before == self.after

    @property
    def bound(self) -> str:
        return "" if self.before is None else sha256(self.before)

    def shown(self) -> FileChange:
        if self.after is None:
            return FileChange(path=self.place.relative, change="create_directory")
        return file_change(self.place.relative, self.before, self.after)


Plan: TypeAlias = Sequence[Change]
MakePlan: TypeAlias = Callable[[], Plan]


def chosen(plan: Plan, ids: Collection[str]) -> Plan:
    """The plan with those hunks alone. What is left out is told."""
    return [
        change if change.nothing or change.after is None else _chosen(change, change.after, ids)
        for change in plan
    ]


def _chosen(change: Change, whole: bytes, ids: Collection[str]) -> Change:
    path, before = change.place.relative, change.before
    shown = change.shown().hunks
    left = [hunk for hunk in shown if hunk.id not in ids]
    after = accepted(path, before, whole, ids)
    if after == whole:
        return change
    if after is None:
        kept = before or b""
        said = f"{path} is as it was: the user left this change out."
        return replace(change, before=kept, after=kept, said=(said,), partly=True)
    part = f"{len(shown) - len(left)} of {len(shown)} changes"
    said = f"Made {part} in {path}, those that the user accepted. Left out:\n{_told(left)}"
    return replace(change, after=after, said=(said,), partly=True)


def _told(hunks: Sequence[Hunk]) -> str:
    lines = [
        line
        for hunk in hunks
        for line in (f"@@ line {hunk.old_start} @@", *hunk.lines)
        if not line.startswith(" ")
    ]
    return "\n".join(lines[:MAX_TOLD]) + ("\n…" if len(lines) > MAX_TOLD else "")

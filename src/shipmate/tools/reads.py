"""What an agent has read and written: how often in this round, and with which content."""

from dataclasses import dataclass, field

from msgspec import UNSET

from shipmate.protocol import AnyBlock, FileSeen, Summary, ToolResult, User


@dataclass(slots=True)
class ReadGuard:
    """Of one thread of a session. Its results tell it all, so it survives a restart; what a call
    of this process does counts at once, also for those that run beside it."""

    reads: dict[str, list[tuple[int, int]]] = field(
        default_factory=dict[str, list[tuple[int, int]]]
    )
    """By file, the ranges of lines that were given in this round, since it changed last."""
    stamps: dict[str, str] = field(default_factory=dict[str, str])
    """By file, the content that the agent saw or wrote last, in the whole session."""
    _counted: set[str] = field(default_factory=set[str])
    """Calls that counted when they ran; their results count no more."""

    def note(self, file: FileSeen) -> None:
        """A change lets a file be read again in this round (readings 3)."""
        if not file.stamp or self.stamps.get(file.path) != file.stamp:
            self.reads.pop(file.path, None)
        if file.stamp:
            self.stamps[file.path] = file.stamp
        if file.lines is not UNSET:
            self.reads.setdefault(file.path, []).append(file.lines)

    def counted(self, call: str) -> None:
        """All that this call did was noted."""
        self._counted.add(call)

    def add(self, block: AnyBlock) -> None:
        """Take in a kept block. With a new round, or a compaction, nothing was read yet; what the
        agent saw before, it still has seen."""
        match block:
            case User(steers=False) | Summary():
                self.reads.clear()
            case ToolResult() if block.call in self._counted:
                self._counted.discard(block.call)
            case ToolResult():
                for file in block.files:
                    self.note(file)
            case _:
                pass

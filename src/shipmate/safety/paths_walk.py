"""Where a path really leads: links followed one by one, as the kernel would."""

import errno
import os
import stat
import unicodedata
from dataclasses import dataclass
from pathlib import Path

MAX_LINKS = 40
"""As Linux: more links in one path are a loop."""


class WalkError(Exception):
    """The walk could not go on; `where` is the real place at which it stopped."""

    def __init__(self, where: Path, reason: str) -> None:
        super().__init__(reason)
        self.where = where


@dataclass(frozen=True, slots=True)
class Walked:
    real: Path
    """Without links as far as it exists; what does not exist yet is appended."""
    mode: int = 0
    """`st_mode`; 0: it does not exist."""
    size: int = 0


@dataclass(slots=True)
class _Walk:
    here: Path
    todo: list[str]
    """Names still to walk, the next one last."""
    folding: bool
    mode: int = stat.S_IFDIR
    size: int = 0
    links: int = 0

    def run(self) -> Walked:
        while self.todo:
            self.step(self.todo.pop())
        return Walked(self.here, self.mode, self.size)

    def step(self, name: str) -> None:
        if self.mode and not stat.S_ISDIR(self.mode):
            raise WalkError(self.here, "is not a folder")
        if name == ".":
            return
        if name == "..":
            self.here = self.here.parent
            self.mode, self.size, _ = _lstat(self.here)
            return
        place = self.here / (_true_name(self.here, name) if self.folding else name)
        mode, size, link = _lstat(place) if self.mode else (0, 0, False)
        if link:
            self.follow(place)
        else:
            self.here, self.mode, self.size = place, mode, size

    def follow(self, place: Path) -> None:
        self.links += 1
        if self.links > MAX_LINKS:
            raise WalkError(place, "is a loop of links")
        target = _target(place)
        if target.is_absolute():
            self.here, self.mode = Path(target.anchor), stat.S_IFDIR
        self.todo.extend(reversed([part for part in target.parts if part != target.anchor]))


def walk(start: Path, parts: tuple[str, ...], *, folding: bool = False) -> Walked:
    """Walk `parts` from the real folder `start`. `folding`: names that differ only in case
    or Unicode form are the same file, and the spelling on disk is the real one."""
    return _Walk(start, list(reversed(parts)), folding).run()


def _lstat(place: Path) -> tuple[int, int, bool]:
    """The mode (0: there is nothing), the size, and whether it is a link or a junction."""
    try:
        found = place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return 0, 0, False
    except OSError as error:
        reason = "has a name that is too long" if error.errno == errno.ENAMETOOLONG else ""
        raise WalkError(place, reason or f"cannot be looked at ({error.strerror})") from error
    junction = getattr(found, "st_reparse_tag", 0) == 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT
    return found.st_mode, found.st_size, stat.S_ISLNK(found.st_mode) or junction


def _target(place: Path) -> Path:
    try:
        target = str(place.readlink())
    except OSError as error:
        raise WalkError(place, f"cannot be followed ({error.strerror})") from error
    return Path(target.removeprefix("\\\\?\\") if os.name == "nt" else target)


def _true_name(folder: Path, name: str) -> str:
    """The name as it stands on disk; as given where there is none."""
    wanted = same_name(name)
    try:
        names = [entry.name for entry in folder.iterdir()]
    except OSError:
        return name
    return name if name in names else next((n for n in names if same_name(n) == wanted), name)


def same_name(name: str) -> str:
    """Equal for two names that are one file on APFS or NTFS."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())

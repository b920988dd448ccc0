"""Folders of a project, held by their descriptor while names in them are changed."""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from shipmate.tools.files import BY_DESCRIPTOR, FOLDER, SAFE


@dataclass(frozen=True, slots=True)
class Folder:
    """It stays the same folder should its path lead elsewhere meanwhile, where the system can
    work relative to a descriptor (everywhere but on Windows)."""

    path: Path
    descriptor: int | None

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        return os.open(self._at(name), flags, mode, dir_fd=self.descriptor)

    def unlink(self, name: str) -> None:
        os.unlink(self._at(name), dir_fd=self.descriptor)

    def rename(self, old: str, new: str) -> None:
        """Over what is there."""
        fd = self.descriptor
        os.replace(self._at(old), self._at(new), src_dir_fd=fd, dst_dir_fd=fd)

    def link(self, old: str, new: str) -> None:
        """A second name; FileExistsError where there is something."""
        fd = self.descriptor
        os.link(self._at(old), self._at(new), src_dir_fd=fd, dst_dir_fd=fd)

    def sync(self) -> None:
        if self.descriptor is not None:
            with suppress(OSError):  # some network file systems have no such call
                os.fsync(self.descriptor)

    def own(self, descriptor: int) -> None:
        """What root makes in a user's folder is the user's."""
        if os.name == "posix" and os.geteuid() == 0 and self.descriptor is not None:
            found = os.fstat(self.descriptor)
            os.fchown(descriptor, found.st_uid, found.st_gid)

    def enter(self, name: str) -> "Folder":
        """The folder `name` in this one, made if need be; a link is not followed."""
        flags = os.O_RDONLY | FOLDER | SAFE
        try:
            return Folder(self.path / name, self.open(name, flags))
        except FileNotFoundError:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=self.descriptor)
        made = self.open(name, flags)
        self.own(made)
        self.sync()
        return Folder(self.path / name, made)

    def close(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)

    def _at(self, name: str) -> str | Path:
        return self.path / name if self.descriptor is None else name


@contextmanager
def open_folder(root: Path, relative: str) -> Generator[Folder]:
    """The folder at a real path below `root`, made with those on the way if need be."""
    if not BY_DESCRIPTOR:
        yield _checked(root / relative)
        return
    here = Folder(root, os.open(root, os.O_RDONLY | FOLDER | SAFE))
    try:
        for name in relative.split("/"):
            if name != ".":
                below = here.enter(name)
                here.close()
                here = below
        yield here
    finally:
        here.close()


def _checked(path: Path) -> Folder:
    path.mkdir(parents=True, exist_ok=True)
    if os.path.realpath(path) != str(path):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return Folder(path, None)

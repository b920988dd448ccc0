"""Putting content in the place of a file: whole or not at all, and never over a change.

A new content is written beside the file under a name of ours, then renamed over it, so that
a crash leaves the old or the new content, and at most a leftover that `sweep` removes. Mode,
owner, access lists and links stay. A file with several hard links is refused: replacing it
would part the names, and writing into it could reach outside the project.

All of this blocks; the callers run it off the event loop's thread.
"""

import errno
import os
import re
import secrets
import stat
import threading
import time
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakValueDictionary

from shipmate.faults import point
from shipmate.tools.files import SAFE, check_regular, file_errors, opened, read_descriptor
from shipmate.tools.folders import Folder, open_folder
from shipmate.tools.tool import ToolError

_LEFTOVER = re.compile(r"\.shipmate-(\d+)-[0-9a-f]{16}\.tmp")
_OLD = 3600.0
"""Seconds after which a leftover of any process may go."""
_AGAIN = "it was not written. Read it again and decide anew."
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | SAFE
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
"""What a file system without hard links answers."""
_KEPT_ATTRIBUTES = ("user.", "system.posix_acl_access", "security.selinux")
_locks: WeakValueDictionary[Path, "_Lock"] = WeakValueDictionary()
_locks_lock = threading.Lock()


class _Lock:
    """A lock that can be forgotten when nobody holds or awaits it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Target:
    """A file that is to be written: `relative` is its real path below `root`."""

    root: Path
    relative: str

    @property
    def real(self) -> Path:
        return self.root / self.relative

    @property
    def folder(self) -> str:
        return self.relative.rpartition("/")[0] or "."

    @property
    def name(self) -> str:
        return self.relative.rpartition("/")[2]


@contextmanager
def locked(places: Iterable[Path]) -> Generator[None]:
    """Hold the files at these real paths against every session of this server.

    A lock of threads, held by the thread that does the work: should the call be cancelled
    meanwhile, it is let go when the work is done, not before.
    """
    with ExitStack() as held:
        for place in sorted(set(places)):
            with _locks_lock:
                entry = _locks.setdefault(place, _Lock())
            held.enter_context(entry.lock)
            held.callback(_keep, entry)
        yield


def _keep(_entry: _Lock) -> None:
    """Refers to a lock until it was let go."""


def read_target(target: Target, limit: int) -> bytes | None:
    """The whole content, or None where there is no file; ToolError when it is too large."""
    with file_errors(target.relative):
        try:
            with opened(target.root, target.relative, os.O_RDONLY) as descriptor:
                if check_regular(descriptor, target.relative).st_size > limit:
                    raise ToolError(
                        f"{target.relative!r} is larger than {limit:,} bytes: too large to edit."
                    )
                return read_descriptor(descriptor)
        except FileNotFoundError:
            return None


def check_writable(target: Target) -> None:
    """ToolError when the file may not be replaced; nothing when there is none."""
    with file_errors(target.relative):
        try:
            with opened(target.root, target.relative, os.O_RDONLY) as descriptor:
                _check_replaceable(target, check_regular(descriptor, target.relative))
        except FileNotFoundError:
            return


def write_target(target: Target, content: bytes, before: bytes | None) -> None:
    """Write a file that must still have the content `before` (None: must not exist).

    Folders on the way are made. ToolError when something else is there now; the file is
    then as it was.
    """
    with (
        file_errors(target.relative),
        open_folder(target.root, target.folder) as folder,
        _temporary(folder) as temporary,
    ):
        descriptor = folder.open(temporary, _CREATE, 0o666 if before is None else 0o600)
        try:
            _write_all(descriptor, content)
            if before is None:
                folder.own(descriptor)
            else:
                _copy_attributes(folder, target, descriptor)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        point("write.before_rename")
        if before is None:
            _put_new(folder, temporary, target)
        else:
            _compare(folder, target, before)
            folder.rename(temporary, target.name)
        point("write.renamed")
        folder.sync()


def remove_target(target: Target, content: bytes) -> None:
    """Take back a file that was just created, if it still has this content."""
    with file_errors(target.relative), open_folder(target.root, target.folder) as folder:
        _compare(folder, target, content)
        folder.unlink(target.name)


def make_folders(root: Path, relative: str) -> None:
    """Make a folder and those on the way; those that exist are fine."""
    with file_errors(relative), open_folder(root, relative):
        return


def sweep(root: Path) -> int:
    """Remove what writes that were cut off have left in a project; returns how many.

    Called at the start. Another server may be writing here: what a living process made within
    the last hour stays.
    """
    gone = 0
    for folder, _, names in os.walk(root):
        for name in names:
            if (found := _LEFTOVER.fullmatch(name)) and _abandoned(Path(folder, name), found[1]):
                with suppress(OSError):
                    Path(folder, name).unlink()
                    gone += 1
    return gone


def _abandoned(place: Path, process: str) -> bool:
    """Its maker is gone, or was we under the same number before a restart."""
    try:
        if time.time() - place.lstat().st_mtime > _OLD or int(process) == os.getpid():
            return True
        if os.name == "posix":
            os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


# --- steps of a write ----------------------------------------------------------------------


@contextmanager
def _temporary(folder: Folder) -> Generator[str]:
    name = f".shipmate-{os.getpid()}-{secrets.token_hex(8)}.tmp"
    try:
        yield name
    finally:
        with suppress(FileNotFoundError):
            folder.unlink(name)


def _write_all(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def _put_new(folder: Folder, temporary: str, target: Target) -> None:
    """Give the content its name, unless something has that name already."""
    try:
        try:
            folder.link(temporary, target.name)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            os.close(folder.open(target.name, _CREATE))  # takes the name, or fails
            folder.rename(temporary, target.name)
    except FileExistsError as error:
        raise ToolError(
            f"{target.relative!r} was created by someone else meanwhile; it was not "
            "overwritten. Read it first."
        ) from error


def _compare(folder: Folder, target: Target, before: bytes) -> None:
    descriptor = folder.open(target.name, os.O_RDONLY | SAFE)
    try:
        check_regular(descriptor, target.relative)
        now = read_descriptor(descriptor, len(before) + 1)
    finally:
        os.close(descriptor)
    if now != before:
        raise ToolError(f"{target.relative!r} was changed by someone else meanwhile; {_AGAIN}")


def _check_replaceable(target: Target, found: os.stat_result) -> None:
    if not found.st_mode & 0o222 or not os.access(target.real, os.W_OK):
        raise ToolError(f"{target.relative!r} is read-only; it was not changed.")
    if found.st_nlink > 1:
        raise ToolError(
            f"{target.relative!r} is a hard link: the same file has {found.st_nlink} names, which "
            "an edit would part. Replace it by a copy first (cp f f.new && mv f.new f)."
        )
    if os.name == "posix" and os.geteuid() not in {0, found.st_uid}:
        raise ToolError(
            f"{target.relative!r} belongs to another user (uid {found.st_uid}), and replacing "
            "it would make it ours. It was not changed."
        )


def _copy_attributes(folder: Folder, target: Target, to: int) -> None:
    """Owner, mode, access lists and the like, from the file that will be replaced."""
    descriptor = folder.open(target.name, os.O_RDONLY | SAFE)
    try:
        found = check_regular(descriptor, target.relative)
        _check_replaceable(target, found)
        if os.name == "posix":
            with suppress(PermissionError):  # a group we are not in: ours is the next best
                os.fchown(to, found.st_uid, found.st_gid)
            os.fchmod(to, stat.S_IMODE(found.st_mode))
        if hasattr(os, "listxattr"):
            _copy_extended(descriptor, to)
    finally:
        os.close(descriptor)


def _copy_extended(source: int, to: int) -> None:
    with suppress(OSError):
        for name in os.listxattr(source):
            if name.startswith(_KEPT_ATTRIBUTES):
                with suppress(OSError):
                    os.setxattr(to, name, os.getxattr(source, name))

"""Opening the files of a project: relative to its folder, following no link.

What is opened is what was decided on: `safety.paths` finds the real path, and the kernel is
asked to refuse should a link have taken its place since (`openat2`, or folder by folder).
Nothing here may run on the event loop's thread; the async functions see to that.
"""

import asyncio
import ctypes
import errno
import hashlib
import os
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shipmate.protocol import BlockedDetail
from shipmate.safety.paths import Op, PathDecision, decide_path
from shipmate.safety.verdict import Level, Verdict
from shipmate.tools.tool import ToolError, Workspace

_OPENAT2 = 437
"""Number of the system call, the same on every architecture (Linux 5.6)."""
_SIZE = ctypes.c_size_t(24)
"""Of `struct open_how`."""
_BENEATH = 0x08 | 0x04 | 0x02
"""RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS, RESOLVE_NO_MAGICLINKS."""
SAFE = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)
"""O_NONBLOCK: should a pipe have taken the file's place, opening it must not hang."""
FOLDER = getattr(os, "O_DIRECTORY", 0)
BY_DESCRIPTOR = os.open in os.supports_dir_fd
"""Windows has no such calls; there the path is checked again after opening."""
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_LEVELS = {"allow": Level.ALLOW, "ask": Level.ASK, "ask_danger": Level.DANGER}


class NotThereError(ToolError):
    """A path that leads to nothing."""


@dataclass(frozen=True, slots=True)
class FileRead:
    relative: str
    """The real path below the project's folder, with `/`."""
    data: bytes
    size: int
    """Bytes in the file, which may be more than `data`."""


def decide(work: Workspace, path: str, op: Op) -> PathDecision:
    """Decide on a path of a call in this workspace. Asks the disk."""
    return decide_path(op, path, work.root, protected=work.protected, ask_secrets=work.ask_secrets)


def path_verdict(decision: PathDecision) -> Verdict:
    """What a judge says of a path; an `error` is raised, as the user has nothing to decide.

    `bypassable` is left to the judge: the bypass covers `read_write` tools only.
    """
    if decision.verdict == "error":
        raise _error_of(decision)
    if decision.verdict == "deny":
        detail = BlockedDetail(reason=decision.reason, rule="path")
        return Verdict(Level.REFUSE, decision.reason, rule="path", details=detail)
    return Verdict(_LEVELS[decision.verdict], decision.reason)


def real_path(work: Workspace, path: str, op: Op) -> tuple[Path, str]:
    """The real path, and the same below the project's folder; ToolError where it is refused.

    A path that asks is given: whether the user was asked is the judge's business.
    """
    decision = decide(work, path, op)
    if not decision.usable:
        raise _error_of(decision)
    return decision.real, decision.relative


def _error_of(decision: PathDecision) -> ToolError:
    kind = NotThereError if decision.fault == "missing" else ToolError
    return kind(decision.reason)


async def read_bytes(work: Workspace, path: str, limit: int | None = None) -> FileRead:
    """Read a regular file of the project, at most `limit` bytes of it."""
    return await asyncio.to_thread(_read, work, path, limit)


def _read(work: Workspace, path: str, limit: int | None) -> FileRead:
    _, relative = real_path(work, path, "read")
    with file_errors(path), opened(work.root, relative, os.O_RDONLY) as descriptor:
        size = check_regular(descriptor, path).st_size
        data = read_descriptor(descriptor, limit)
    return FileRead(relative, data, max(size, len(data)))


def stamp_of(found: os.stat_result) -> str:
    """The stamp of a file that is too large to hash at each look."""
    return f"{found.st_size} bytes at {found.st_mtime_ns}"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@contextmanager
def opened(root: Path, relative: str, flags: int) -> Generator[int]:
    """A descriptor of `relative` (a real path below `root`), closed in the end."""
    descriptor = open_beneath(root, relative, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_beneath(root: Path, relative: str, flags: int) -> int:
    """Open below the folder `root` following no link; OSError (ELOOP) where one is met."""
    if not BY_DESCRIPTOR:
        return _open_checked(root / relative, flags)
    base = os.open(root, os.O_RDONLY | FOLDER | os.O_CLOEXEC)
    try:
        descriptor = _openat2(base, relative, flags | SAFE)
        return _step_by_step(base, relative, flags) if descriptor is None else descriptor
    finally:
        os.close(base)


def check_regular(descriptor: int, path: str) -> os.stat_result:
    """What fstat says; ToolError that names what it is, where it is no regular file."""
    found = os.fstat(descriptor)
    if stat.S_ISREG(found.st_mode):
        return found
    kind = next((name for test, name in _KINDS if test(found.st_mode)), "not a regular file")
    raise ToolError(f"{path!r} is {kind}, not a regular file.")


def read_descriptor(descriptor: int, limit: int | None = None) -> bytes:
    chunks: list[bytes] = []
    left = limit if limit is not None else sys.maxsize
    while left > 0 and (chunk := os.read(descriptor, min(left, 1 << 20))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


@contextmanager
def file_errors(path: str) -> Generator[None]:
    """Turn what the system says of a file into what the model should read."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.EXDEV, errno.EAGAIN}:
            reason = "was replaced by a link while it was opened; look again"
        elif error.errno in {errno.ENXIO, errno.ENODEV}:
            reason = "is a pipe, a socket or a device, not a regular file"
        else:
            reason = f"cannot be used: {error.strerror}"
        raise ToolError(f"{path!r} {reason}.") from error


def _openat2(base: int, relative: str, flags: int) -> int | None:
    """None where the system does not have the call, or a filter of calls does not know it."""
    if not sys.platform.startswith("linux"):
        return None
    how = (ctypes.c_uint64 * 3)(flags, 0, _BENEATH)
    for _ in range(16):
        result = _LIBC.syscall(_OPENAT2, base, os.fsencode(relative), how, _SIZE)
        if result >= 0:
            return result
        code = ctypes.get_errno()
        if code in {errno.ENOSYS, errno.EPERM}:
            return None
        if code not in {errno.EAGAIN, errno.EINTR}:  # EAGAIN: something was renamed meanwhile
            raise OSError(code, os.strerror(code), relative)
    return None


_LIBC = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else ctypes.CDLL("msvcrt")


def _step_by_step(base: int, relative: str, flags: int) -> int:
    *folders, last = relative.split("/")
    here = os.dup(base)
    try:
        for name in folders:
            below = os.open(name, os.O_RDONLY | FOLDER | SAFE, dir_fd=here)
            os.close(here)
            here = below
        return os.open(last, flags | SAFE, dir_fd=here)
    finally:
        os.close(here)


def _open_checked(place: Path, flags: int) -> int:
    descriptor = os.open(place, flags | SAFE)
    if os.path.realpath(place) != str(place):
        os.close(descriptor)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(place))
    return descriptor

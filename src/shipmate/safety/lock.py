"""A file that one process at a time may hold."""

import contextlib
import os
import sys
from collections.abc import Generator
from pathlib import Path

from shipmate.errors import ConflictError


@contextlib.contextmanager
def held_file(file: Path, refusal: str) -> Generator[None]:
    """Hold the file, or raise a `ConflictError` with `refusal`, in which `{owner}` is the holder's
    process id. The system gives the lock back when the process ends, however it ends."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            _lock(descriptor)
        except OSError:
            owner = os.read(descriptor, 32).decode("ascii", "replace").strip() or "unknown"
            raise ConflictError(refusal.replace("{owner}", owner)) from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)  # past the text, which others may then read
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

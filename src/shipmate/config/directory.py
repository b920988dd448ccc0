"""The data directory: where it is, and that one server at a time has it."""

import contextlib
import os
import sys
from collections.abc import Generator, Mapping
from pathlib import Path

import platformdirs

from shipmate.errors import ConfigError, ConflictError


def data_directory(
    chosen: str | Path | None = None, environ: Mapping[str, str] | None = None
) -> Path:
    """The directory given, else `$SHIPMATE_DATA`, else the platform's place for a user's data;
    made if need be, with mode 0700. The working folder is never looked at: a cloned project must
    not configure us."""
    source = os.environ if environ is None else environ
    place = chosen or source.get("SHIPMATE_DATA") or platformdirs.user_data_path("shipmate")
    path = Path(place).expanduser().absolute()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.stat().st_mode & 0o077:
            path.chmod(0o700)
    except OSError as error:
        raise ConfigError(
            f"The data directory {path} cannot be used: {error.strerror or error}. "
            "Choose another with --data or SHIPMATE_DATA."
        ) from error
    return path.resolve()


@contextlib.contextmanager
def held(data: Path) -> Generator[None]:
    """Keep the directory for this process; a `ConflictError` names the process that has it.
    The system gives the lock back when the process ends, however it ends."""
    file = data / "lock"
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            _lock(descriptor)
        except OSError:
            owner = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            raise ConflictError(
                f"Another shipmate (process {owner or 'unknown'}) has the data directory {data}; "
                "stop it, or give this one another with --data."
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)  # past the text, which others may then read
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

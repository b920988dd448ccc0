"""Copies of the database, each looked at before it counts.

They lie in `backups/` beside it, named `<kind>-<time>.db`: `daily` and `migration` (of each the
last 7 are kept), `manual` and `replaced` (what a restore put aside; never removed by us).
"""

import contextlib
import os
import shutil
import sqlite3
import time
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from shipmate.database.integrity import DamagedError, damage
from shipmate.database.sqlite_engine import explain
from shipmate.errors import ShipmateError, StorageError

Kind: TypeAlias = Literal["daily", "migration", "manual", "replaced"]

FOLDER = "backups"
KEPT = 7
DAY_S = 24 * 3600.0
_TIME = "%Y%m%dT%H%M%SZ"
_PRUNED: tuple[Kind, ...] = ("daily", "migration")
BESIDE = ("-wal", "-shm")
"""What SQLite keeps beside a database that is in use."""


@dataclass(frozen=True, slots=True)
class Backup:
    file: Path
    kind: str
    made_at: float
    """Seconds since 1970 UTC."""

    @property
    def age(self) -> str:
        hours = max(0.0, time.time() - self.made_at) / 3600
        return f"{hours / 24:.0f} days" if hours >= 48 else f"{hours:.0f} hours"


def backups(database: Path) -> list[Backup]:
    """The good copies beside a database, the newest first; what a restore put aside is none."""
    found: list[Backup] = []
    for file in (database.parent / FOLDER).glob("*-*.db"):
        kind = file.stem.partition("-")[0]
        if kind in ("daily", "migration", "manual"):
            found.append(Backup(file, kind, file.stat().st_mtime))
    return sorted(found, key=lambda one: one.made_at, reverse=True)


def back_up(database: Path, kind: Kind, to: Path | None = None) -> Path:
    """Copy the database, in use or not, to `to` or into its `backups/`; the copy is whole, or
    there is none; every row of it is looked at, or damage would push the good copies out. Blocks:
    for a worker thread. Old copies of its kind go."""
    target = to or named(database, kind)
    if target.exists():
        raise ShipmateError(f"{target} is there already; choose another name.")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _part_of(target) as part:
            copy(database, part)
            if wrong := damage(part, full=True):
                raise DamagedError(
                    f"The copy of {database} is not whole and was not kept: {wrong}. "
                    "Good backups stay; see: shipmate doctor --integrity."
                )
            _sync(part)
            part.replace(target)
    except sqlite3.Error as error:
        raise explain(error) from error
    except OSError as error:
        raise StorageError(f"The backup {target} cannot be written: {error}.") from error
    if to is None:
        _prune(database, kind)
    return target


def copy(database: Path, target: Path) -> None:
    """All of the database as it is at one moment, in one file. Writers are not held up; the write-
    ahead log that a dead server has left stays where it is."""
    if not database.exists():
        raise ShipmateError(f"There is no database {database} to copy.")
    source = sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)
    with closing(source), closing(sqlite3.connect(target)) as copied:
        source.backup(copied)
        copied.execute("PRAGMA journal_mode=DELETE")
    for extra in BESIDE:
        Path(f"{target}{extra}").unlink(missing_ok=True)


def named(database: Path, kind: Kind) -> Path:
    """A name in `backups/` that is not taken."""
    stem = f"{kind}-{time.strftime(_TIME, time.gmtime())}"
    names = (f"{stem}{f'-{n}' if n else ''}.db" for n in range(1000))
    return next(f for name in names if not (f := database.parent / FOLDER / name).exists())


def daily_is_due(database: Path) -> bool:
    """No daily copy was made in the last 24 hours, or one was made in the future: the clock of
    the machine was changed."""
    made = [one.made_at for one in backups(database) if one.kind == "daily"]
    return not made or not 0 <= time.time() - made[0] < DAY_S


def last_good(database: Path) -> Backup | None:
    """The newest copy that is whole now."""
    return next((one for one in backups(database) if not damage(one.file, full=True)), None)


def how_to_mend(database: Path) -> str:
    """What to do about a damaged database."""
    good = last_good(database)
    salvage = "save what can be read into a new database: shipmate restore --salvage"
    if good is None:
        return f"There is no good backup of it; {salvage}."
    return (
        f"Restore the last good backup, {good.age} old: shipmate restore {good.file}; or {salvage}."
    )


def _prune(database: Path, kind: Kind) -> None:
    """Remove the old copies of a kind, and what was left of one whose maker was killed."""
    of_kind = [one.file for one in backups(database) if one.kind == kind]
    old = of_kind[KEPT:] if kind in _PRUNED else []
    for file in (*old, *_left_over(database.parent / FOLDER)):
        with contextlib.suppress(OSError):  # the next one tries again
            file.unlink()


def _left_over(folder: Path) -> Iterator[Path]:
    """Parts that nobody has written to for a day."""
    for part in folder.glob("*.part*"):
        if time.time() - part.stat().st_mtime > DAY_S:
            yield part


@contextlib.contextmanager
def _part_of(target: Path) -> Generator[Path]:
    """A private file beside `target` that is gone at the end, unless it was renamed."""
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        yield part
    finally:
        for extra in ("", *BESIDE, "-journal"):
            Path(f"{part}{extra}").unlink(missing_ok=True)


def _sync(file: Path) -> None:
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())


def put_aside(database: Path) -> Path | None:
    """Keep the database as it is, and what belongs to it, under another name, too."""
    if not database.exists():
        return None
    kept = named(database, "replaced")
    kept.parent.mkdir(mode=0o700, exist_ok=True)
    for extra in ("", *BESIDE):
        source = Path(f"{database}{extra}")
        if source.exists():
            shutil.copy2(source, f"{kept}{extra}")
    return kept

"""`shipmate backup` and `shipmate restore`."""

from pathlib import Path

import typer

from shipmate.config import Config
from shipmate.config.directory import DATABASE, data_directory, held
from shipmate.database.backups import back_up
from shipmate.database.restoring import Restored, rescue
from shipmate.database.restoring import restore as put_back
from shipmate.errors import ConflictError, ShipmateError


def backup(to: Path | None, data: Path | None) -> int:
    """A copy can be made beside a server that runs: writers are not held up by it."""
    made = back_up(
        _file(data_directory(data)), "manual", to.expanduser().absolute() if to else None
    )
    typer.echo(f"{made} ({made.stat().st_size:,} bytes, checked)")
    return 0


def restore(file: Path | None, data: Path | None, *, salvage: bool) -> int:
    if (file is None) != salvage:
        raise ShipmateError("Name a backup to restore, or give --salvage; not both.")
    folder = data_directory(data)
    with held(folder):
        if file is not None:
            _tell(put_back(_file(folder), file.expanduser().absolute()))
            return 0
        restored, salvaged = rescue(_file(folder))
    _tell(restored)
    if salvaged.altered:
        typer.echo(f"{salvaged.altered} rows are not as they were written; they were kept.")
    if salvaged.lost:
        typer.echo(f"{salvaged.lost} rows made no sense any more and were left out.")
    return 0


def _file(folder: Path) -> Path:
    """The database, where it is a file."""
    if Config.load(folder).settings.server.database:
        raise ConflictError(
            "The database is PostgreSQL (server.database): its own pg_dump and pg_restore copy it "
            "and put it back. Pictures and whole outputs are in files/ of the data directory."
        )
    return folder / DATABASE


def _tell(restored: Restored) -> None:
    typer.echo(f"{restored.sessions} sessions with {restored.blocks} blocks are in place.")
    if restored.kept:
        typer.echo(f"The database that was there before is kept: {restored.kept}")

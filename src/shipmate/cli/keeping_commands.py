"""The commands that copy, put back and move the database."""

# typer leaves type parameters of click open
# pyright: reportUnknownMemberType=false

from pathlib import Path
from typing import Annotated

import typer

from shipmate.cli.choices import Data


def backup(
    to: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A new file; else in backups/.")
    ] = None,
    data: Data = None,
) -> int:
    """Copy the database, also while a server uses it, and check the copy."""
    from shipmate.cli.keeping import backup

    return backup(to, data)


def restore(
    file: Annotated[Path | None, typer.Argument(help="A backup.", show_default=False)] = None,
    salvage: Annotated[
        bool, typer.Option("--salvage", help="Save what can be read of a damaged database.")
    ] = False,
    data: Data = None,
) -> int:
    """Put a backup in the place of the database, which is kept. No server may run."""
    from shipmate.cli.keeping import restore

    return restore(file, data, salvage=salvage)


def migrate(
    source: Annotated[str, typer.Option("--from", help="What it is in: sqlite.")],
    target: Annotated[str, typer.Option("--to", help="What it goes to: postgres.")],
    data: Data = None,
) -> int:
    """Move everything to the PostgreSQL database that server.database names."""
    from shipmate.cli.moving import migrate

    return migrate(data, source, target)

"""`shipmate migrate`: from the file of the data directory to PostgreSQL."""

import asyncio
import sys
from pathlib import Path

import typer

from shipmate.config import Config
from shipmate.config.directory import DATABASE, data_directory, held
from shipmate.database.stores import open_store
from shipmate.errors import ConfigError, NotFoundError

FORMS = ("sqlite", "postgres")


def migrate(data: Path | None, source: str, target: str) -> int:
    if (source, target) != FORMS:
        raise ConfigError("What can be moved is a database --from sqlite --to postgres.")
    folder = data_directory(data)
    with held(folder):
        url = Config.load(folder).settings.server.database
        if not url:
            raise ConfigError("Name the PostgreSQL database first: server.database in config.toml.")
        file = folder / DATABASE
        if not file.exists():
            raise NotFoundError(f"There is no {file}, so there is nothing to move.")
        asyncio.run(_up_to_date(url, file))
        from shipmate.database.moving import move  # with psycopg

        counts = move(file, url, _tell)
    moved = ", ".join(f"{count:,} of {table}" for table, count in counts.items() if count)
    typer.echo(f"Moved and checked: {moved}. {file} stays as it was; keep it as a backup.")
    return 0


async def _up_to_date(url: str, file: Path) -> None:
    for where in ("", url):
        await (await open_store(where, file)).close()


def _tell(table: str, done: int) -> None:
    if sys.stderr.isatty():
        typer.echo(f"\r{table}: {done:,} rows \033[K", err=True, nl=False)

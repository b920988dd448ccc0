"""`shipmate audit`: reads the log itself, also while a server writes it."""

from pathlib import Path

import msgspec
import typer

from shipmate.config.directory import data_directory
from shipmate.safety.audit import Entry, entries
from shipmate.safety.audit import verify as verified

WRONG = 2


def verify(data: Path | None, json: bool) -> int:
    found = verified(data_directory(data))
    if json:
        typer.echo(msgspec.json.encode(found))
    elif found.problem:
        typer.echo(f"The audit log is not what was written: {found.problem}", err=True)
    else:
        torn = f" {found.torn} torn by a crash." if found.torn else ""
        typer.echo(f"{found.lines} lines, the chain is whole.{torn}")
    return WRONG if found.problem else 0


def list_entries(data: Path | None, json: bool) -> int:
    for entry in entries(data_directory(data)):
        typer.echo(msgspec.json.encode(entry) if json else _line(entry))
    return 0


def _line(entry: Entry) -> str:
    who = f"{entry.user}/{entry.who}" if entry.user not in ("", entry.who) else entry.who
    what = msgspec.json.encode(entry.what).decode() if entry.what else ""
    return "  ".join(filter(None, (entry.at, entry.event, who, entry.session, what)))

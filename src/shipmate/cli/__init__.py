"""The command line. What is wrong is said in a sentence, never as a traceback."""

import os
import sys
from collections.abc import Sequence

import click
import typer

from shipmate.cli.commands import app
from shipmate.errors import ShipmateError, StorageError

INTERNAL, USAGE, STOPPED = 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and leave with its exit status. 1: our fault or the machine's; 2: what was
    asked for cannot be done; 130: stopped with Ctrl-C."""
    sys.exit(_status(arguments))


def _status(arguments: Sequence[str] | None) -> int:
    try:
        return int(app(arguments, prog_name="shipmate", standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        return USAGE
    except ShipmateError as error:
        typer.echo(f"shipmate: {error}", err=True)
        return INTERNAL if isinstance(error, StorageError) else USAGE
    except (click.Abort, KeyboardInterrupt):
        return STOPPED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads: no complaint
        return 0

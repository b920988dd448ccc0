"""What the commands on the audit log are called and what they take; see `cli.commands`."""

# typer leaves type parameters of click open
# pyright: reportUnknownMemberType=false

import typer

from shipmate.cli.choices import Data, Json

audit = typer.Typer(help="Who did what: the audit log.", no_args_is_help=True)


@audit.command("verify")
def audit_verify(data: Data = None, json: Json = False) -> int:
    """Follow the chain of the log; exit status 2 names the first line that is wrong."""
    from shipmate.cli.auditing import verify

    return verify(data, json)


@audit.command("list")
def audit_list(data: Data = None, json: Json = False) -> int:
    """Print the log, the oldest lines first."""
    from shipmate.cli.auditing import list_entries

    return list_entries(data, json)

"""The commands on offline models."""

# typer leaves type parameters of click open
# pyright: reportUnknownMemberType=false

from typing import Annotated

import typer

from shipmate.cli.choices import Data, Json

model = typer.Typer(help="The offline models.", no_args_is_help=True)


@model.command("list")
def model_list(data: Data = None, json: Json = False) -> int:
    """List the offline models: size, licence, whether they are here."""
    from shipmate.cli.model import list_models

    return list_models(data, json)


@model.command("fetch")
def model_fetch(
    name: Annotated[str, typer.Argument(help="From the list.")], data: Data = None
) -> int:
    """Fetch a model and check it. What was fetched before is not fetched again."""
    from shipmate.cli.model import fetch_model

    return fetch_model(name, data)


@model.command("serve")
def model_serve(
    name: Annotated[str, typer.Argument(help="From the list.")],
    data: Data = None,
) -> int:
    """Serve a fetched model alone, as an OpenAI-compatible provider on this machine."""
    from shipmate.cli.model import serve_model

    return serve_model(name, data)

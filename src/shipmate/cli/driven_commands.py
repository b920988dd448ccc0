"""The commands with which other programs drive agents."""

# typer leaves type parameters of click open
# pyright: reportUnknownMemberType=false

from typing import Annotated

import typer

from shipmate.cli.choices import Data


def acp(
    agent: Annotated[str, typer.Option(help="The agent of new sessions.")] = "assistant",
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="PROVIDER/MODEL", help="Their model.")
    ] = "",
    data: Data = None,
) -> int:
    """Be an agent for an editor: the Agent Client Protocol on standard input and output."""
    from shipmate.cli.acp_agent import serve_editor

    return serve_editor(data, agent, model)


def mcp(
    agent: Annotated[str, typer.Option(help="The agent of new sessions.")] = "assistant",
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="PROVIDER/MODEL", help="Their model.")
    ] = "",
    decide: Annotated[
        bool, typer.Option("--decide", help="Let the client approve and answer, too.")
    ] = False,
    data: Data = None,
) -> int:
    """Be an MCP server: tools to start tasks and to follow them, on standard input and output."""
    from shipmate.cli.mcp_server import serve_tools

    return serve_tools(data, agent, model, decide=decide)

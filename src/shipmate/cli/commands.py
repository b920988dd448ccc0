"""What the commands are called and what they take.

Each body imports its module when it runs: `serve` must not wait for what `doctor` needs.
"""

# typer leaves type parameters of click open
# pyright: reportUnknownMemberType=false

from pathlib import Path
from typing import Annotated

import typer

from shipmate import __version__
from shipmate.cli.audit_commands import audit
from shipmate.cli.choices import Approve, Data, Form, Json, Shell, Who
from shipmate.cli.driven_commands import acp, mcp
from shipmate.cli.keeping_commands import backup, migrate, restore
from shipmate.cli.model_commands import model
from shipmate.cli.rule_commands import rule
from shipmate.cli.user_commands import user

app = typer.Typer(
    name="shipmate",
    help="AI agents that work in your projects, and ask before they act.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
check = typer.Typer(
    help="What would happen: reads lines from standard input, answers one JSON line for each.",
    no_args_is_help=True,
)
token = typer.Typer(help="Bearer tokens for programs, sign-in links.", no_args_is_help=True)
app.add_typer(check, name="check")
app.add_typer(token, name="token")
app.add_typer(model, name="model")
app.add_typer(rule, name="rule")
app.add_typer(user, name="user")
app.add_typer(audit, name="audit")
app.command("acp")(acp)
app.command("mcp")(mcp)
for keeping in (backup, restore, migrate):
    app.command()(keeping)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"shipmate {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    pass


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="A loopback address; else as configured.")] = "",
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="0: a free one; else as configured.")
    ] = None,
    data: Data = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    json: Json = False,
) -> int:
    """Serve the page and the API; prints the link to sign in with."""
    from shipmate.cli.serve import Options, serve

    return serve(Options(host, port, data, open_page, json))


@app.command()
def run(  # noqa: PLR0913, PLR0917 - each is an option
    task: Annotated[str, typer.Argument(help="What to do; - reads it from standard input.")],
    project: Annotated[
        str, typer.Option("--project", "-p", help="A project, or a folder; else this folder.")
    ] = ".",
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="PROVIDER/MODEL", help="The model.")
    ] = "",
    agent: Annotated[str, typer.Option(help="The agent.")] = "assistant",
    approve: Annotated[
        Approve | None,
        typer.Option(
            help="ask: on the terminal (the default there); none: deny (the default elsewhere);"
            " files: the bypass; all: everything but what is blocked."
        ),
    ] = None,
    answer: Annotated[
        list[str] | None, typer.Option(help="Answer to a question; repeat it for more.")
    ] = None,
    data: Data = None,
    json: Json = False,
) -> int:
    """Carry one task to its end, without a browser.

    Exit status: 0 finished, 3 waiting for you, 4 a limit, 5 the provider failed, 130 stopped.
    """
    from shipmate.cli.run import Task, run

    return run(Task(task, project, model, agent, approve, tuple(answer or ()), data, json))


@app.command()
def doctor(
    data: Data = None,
    json: Json = False,
    integrity: Annotated[
        bool, typer.Option("--integrity", help="Look at every row of the database, too.")
    ] = False,
) -> int:
    """Say what is there, what is missing, and how to get it."""
    from shipmate.cli.doctor import doctor

    return doctor(data, json, integrity=integrity)


@app.command()
def export(
    session: Annotated[str, typer.Argument(help="Its id.")],
    form: Annotated[Form, typer.Option("--format", help="md, html, or json to import.")] = Form.MD,
    to: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file; else standard output.")
    ] = None,
    data: Data = None,
) -> int:
    """Write a whole session as a document."""
    from shipmate.cli.documents import export

    return export(session, form.value, to, data)


@app.command("import")
def import_session(
    file: Annotated[str, typer.Argument(help="A session exported as JSON, or - for its text.")],
    project: Annotated[
        str, typer.Option("--project", "-p", help="The project it is to belong to.")
    ] = "",
    data: Data = None,
) -> int:
    """Make a session of a document; prints its id. Nothing in it is run."""
    from shipmate.cli.documents import import_session

    return import_session(file, project, data)


@app.command()
def search(  # noqa: PLR0913, PLR0917 - each is an option
    words: Annotated[str, typer.Argument(help='Words, beginnings of words, "phrases".')],
    project: Annotated[
        str, typer.Option("--project", "-p", help="In this project, by id or name.")
    ] = "",
    role: Annotated[Who | None, typer.Option(help="Who says it.")] = None,
    days: Annotated[int, typer.Option(min=0, help="In the last days; 0: whenever.")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many are shown.")] = 20,
    data: Data = None,
    json: Json = False,
) -> int:
    """Find what was said in any conversation. Exit status 3: nothing was found."""
    from shipmate.cli.search import Wanted, search_for

    return search_for(Wanted(words, project, role or "", days, limit), data, json)


@app.command()
def pending(data: Data = None, json: Json = False) -> int:
    """List the approvals and questions that wait for you, in all sessions."""
    from shipmate.cli.rules import pending

    return pending(data, json)


@check.command("config")
def check_config(
    file: Annotated[str, typer.Argument(help="A file, or - for standard input.")] = "",
    data: Data = None,
) -> int:
    """Check a configuration file; that of the data directory unless one is named."""
    from shipmate.cli.check import check_config

    return check_config(file, data)


@check.command("shell")
def check_shell(
    shell: Annotated[Shell, typer.Option(help="For lines that do not say.")] = Shell.BASH,
    project: Annotated[
        str, typer.Option("--project", "-p", help="Say what your rules make of it there, too.")
    ] = "",
    data: Data = None,
) -> int:
    """Judge commands: plain lines, or {"command", "shell"}."""
    from shipmate.cli.check import check_shell

    return check_shell(shell, project, data)


@check.command("path")
def check_path(
    root: Annotated[
        Path, typer.Option(help="The project's folder, for lines that do not say.")
    ] = Path(),
) -> int:
    """Judge paths: plain lines (reads), or {"op", "path", "root"}."""
    from shipmate.cli.check import check_path

    return check_path(root)


@check.command("url")
def check_url() -> int:
    """Judge URLs: plain lines, or {"url", "resolver", "redirect_to"}. Nothing is requested."""
    from shipmate.cli.check import check_url

    return check_url()


@check.command("request")
def check_request() -> int:
    """Read Chat Completions request bodies and say which rules they break."""
    from shipmate.cli.check import check_request

    return check_request()


@token.command("create")
def token_create(
    name: Annotated[str, typer.Option(help="What it is for; shown beside what it does.")],
    scopes: Annotated[str, typer.Option(help="Of read, run, approve, admin.")] = "read",
    data: Data = None,
    json: Json = False,
) -> int:
    """Make a bearer token. It is shown once."""
    from shipmate.cli.token import create

    return create(name, scopes, data, json)


@token.command("list")
def token_list(data: Data = None, json: Json = False) -> int:
    """List the tokens: id, name, scopes, when they were made and last used."""
    from shipmate.cli.token import list_tokens

    return list_tokens(data, json)


@token.command("revoke")
def token_revoke(
    token: Annotated[str, typer.Argument(help="Its id, from the list.")], data: Data = None
) -> int:
    """Revoke a token at once."""
    from shipmate.cli.token import revoke

    return revoke(token, data)


@token.command("link")
def token_link(data: Data = None) -> int:
    """Make a sign-in link of the running server, for another browser. It is good once."""
    from shipmate.cli.token import link

    return link(data)

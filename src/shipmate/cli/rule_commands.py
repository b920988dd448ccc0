"""What `shipmate rule` is called with. Each body imports its module when it runs."""

# typer leaves type parameters of click open
# pyright: reportUnknownMemberType=false

from typing import Annotated

import typer

from shipmate.cli.choices import Data, Effect, Json, Kind

rule = typer.Typer(help="What you have decided ahead: deny, ask, allow.", no_args_is_help=True)
Project = Annotated[str, typer.Option("--project", "-p", help="In this project, by id or name.")]
Session = Annotated[str, typer.Option(help="In this session alone; the rule goes with it.")]


@rule.command("list")
def rule_list(data: Data = None, json: Json = False) -> int:
    """List the rules: id, effect, what they name, where they hold."""
    from shipmate.cli.rules import list_rules

    return list_rules(data, json)


@rule.command("add")
def rule_add(
    effect: Annotated[Effect, typer.Argument()],
    text: Annotated[str, typer.Argument(help="Such as 'shell:npm test' or 'write:src/**'.")],
    project: Project = "",
    session: Session = "",
    data: Data = None,
    json: Json = False,
) -> int:
    """Write a rule; it holds everywhere unless a project or a session is named."""
    from shipmate.cli.rules import add

    return add(data, effect.value, text, project, session, json)


@rule.command("remove")
def rule_remove(
    rule: Annotated[str, typer.Argument(help="Its id, from the list.")], data: Data = None
) -> int:
    """Remove a rule."""
    from shipmate.cli.rules import remove

    return remove(data, rule)


@rule.command("test")
def rule_test(
    kind: Annotated[Kind, typer.Argument()],
    value: Annotated[str, typer.Argument(help="A command, a path, a host, a tool.")],
    project: Project = "",
    session: Session = "",
    data: Data = None,
) -> int:
    """Say what it would get, and by which rules. Nothing is run."""
    from shipmate.cli.rules import test

    return test(data, kind.value, value, project, session)

"""What the commands on users are called and what they take; see `cli.commands`."""

# typer leaves type parameters of click open
# pyright: reportUnknownMemberType=false

from typing import Annotated

import typer

from shipmate.cli.choices import Data, Json, Role

user = typer.Typer(help="Users with passwords. Without any, you own all.", no_args_is_help=True)


Name = Annotated[str, typer.Argument(help="The user's name.")]
Stdin = Annotated[bool, typer.Option("--stdin", help="The password is a line of standard input.")]


@user.command("add")
def user_add(
    name: Name,
    role: Annotated[
        Role, typer.Option(help="admin: all; user: own sessions; viewer: reads what is shared.")
    ] = Role.USER,
    stdin: Stdin = False,
    data: Data = None,
) -> int:
    """Add a user; asks for the password. The first one is an admin and owns what is there."""
    from shipmate.cli.user import add

    return add(name, role.value, data, stdin=stdin)


@user.command("list")
def user_list(data: Data = None, json: Json = False) -> int:
    """List the users: name, role, whether they are disabled."""
    from shipmate.cli.user import list_users

    return list_users(data, json)


@user.command("passwd")
def user_passwd(name: Name, stdin: Stdin = False, data: Data = None) -> int:
    """Set a new password; their sign-ins end."""
    from shipmate.cli.user import set_password

    return set_password(name, data, stdin=stdin)


@user.command("role")
def user_role(
    name: Name,
    role: Annotated[Role, typer.Argument(help="admin, user or viewer.")],
    data: Data = None,
) -> int:
    """Give a user another role."""
    from shipmate.cli.user import change

    return change(name, data, f"is {role.value} now.", role=role.value)


@user.command("disable")
def user_disable(name: Name, data: Data = None) -> int:
    """Shut a user out at once: sign-ins, streams and tokens end. What is theirs stays."""
    from shipmate.cli.user import change

    return change(name, data, "is disabled.", disabled=True)


@user.command("enable")
def user_enable(name: Name, data: Data = None) -> int:
    """Let a disabled user in again."""
    from shipmate.cli.user import change

    return change(name, data, "can sign in again.", disabled=False)


@user.command("remove")
def user_remove(name: Name, data: Data = None) -> int:
    """Remove a user. Their sessions and projects stay; admins see them."""
    from shipmate.cli.user import remove

    return remove(name, data)

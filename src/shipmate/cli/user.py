"""`shipmate user`: through the running server, or in the data directory itself."""

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
import typer

from shipmate.cli.either import either
from shipmate.cli.server_file import Running, call
from shipmate.config import Config
from shipmate.config.directory import data_directory
from shipmate.database.keys import Keys
from shipmate.database.sql_store import SqlStore
from shipmate.database.users import User, Users
from shipmate.errors import ShipmateError
from shipmate.handlers.people import add_user, hashed, remove_user

T = TypeVar("T")
PATH = "/api/users"


@dataclass(frozen=True, slots=True)
class Here:
    """The data directory, when no server holds it."""

    users: Users
    keys: Keys
    config: Config


def add(name: str, role: str, data: Path | None, *, stdin: bool) -> int:
    password = _new_password(name, stdin=stdin)
    body = {"name": name, "role": role, "password": password}

    async def here(at: Here) -> dict[str, Any]:
        return _fields(await add_user(at, name, role, password))

    made = _either(data, lambda server: call(server, "POST", PATH, body), here)
    typer.echo(f"User {made['name']} ({made['role']}) can sign in.", err=True)
    return 0


def list_users(data: Path | None, json: bool) -> int:
    async def here(at: Here) -> list[dict[str, Any]]:
        return [_fields(user) for user in at.users.all()]

    rows = _either(data, lambda server: call(server, "GET", PATH)["users"], here)
    for row in rows:
        off = "  disabled" if row["disabled"] else ""
        line = f"{row['name']}  {row['role']}{off}"
        typer.echo(msgspec.json.encode(row) if json else line)
    if not rows and not json:
        typer.echo("There are no users: the person at the machine owns all.", err=True)
    return 0


def set_password(name: str, data: Path | None, *, stdin: bool) -> int:
    password = _new_password(name, stdin=stdin)

    async def here(at: Here) -> None:
        user = at.users.get(name)
        await at.users.change(user.name, password=await hashed(password, user.name))
        await at.keys.sign_out_all(user.name)

    _either(data, lambda server: _patch(server, name, password=password), here)
    typer.echo(f"{name} has a new password; their sign-ins have ended.", err=True)
    return 0


def change(name: str, data: Path | None, said: str, **fields: Any) -> int:
    """Change the role, or whether it is disabled."""

    async def here(at: Here) -> None:
        user = await at.users.change(name, **fields)
        if user.disabled:
            await at.keys.sign_out_all(user.name)

    _either(data, lambda server: _patch(server, name, **fields), here)
    typer.echo(f"{name} {said}", err=True)
    return 0


def remove(name: str, data: Path | None) -> int:
    async def here(at: Here) -> None:
        await remove_user(at, name)

    _either(data, lambda server: call(server, "DELETE", f"{PATH}/{quote(name, safe='')}"), here)
    typer.echo(f"{name} is removed; admins see what was theirs.", err=True)
    return 0


def _patch(server: Running, name: str, **fields: Any) -> object:
    return call(server, "PATCH", f"{PATH}/{quote(name, safe='')}", fields)


def _new_password(name: str, *, stdin: bool) -> str:
    """Asked for twice on the terminal, or the first line of standard input; never an argument,
    which every program on the machine could read."""
    if stdin:
        return sys.stdin.readline().rstrip("\n")
    if not sys.stdin.isatty():
        raise ShipmateError("There is no terminal to ask on; give the password with --stdin.")
    return typer.prompt(f"Password for {name}", hide_input=True, confirmation_prompt=True)


def _either(
    data: Path | None, there: Callable[[Running], T], here: Callable[[Here], Awaitable[T]]
) -> T:
    async def work(store: SqlStore) -> T:
        config = Config.load(data_directory(data))
        return await here(Here(await Users.open(store), await Keys.open(store), config))

    return either(data, there, work)


def _fields(user: User) -> dict[str, Any]:
    names = ("name", "role", "disabled", "created_at")
    return {name: getattr(user, name) for name in names}

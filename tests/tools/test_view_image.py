"""Pictures: for models that see, within bounds; words for the others."""

import struct
import zlib
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from shipmate.protocol import ImageDetail
from shipmate.safety.verdict import Level
from shipmate.tools.output import border
from shipmate.tools.pictures import view_image
from shipmate.tools.tool import ToolOutput, Workspace
from tests.tools.use import judged, used


def picture(path: Path, size: tuple[int, int], mode: str = "RGB", **options: Any) -> bytes:
    Pillow.new(mode, size, "red").save(path, **options)
    return path.read_bytes()


@pytest.fixture
def seeing(work: Workspace) -> Workspace:
    return replace(work, vision=True)


@pytest.mark.parametrize("ending", ["png", "jpeg", "gif", "webp"])
async def test_a_small_picture_is_given_as_it_is(seeing: Workspace, ending: str) -> None:
    data = picture(seeing.root / f"p.{ending}", (40, 30))
    output = await used(seeing, view_image, path=f"p.{ending}")
    (image,) = output.images
    assert (image.media_type, image.data) == (f"image/{ending}", data)
    assert f"image/{ending}, 40 x 30 pixels" in output.text


async def test_the_picture_is_kept_for_the_card(seeing: Workspace) -> None:
    data = picture(seeing.root / "p.png", (40, 30))
    details = (await used(seeing, view_image, path="p.png")).details
    assert isinstance(details, ImageDetail)
    assert (details.width, details.height) == (40, 30)
    assert seeing.files is not None
    assert (seeing.files / details.file).read_bytes() == data


@pytest.mark.parametrize(("mode", "media_type"), [("RGB", "image/jpeg"), ("RGBA", "image/png")])
async def test_a_large_picture_is_scaled_down(
    seeing: Workspace, mode: str, media_type: str
) -> None:
    picture(seeing.root / "p.png", (4000, 1000), mode)
    output = await used(seeing, view_image, path="p.png")
    (image,) = output.images
    assert image.media_type == media_type
    assert Pillow.open(BytesIO(image.data)).size == (1568, 392)
    assert "4000 x 1000 pixels" in output.text
    assert "scaled down to 1568 x 392" in output.text


async def test_a_photograph_is_turned_upright(seeing: Workspace) -> None:
    exif = Pillow.Exif()
    exif[0x0112] = 6
    picture(seeing.root / "p.jpg", (60, 20), exif=exif)
    (image,) = (await used(seeing, view_image, path="p.jpg")).images
    assert Pillow.open(BytesIO(image.data)).size == (20, 60)


async def test_a_model_that_cannot_see_gets_words(work: Workspace) -> None:
    picture(work.root / "p.png", (40, 30))
    output = await used(work, view_image, path="p.png")
    assert output.images == ()
    assert output.text.startswith("This model cannot see pictures. What is known of it: p.png:")


async def test_pictures_of_any_tool_are_named_to_a_model_that_cannot_see(work: Workspace) -> None:
    picture(work.root / "p.png", (4, 3))
    seeing = replace(work, vision=True)
    made = (await used(seeing, view_image, path="p.png")).images
    output = await border(ToolOutput("inside", images=made * 2), work, "c1")
    assert output.text == "inside\n[1 image/png, 1 image/png (not shown to this model)]"


async def test_a_picture_of_too_many_pixels_is_never_decoded(seeing: Workspace) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", 50_000, 50_000, 1, 0, 0, 0, 0)
    rows = zlib.compress(bytes(1_000_000), 9)
    data = (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )
    (seeing.root / "bomb.png").write_bytes(data)
    output = await used(seeing, view_image, path="bomb.png")
    assert output.is_error
    assert "50000 x 50000 pixels; 40 million are the most" in output.text


@pytest.mark.parametrize(
    "data", [b"", b"no picture", b"\x89PNG\r\n\x1a\n", b"GIF89a\xff\xff", b"<svg/>"]
)
async def test_what_is_no_picture_is_said(seeing: Workspace, data: bytes) -> None:
    (seeing.root / "p.png").write_bytes(data)
    output = await used(seeing, view_image, path="p.png")
    assert output.is_error
    assert "p.png is no picture that can be read" in output.text


async def test_a_damaged_picture_is_told_here_and_not_by_the_provider(seeing: Workspace) -> None:
    data = picture(seeing.root / "p.png", (400, 300))
    (seeing.root / "p.png").write_bytes(data[: len(data) // 2])
    output = await used(seeing, view_image, path="p.png")
    assert "no picture that can be read" in output.text


async def test_too_many_bytes_are_refused(seeing: Workspace) -> None:
    with (seeing.root / "p.png").open("wb") as file:
        file.truncate(20_000_001)
    output = await used(seeing, view_image, path="p.png")
    assert "20.0 MB" in output.text


async def test_secrets_ask_whatever_tool_reads_them(seeing: Workspace) -> None:
    (seeing.root / ".env").touch()
    assert (await judged(seeing, view_image, path=".env")).level is Level.ASK

"""Pictures of the project, for models that see: checked, scaled down, in bounds."""

import asyncio
import struct
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from shipmate.llm.model import Image
from shipmate.protocol import ImageDetail
from shipmate.safety.verdict import Verdict
from shipmate.tools.files import read_bytes
from shipmate.tools.read_verdict import judge_read
from shipmate.tools.reading import shown_name, size_of
from shipmate.tools.tool import ToolContext, ToolError, ToolOutput, tool

_BYTES = 20_000_000
_PIXELS = 40_000_000
"""A picture of 40 Mpx takes 160 MB while it is decoded (faults FM090)."""
_SIDE = 1_568
"""Pixels; providers scale down what is larger."""
_SENT_BYTES = 3_000_000
"""Above this a picture is written anew even if its sides fit."""
_ORIENTATION = 0x0112
_FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}


@dataclass(frozen=True, slots=True)
class Picture:
    media_type: str
    data: bytes
    shown: tuple[int, int]
    original: tuple[int, int]


async def _by_path(ctx: ToolContext, path: str) -> Verdict:
    return await asyncio.to_thread(judge_read, ctx.work, path)


@tool(provider="read_only", judge=_by_path, effect=False, example='{"path": "docs/screen.png"}')
async def view_image(ctx: ToolContext, path: str) -> ToolOutput:
    """Look at a picture of the project: png, jpeg, gif (its first frame) or webp, up to 20 MB.

    Large pictures are scaled down to 1568 pixels on the longer side.
    """
    file = await read_bytes(ctx.work, path, _BYTES + 1)
    name = shown_name(file.relative)
    if file.size > _BYTES:
        raise ToolError(f"{name} is {size_of(file.size)}; pictures may have {size_of(_BYTES)}.")
    picture = await asyncio.to_thread(prepared, file.data, name)
    width, height = picture.original
    text = f"{name}: {picture.media_type}, {width} x {height} pixels, {size_of(file.size)}"
    if picture.shown != picture.original:
        text += f", scaled down to {picture.shown[0]} x {picture.shown[1]}"
    if not ctx.work.vision:
        text = f"This model cannot see pictures. What is known of it: {text}."
    return ToolOutput(
        text,
        details=ImageDetail(media_type=picture.media_type, file="", width=width, height=height),
        images=(Image(picture.media_type, picture.data, file.relative),),
    )


def prepared(data: bytes, name: str) -> Picture:
    """The picture as it is sent: decoded once, so that a damaged one is told here and not by
    the provider. Raises `ToolError`. Not for the event loop's thread."""
    from PIL import Image as Pillow  # heavy: imported when the first picture is looked at
    from PIL import ImageOps

    Pillow.MAX_IMAGE_PIXELS = None  # our limit is stricter, and an error instead of a warning
    try:
        with Pillow.open(BytesIO(data), formats=tuple(_FORMATS)) as image:
            if image.width * image.height > _PIXELS:
                raise ToolError(
                    f"{name} has {image.width} x {image.height} pixels;"
                    f" {_PIXELS // 1_000_000} million are the most that is decoded."
                )
            media_type, size = _FORMATS[str(image.format)], image.size
            image.draft("RGB", (_SIDE, _SIDE))
            upright = image.getexif().get(_ORIENTATION, 1) == 1
            if max(size) <= _SIDE and len(data) <= _SENT_BYTES and upright:
                image.load()
                return Picture(media_type, data, size, size)
            return _scaled(ImageOps.exif_transpose(image), size)
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, MemoryError) as error:
        raise ToolError(
            f"{name} is no picture that can be read (png, jpeg, gif, webp): {error}"
        ) from error


def _scaled(image: Any, original: tuple[int, int]) -> Picture:
    image.thumbnail((_SIDE, _SIDE), reducing_gap=2.0)
    opaque = image.mode in {"RGB", "L", "CMYK", "YCbCr"}
    made = BytesIO()
    if opaque:
        image.convert("RGB").save(made, "JPEG", quality=85)
    else:
        image.convert("RGBA").save(made, "PNG")
    media_type = "image/jpeg" if opaque else "image/png"
    return Picture(media_type, made.getvalue(), image.size, original)

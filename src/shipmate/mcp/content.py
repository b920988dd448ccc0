"""Results of calls: every kind of content, as text and pictures a model can be given."""

import asyncio
import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from shipmate.llm.invariants import is_picture
from shipmate.llm.model import Image
from shipmate.mcp.foreign import as_list
from shipmate.tools.pictures import prepared
from shipmate.tools.reading import size_of
from shipmate.tools.tool import ToolError, ToolOutput

Raw: TypeAlias = Mapping[str, Any]

_SHOWN = 2_000
"""Characters of what is not known."""


async def output_of(result: Raw) -> ToolOutput:
    """The result of `tools/call`: its texts, else its structure; what cannot be shown is said."""
    texts: list[str] = []
    images: list[Image] = []
    for part in as_list(result.get("content")):
        text, image = await _read(part)
        texts += [text] if text else []
        images += [image] if image else []
    if not texts and not images and result.get("structuredContent") is not None:
        texts.append(json.dumps(result["structuredContent"], ensure_ascii=False))
    if len(images) > 1:
        texts.append(f"[{len(images)} pictures came; the first one is shown]")
    failed = result.get("isError") is True
    text = "\n".join(texts)
    return ToolOutput(text, images=tuple(images), is_error=failed, untrusted=True)


async def _read(part: Any) -> tuple[str, Image | None]:
    """One part: its text, or its picture."""
    match part:
        case {"type": "text", "text": str(text)}:
            return text, None
        case {"type": "image", "data": str(data)}:
            return await asyncio.to_thread(_picture, _kind(part, "image/png"), data, "picture")
        case {"type": "audio", "data": str(data)}:
            return f"[{_kind(part, 'audio')}, {_size(data)}: sound is not given to models]", None
        case {"type": "resource", "resource": dict()}:
            return await _resource(part["resource"])
        case {"type": "resource_link", "uri": str(uri)}:
            about = [str(part[k]) for k in ("name", "title", "description") if part.get(k)]
            return f"[resource {uri}{': ' if about else ''}{'; '.join(about)}]", None
        case _:
            shown = json.dumps(part, ensure_ascii=False)[:_SHOWN]
            return f"[content of a kind that is not known: {shown}]", None


async def _resource(resource: Raw) -> tuple[str, Image | None]:
    uri = str(resource.get("uri", ""))
    match resource:
        case {"text": str(text)}:
            return f"[resource {uri}]\n{text}", None
        case {"blob": str(data)}:
            kind = _kind(resource, "application/octet-stream")
            if kind.startswith("image/"):
                return await asyncio.to_thread(_picture, kind, data, uri)
            return f"[resource {uri}: {kind}, {_size(data)}, not text]", None
        case _:
            return f"[resource {uri}: empty]", None


def _picture(kind: str, data: str, name: str) -> tuple[str, Image | None]:
    """A picture as models take it. One that cannot be decoded here goes on as it is when it
    begins as its kind does; anything else is told."""
    try:
        raw = base64.b64decode(data, validate=False)
    except (binascii.Error, ValueError):
        return f"[{kind} that is no base64]", None
    try:
        made = prepared(raw, name)
    except ToolError as error:
        if is_picture(kind, raw):
            return "", Image(kind, raw, name)
        return f"[{kind}, {size_of(len(raw))}: {error}]", None
    return "", Image(made.media_type, made.data, name)


def _kind(part: Raw, unknown: str) -> str:
    return str(part.get("mimeType") or unknown)


def _size(data: str) -> str:
    return size_of(len(data) * 3 // 4)

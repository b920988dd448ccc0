"""Stored files: the pictures that cards show."""

import asyncio
import re
from pathlib import Path

from starlette.responses import Response

from shipmate.errors import NotFoundError
from shipmate.handlers.route import Answer, Call, Nothing, endpoint

_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)


def stored(folder: Path, file: str) -> bytes | None:
    """A stored file by its id; None when it is gone. An id is no path."""
    try:
        return (folder / file).read_bytes() if _ID.fullmatch(file) else None
    except OSError:
        return None


@endpoint("GET", "/api/files/{id}", scope="read", answer=bytes)
async def stored_file(call: Call[Nothing]) -> Answer:
    """A stored picture by the id in an `image` detail. What is no picture is only to be saved."""
    file = call.path["id"]
    caller, store = call.caller, call.house.executor.store
    shown = caller.everything or await store.shows(file, caller.user)
    content = await asyncio.to_thread(stored, call.house.files, file) if shown else None
    if content is None:
        raise NotFoundError(f"There is no stored file {file!r}.")
    kind = next((kind for magic, kind in _MAGIC if content.startswith(magic)), "")
    headers = {"Cache-Control": "private, max-age=31536000, immutable"}
    if not kind:
        headers["Content-Disposition"] = "attachment"
    return Response(content, headers=headers, media_type=kind or "application/octet-stream")

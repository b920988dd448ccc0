"""Files the server keeps for sessions: pictures and attachments, stored once by their hash."""

import re
from pathlib import Path

_ID = re.compile(r"[0-9a-f]{24}")


def load_stored(folder: Path, file: str) -> bytes | None:
    """The bytes of a stored file by its id; None when it is gone, or was never there."""
    if not _ID.fullmatch(file):
        return None
    try:
        return (folder / file).read_bytes()
    except FileNotFoundError:
        return None

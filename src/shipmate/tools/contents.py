"""What files held before and after a call changed them, kept for the session's diff.

One file a content below `files/contents/<session>/`, named by its hash, compressed. What is too
large, what holds a secret that is known, and what could not be stored, is told by its absence: the
change itself never waits for it.
"""

import re
import zlib
from contextlib import suppress
from pathlib import Path

from shipmate.protocol import new_id
from shipmate.safety.redaction import counted
from shipmate.tools.files import sha256

CONTENTS = "contents"
OF_SESSION = ("outputs", CONTENTS)
"""Folders below `files/` in which each session has one of its own."""
MAX_KEPT = 4 * 1024 * 1024
"""Bytes of a content; more than that is not compared."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def keep(files: Path | None, session: str, content: bytes) -> None:
    if files is None or len(content) > MAX_KEPT or not _NAME.fullmatch(session):
        return
    if counted(content.decode("latin-1"), shapes=False)[1]:
        return
    digest = sha256(content)
    path = _path(files, session, digest)
    made = path.with_name(f"{digest}.{new_id()}")
    with suppress(OSError):  # a full disk costs the diff, not the change
        if path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        made.write_bytes(zlib.compress(content, 1))
        made.replace(path)


def kept(files: Path, session: str, digest: str) -> bytes | None:
    """None where it was not kept. A digest that came with an import may be anything else."""
    if not _DIGEST.fullmatch(digest) or not _NAME.fullmatch(session):
        return None
    try:
        return zlib.decompress(_path(files, session, digest).read_bytes())
    except (OSError, zlib.error):
        return None


def _path(files: Path, session: str, digest: str) -> Path:
    return files / CONTENTS / session / digest

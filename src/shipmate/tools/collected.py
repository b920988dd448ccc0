"""What a command writes, bounded while it is read: head and tail in memory, all of it in a file."""

import contextlib
from pathlib import Path
from typing import TextIO

from shipmate.safety.redaction import Redactor
from shipmate.tools.output import MAX_SPILLED, Decoder, HeadTail, clean

SHARE = 0.4
"""Head and tail each keep this share of the limit; the rest is room for notices."""


class Collected:
    """Bytes in, text out. Decoded as they come, cleaned of terminal sequences."""

    def __init__(self, limit: int, whole: Path | None, *, hide_keys: bool = False) -> None:
        """`limit`: characters shown. `whole`: where more than that is kept, if anywhere.
        `hide_keys`: what looks like a key is taken out, beside the secrets that are known."""
        self._side = int(limit * SHARE)
        self._redactor = Redactor(shapes=hide_keys)
        self._decoder = Decoder()
        self._shown = HeadTail(self._side, self._side)
        self._whole = whole
        self._file: TextIO | None = None
        self._kept = 0
        self._ended = False
        self.bytes = 0

    @property
    def kept(self) -> bool:
        """More was written than is shown, and all of it is in the file."""
        return self._kept > 0 and self._whole is not None

    def add(self, data: bytes) -> None:
        self.bytes += len(data)
        self._add(self._redactor.feed(clean(self._decoder.feed(data))))

    def end(self) -> None:
        """Nothing follows: what was incomplete is taken as it is, the file is closed."""
        self._add(self._redactor.feed(clean(self._decoder.end())) + self._redactor.end())
        self._ended = True
        if self._file is not None:
            self._file.close()
            self._file = None

    def take(self) -> tuple[str, bool]:
        """The text since the last `take`, and whether some of it was left out."""
        shown, self._shown = self._shown, HeadTail(self._side, self._side)
        if not self._ended and shown.chars:
            self._open(shown)
        return shown.text(), shown.truncated

    def _add(self, text: str) -> None:
        if not text:
            return
        if self._shown.chars + len(text) > 2 * self._side:
            self._open(self._shown)
        self._shown.add(text)
        self._write(text)

    def _open(self, before: HeadTail) -> None:
        """Begin the file with what was only in memory so far."""
        if self._file is not None or self._whole is None:
            return
        try:
            self._whole.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file = self._whole.open("w", encoding="utf-8", newline="")
        except OSError:
            self._whole = None
            return
        self._write(before.text())

    def _write(self, text: str) -> None:
        """A full disk ends the keeping, never the command; the notice then does not name the
        file. What is too much for the file is counted only."""
        if self._file is None:
            return
        text = text[: max(MAX_SPILLED - self._kept, 0)]
        self._kept += len(text)
        try:
            self._file.write(text)
            self._file.flush()
        except OSError:
            self._whole, file, self._file = None, self._file, None
            with contextlib.suppress(OSError):
                file.close()

"""Takes `Content-Encoding` off as it comes, never more than is asked for at a time."""

import zlib
from collections.abc import Iterator
from typing import Final

ACCEPTED: Final = "gzip, deflate"
"""What is asked for; a server that sends something else is told apart, not shown as text."""
_PIECE: Final = 1 << 16
"""Bytes that one step may make: a bomb is noticed after the first few of them."""
_GZIP, _ZLIB, _RAW = 31, 15, -15
"""`wbits` of zlib."""


class EncodingError(Exception):
    """An encoding that is not known, or data that is none of it."""


class Decoder:
    """Bytes of one body, in and out."""

    def __init__(self, encoding: str) -> None:
        names = [name.strip().lower() for name in encoding.split(",")]
        self._names = [name.removeprefix("x-") for name in names if name not in ("", "identity")]
        if len(self._names) > 1 or not set(self._names) <= {"gzip", "deflate"}:
            raise EncodingError(f"it is sent in the unsupported encoding {encoding[:40]!r}")
        self._inflate: zlib._Decompress | None = None  # pyright: ignore[reportPrivateUsage]
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What becomes of `data`, in pieces of at most 64 KiB where it was compressed."""
        if not data:
            return
        if not self._begun:
            self._begin(data)
        if self._inflate is None:
            yield data
            return
        while data and not self._inflate.eof:
            try:
                made = self._inflate.decompress(data, _PIECE)
            except zlib.error as error:
                raise EncodingError(f"its compressed data are damaged ({error})") from None
            data = self._inflate.unconsumed_tail
            if made:
                yield made
            elif not data:
                return

    @property
    def whole(self) -> bool:
        """Nothing is missing at the end of what was fed."""
        return self._inflate is None or self._inflate.eof

    def _begin(self, data: bytes) -> None:
        """A label that is a lie is not believed: text labelled gzip is text (reports WEB-08).
        `deflate` is sent with and without zlib's head."""
        self._begun = True
        if self._names == ["gzip"] and data[:1] == b"\x1f":
            self._inflate = zlib.decompressobj(_GZIP)
        elif self._names == ["deflate"]:
            head = data[0] & 0x0F == 8 and len(data) > 1 and (data[0] << 8 | data[1]) % 31 == 0
            self._inflate = zlib.decompressobj(_ZLIB if head else _RAW)

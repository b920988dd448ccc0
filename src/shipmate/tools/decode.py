"""Bytes to text: the one decoder that reading, searching and results share."""

import codecs
import re
from dataclasses import dataclass

_SAMPLE = 65_536
"""Bytes looked at to guess an encoding."""
_PAIR = re.compile(rb"[\x81-\xfe][\x30-\x39\x40-\x7e\x80-\xfe]")
_COMMON = re.compile(rb"[\xa1-\xa3\xb0-\xd7][\xa1-\xfe]")
"""GB 2312 level 1 (the 3,755 common characters) and its punctuation."""
_SEQUENCE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_CONTROL = bytes(c for c in range(32) if c not in b"\t\n\f\r\x1b") + b"\x7f"
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MAGIC = (
    (b"\x89PNG\r\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"BM", "BMP image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive (also docx, xlsx, jar)"),
    (b"\x1f\x8b", "gzip archive"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"\xfd7zXZ", "xz archive"),
    (b"7z\xbc\xaf", "7z archive"),
    (b"\x7fELF", "ELF program or library"),
    (b"MZ", "Windows program or library"),
    (b"SQLite format 3", "SQLite database"),
    (b"\xca\xfe\xba\xbe", "Java class or Mach-O program"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 audio"),
)


@dataclass(frozen=True, slots=True)
class Text:
    """What bytes say. `exact`: encoding `text` again gives the bytes back (after the BOM)."""

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""
    exact: bool = True


def decode(data: bytes) -> Text | None:
    """The text of a file, or None when it is binary.

    BOM first, then UTF-8, UTF-16 without BOM, GB 18030 where it reads as Chinese, UTF-8 with
    damaged bytes shown as `\\xNN`, and windows-1252 last.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return _strict(data[len(bom) :], encoding, bom) or _damaged(
                data[len(bom) :], encoding, bom
            )
    if b"\0" in data[:_SAMPLE]:
        encoding = _wide(data[:_SAMPLE])
        return _strict(data, encoding) if encoding else None
    return _strict(data, "utf-8") or _legacy(data)


def decode_head(head: bytes) -> Text | None:
    """`decode` for the beginning of a longer file: a character cut in two is left out."""
    if b"\0" in head:
        return decode(head[: len(head) & ~3])
    return decode(head[: head.rfind(b"\n") + 1] or head)


def decode_line(line: bytes) -> str:
    """One line of output: UTF-8, else GB 18030 where it reads as Chinese, else `\\xNN`."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        if looks_chinese(line):
            return line.decode("gb18030", "backslashreplace")
        return line.decode("utf-8", "backslashreplace")


def looks_chinese(data: bytes) -> bool:
    """Whether bytes that are not UTF-8 are GB 18030: they decode, and at least half of the
    characters are common ones (accented Latin text also decodes, but to rare characters)."""
    sample = data[:_SAMPLE]
    pairs = _PAIR.findall(sample)
    common = sum(1 for pair in pairs if _COMMON.match(pair))
    if not pairs or common * 2 < len(pairs):
        return False
    try:
        codecs.getincrementaldecoder("gb18030")().decode(sample, len(sample) == len(data))
    except UnicodeDecodeError:
        return False
    return True


def kind_of(data: bytes) -> str:
    """What a binary file is, by its first bytes."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WebP image"
    return next((kind for magic, kind in _MAGIC if data.startswith(magic)), "binary data")


def _strict(data: bytes, encoding: str, bom: bytes = b"") -> Text | None:
    try:
        return Text(data.decode(encoding), encoding, bom)
    except UnicodeDecodeError:
        return None


def _damaged(data: bytes, encoding: str, bom: bytes = b"") -> Text:
    return Text(data.decode(encoding, "backslashreplace"), encoding, bom, exact=False)


def _legacy(data: bytes) -> Text | None:
    sample = data[:_SAMPLE]
    if len(sample) - len(sample.translate(None, _CONTROL)) > len(sample) // 20:
        return None
    if looks_chinese(data) and (text := _strict(data, "gb18030")):
        return text
    high = len(sample.translate(None, bytes(range(128))))
    if sum(map(len, _SEQUENCE.findall(sample))) * 2 > high:
        return _damaged(data, "utf-8")
    return _strict(data, "cp1252") or _strict(data, "latin-1")


def _wide(sample: bytes) -> str:
    """UTF-16 without BOM: nearly all zero bytes stand on one side of the pairs."""
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    pairs = len(sample) // 2
    if odd * 3 > pairs and even * 50 < pairs:
        return "utf-16-le"
    if even * 3 > pairs and odd * 50 < pairs:
        return "utf-16-be"
    return ""

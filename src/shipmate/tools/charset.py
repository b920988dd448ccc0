"""The charset of a page: by the web's rules, not by those of files (WHATWG Encoding standard)."""

import re
from typing import Final

from shipmate.tools.decode import looks_chinese

_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_LABELS: Final = {
    "utf8": "utf-8",
    "unicode-1-1-utf-8": "utf-8",
    "utf-16": "utf-16-le",
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
    **dict.fromkeys(
        "ascii us-ascii iso-8859-1 iso8859-1 iso_8859-1 latin1 latin-1 l1 cp1252 x-cp1252".split(),
        "cp1252",
    ),
    **dict.fromkeys("gb2312 gb_2312-80 gbk x-gbk cp936 chinese euc-cn".split(), "gb18030"),
    **dict.fromkeys("big5 big5-hkscs cn-big5 x-x-big5".split(), "big5hkscs"),
    **dict.fromkeys("shift_jis shift-jis sjis x-sjis ms_kanji windows-31j".split(), "cp932"),
    **dict.fromkeys(
        "euc-kr ks_c_5601-1987 ks_c_5601-1989 ksc5601 korean windows-949".split(), "cp949"
    ),
    **dict.fromkeys("iso-8859-9 latin5 l5".split(), "cp1254"),
    **dict.fromkeys("iso-8859-11 tis-620 windows-874 dos-874".split(), "cp874"),
    "x-euc-jp": "euc-jp",
    "macintosh": "mac-roman",
    "x-mac-cyrillic": "mac-cyrillic",
    "ibm866": "cp866",
}
_PLAIN: Final = re.compile(
    r"utf-8|gb18030|euc-jp|iso-2022-jp|koi8-[ru]|windows-125[0-8]|iso-8859-(?:[2-8]|10|13|14|15|16)|cp866"
)
"""Labels that Python knows by the same name."""
_WIDE: Final = frozenset({"utf-8", "utf-16-le", "utf-16-be", "iso-2022-jp"})
_IN_HEADER: Final = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';,]+)", re.I)
_IN_META: Final = re.compile(rb"<meta[^>]{0,400}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]+)", re.I)
_IN_XML: Final = re.compile(rb"^<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([A-Za-z0-9_.:-]+)", re.I)
_HEAD: Final = 4_096
"""Bytes in which a page names its charset; the standard says 1,024, pages are later."""


def decode_page(data: bytes, content_type: str = "") -> str:
    """The text, whatever the labels say: BOM, header, meta, UTF-8, then the legacy rules. Never
    raises; what cannot be read is U+FFFD."""
    for bom, codec in _BOMS:
        if data.startswith(bom):
            return data[len(bom) :].decode(codec, "replace")
    for label in _labels(data, content_type):
        if codec := _codec(label):
            return _decoded(data, codec)
    return _decoded(data, "cp1252")


def _labels(data: bytes, content_type: str) -> list[str]:
    found = _IN_HEADER.findall(content_type)[:1]
    head = data[:_HEAD]
    inner = _IN_META.search(head) or _IN_XML.search(head)
    if inner:
        label = inner[1].decode()
        # who could read the label did not read UTF-16
        found.append("utf-8" if label.lower().startswith("utf-16") else label)
    return found


def _codec(label: str) -> str:
    label = label.strip().lower()
    return _LABELS.get(label) or (label if _PLAIN.fullmatch(label) else "")


def _decoded(data: bytes, codec: str) -> str:
    """One-byte and two-byte legacy labels are often a lie: text that is good UTF-8 beyond ASCII
    is nothing else."""
    if codec not in _WIDE:
        if (text := _utf8(data)) is not None:
            return text
        if codec == "cp1252" and looks_chinese(data):
            codec = "gb18030"
    return data.decode(codec, "replace")


def _utf8(data: bytes) -> str | None:
    """Text in UTF-8, of which the last character may be cut in two."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if error.start >= len(data) - 3 and error.reason == "unexpected end of data":
            return data[: error.start].decode()
        return None

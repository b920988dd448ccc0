"""One decoder for reading and searching."""

import codecs

import pytest

from shipmate.tools.decode import decode, decode_line, kind_of

CHINESE = "// 配置文件数据结构\r\nint a = 1;\r\n"


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"", "", "utf-8"),
        ("naïve 测试".encode(), "naïve 测试", "utf-8"),
        (codecs.BOM_UTF8 + b"a", "a", "utf-8"),
        (codecs.BOM_UTF16_LE + CHINESE.encode("utf-16-le"), CHINESE, "utf-16-le"),
        (codecs.BOM_UTF16_BE + CHINESE.encode("utf-16-be"), CHINESE, "utf-16-be"),
        (CHINESE.encode("utf-16-le"), CHINESE, "utf-16-le"),
        (CHINESE.encode("gb18030"), CHINESE, "gb18030"),
        ("Müller, été, Größe, naïve".encode("cp1252"), "Müller, été, Größe, naïve", "cp1252"),
        (b"smart \x93quotes\x94", "smart “quotes”", "cp1252"),
        (b"caf\x81\xe9", "caf\x81é", "latin-1"),
    ],
)
def test_the_encoding_of_a_file_is_found(data: bytes, text: str, encoding: str) -> None:
    decoded = decode(data)
    assert decoded is not None
    assert (decoded.text, decoded.encoding) == (text, encoding)
    assert decoded.bom + decoded.text.encode(decoded.encoding) == data
    assert decoded.exact


def test_utf_8_with_a_damaged_byte_stays_utf_8_and_shows_it() -> None:
    decoded = decode("测试数据\n".encode() + b"\xff\n")
    assert decoded is not None
    assert decoded.text == "测试数据\n\\xff\n"
    assert not decoded.exact


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "PNG image"),
        (b"\x7fELF\x02\x01\x01\0", "ELF program or library"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "WebP image"),
        (bytes(range(256)) * 4, "binary data"),
        (b"\x01\x02\x03\x04\xfe" * 40, "binary data"),
    ],
)
def test_what_is_binary_is_called_by_its_kind(data: bytes, kind: str) -> None:
    assert decode(data) is None
    assert kind_of(data) == kind


def test_a_line_that_is_neither_shows_its_bytes() -> None:
    assert decode_line(b"\xfcber") == "\\xfcber"
    assert decode_line("数据".encode("gbk")) == "数据"

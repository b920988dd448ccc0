"""Pages in every charset, whatever their labels say."""

import pytest

from shipmate.tools.charset import decode_page
from shipmate.tools.excerpts import excerpts
from shipmate.tools.pages import kind_of_page

META = '<meta charset="{}">'
HTTP_EQUIV = '<meta http-equiv=content-type content="text/html; charset={}">'
TEXTS = {
    "windows-1252": ("“hi” – €", "cp1252"),
    "iso-8859-1": ("“hi” – é", "cp1252"),
    "GB2312": ("你好，世界。这是一个网页。", "gb18030"),
    "big5": ("你好，世界", "big5"),
    "Shift_JIS": ("こんにちは世界", "cp932"),
    "euc-kr": ("안녕하세요", "cp949"),
    "windows-1251": ("Привет, мир", "cp1251"),
    "koi8-r": ("Привет, мир", "koi8-r"),
    "utf-8": ("ä – 你", "utf-8"),
}


@pytest.mark.parametrize("label", TEXTS)
@pytest.mark.parametrize("where", ["header", META, HTTP_EQUIV])
def test_a_label_is_believed_wherever_it_stands(label: str, where: str) -> None:
    text, codec = TEXTS[label]
    head = "" if where == "header" else where.format(label)
    kind = f'text/html; charset="{label}"' if where == "header" else "text/html"
    assert decode_page((head + text).encode(codec), kind) == head + text


def test_the_bom_wins_over_the_header_and_the_header_over_meta() -> None:
    assert decode_page("\ufeffä".encode(), "text/html; charset=koi8-r") == "ä"
    assert decode_page("\ufeffä".encode("utf-16-be"), "text/html; charset=utf-8") == "ä"
    page = META.format("koi8-r") + "Привет"
    assert decode_page(page.encode("cp1251"), "text/html; charset=windows-1251") == page


def test_what_is_good_utf_8_is_utf_8_against_a_legacy_label() -> None:
    assert decode_page("äöü ok".encode(), "text/html; charset=iso-8859-1") == "äöü ok"


@pytest.mark.parametrize("label", ["nonsense-9", "utf-7", "rot13", "base64", "", "hz-gb-2312"])
def test_a_label_that_is_none_falls_back_and_never_raises(label: str) -> None:
    kind = f"text/html; charset={label}"
    assert decode_page("äöü".encode(), kind) == "äöü"
    assert decode_page(b"\x93hi\x94 +AHg-", kind) == "“hi” +AHg-"
    assert decode_page("你好，世界。这是一个网页。".encode("gb18030"), kind).startswith("你好")


def test_a_page_that_was_cut_within_a_character_stays_utf_8() -> None:
    assert decode_page("ab你".encode()[:-1], "text/html") == "ab"


@pytest.mark.parametrize(
    ("data", "kind", "what"),
    [
        (b"<p>x", "text/html", "html"),
        (b"  <!DOCTYPE html><p>", "", "html"),
        (b"plain", "application/octet-stream", "text"),
        (b"%PDF-1.7", "text/html", "pdf"),
        (b"\x89PNG\r\n\x1a\n", "text/html", "binary"),
        (b"a\0b", "text/plain", "binary"),
        ("\ufeffä".encode("utf-16-le"), "text/plain", "text"),
        (b"<p>", "text/plain", "text"),
        (b'{"a": 1}', "application/vnd.api+json", "text"),
        (b"text", "video/mp4", "binary"),
        (b" \n", "text/html", "empty"),
    ],
)
def test_the_type_is_believed_unless_the_bytes_cannot_be_that(
    data: bytes, kind: str, what: str
) -> None:
    assert kind_of_page(data, kind) == what


def test_parts_are_found_in_chinese_and_stand_under_their_headings() -> None:
    filler = "".join(f"## 第{n}章\n\n没有关系的文字。\n\n" for n in range(200))
    text = f"{filler}## 超时\n\n默认的超时时间是四十二秒。\n\n{filler}"
    found = excerpts(text, "超时时间", 400)
    assert "## 超时\n" in found
    assert "四十二秒" in found
    assert found.startswith("[…]")
    assert len(found) <= 400
    assert excerpts(text, "giraffe", 400) == ""

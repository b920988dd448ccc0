"""Edits: what matches, and that every byte outside of it stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.tools.edits import Edit, apply_edit, apply_edits
from shipmate.tools.folding import fold
from shipmate.tools.tool import ToolError


def edited(data: bytes, old: str, new: str, *, everywhere: bool = False) -> bytes:
    return apply_edit(data, Edit(old, new, everywhere)).data


LINES = st.lists(
    st.tuples(
        st.text(st.sampled_from("ab éñ“’—\u00a0e\u0301中😀\r"), max_size=6),
        st.sampled_from(["\n", "\r\n"]),
    ),
    max_size=8,
)


@given(
    LINES,
    LINES,
    st.sampled_from([("utf-8", b""), ("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe")]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_every_byte_outside_an_edit_stays(
    before: list[tuple[str, str]],
    after: list[tuple[str, str]],
    encoding: tuple[str, bytes],
    end: str,
) -> None:
    name, bom = encoding
    head, tail = ("".join(a + b for a, b in part).encode(name) for part in (before, after))

    def whole(middle: str) -> bytes:
        return bom + head + middle.encode(name) + tail

    assert edited(whole(f"MARK{end}ER{end}"), "MARK\nER\n", "NEW\n\nLINE\n") == whole(
        f"NEW{end}{end}LINE{end}"
    )


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_damaged_bytes_far_from_an_edit_stay(head: bytes, tail: bytes) -> None:
    def whole(word: bytes) -> bytes:
        return head + b"\n some words, and " + word + b" some more of them\n" + tail

    try:
        done = edited(whole(b"MARKER"), "MARKER", "written")
    except ToolError:
        done = None  # binary: refused
    assert done in {whole(b"written"), None}


def test_one_damaged_byte_does_not_keep_utf8_from_being_edited() -> None:
    data = "äöü €\n".encode() + b"\xff\n" + "größe = 1\n".encode()
    assert edited(data, "größe = 1", "größe = 2") == data.replace(b"1", b"2")


SHORT = st.lists(st.sampled_from(["a", " a", "\ta", "‘a’", "'a'", "e\u0301", "é", "b ", ""]))


@given(SHORT, SHORT.filter(any), SHORT, st.sampled_from(["\n", "\r\n"]))
def test_whatever_is_taken_for_a_match_only_its_lines_change(
    lines: list[str], old: list[str], new: list[str], end: str
) -> None:
    data = "".join(f"{line}{end}" for line in lines).encode()
    try:
        done = apply_edit(data, Edit("\n".join(old), "\n".join(new)))
    except ToolError:
        return
    first = done.lines[0] - 1
    head = "".join(f"{line}{end}" for line in lines[:first]).encode()
    tail = "".join(f"{line}{end}" for line in lines[first + len(old) :]).encode()
    assert done.data.startswith(head)
    assert done.data[len(head) :].endswith(tail)
    middle = done.data[len(head) : len(done.data) - len(tail)].decode()
    written = [fold(part.strip(" \t\r")).text for part in middle.split("\n")]
    assert all(fold(part.strip(" \t")).text in "\n".join(written) for part in new)


def test_lines_of_either_kind_keep_their_ends_around_a_change() -> None:
    mixed = b"a\r\nb\nc\r\nd\n"
    assert edited(mixed, "a\nb\nc\nd", "a\nB\nc\nD") == b"a\r\nB\nc\r\nD\n"
    assert edited(mixed, "a\nb", "a\nnew\nb") == b"a\r\nnew\nb\nc\r\nd\n"
    assert edited(b"a\r\nb\r\n", "b\n", "b\nc\n") == b"a\r\nb\r\nc\r\n"


def test_a_line_ends_at_lf_only() -> None:
    data = "a\u2028b\x0cc\x85d\rx\n".encode()
    done = apply_edit(data, Edit("d\rx", "e"))
    assert (done.data, done.lines) == ("a\u2028b\x0cc\x85e\n".encode(), (1,))


@pytest.mark.parametrize("encoding", ["gb18030", "cp1252", "utf-16-le", "utf-16-be", "utf-32-le"])
def test_new_text_is_written_in_the_encoding_that_stands_there(encoding: str) -> None:
    word, other = ("中文字", "汉语") if encoding == "gb18030" else ("café", "olé")
    bom = "\ufeff".encode(encoding) if "utf" in encoding else b""
    data = bom + f"x = '{word}'\r\ny = 1\r\n".encode(encoding)
    assert edited(data, f"x = '{word}'\ny = 1", f"x = '{other}'\ny = 2") == bom + (
        f"x = '{other}'\r\ny = 2\r\n".encode(encoding)
    )


def test_what_the_encoding_cannot_say_is_refused() -> None:
    with pytest.raises(ToolError, match="cannot be written in the file's encoding, cp1252"):
        edited("café = 1\n".encode("cp1252"), "1", "中")


def test_a_binary_file_is_refused() -> None:
    with pytest.raises(ToolError, match="ELF"):
        edited(b"\x7fELF\x00\x01abc\x00", "abc", "abd")


def test_indentation_may_differ_in_one_way_and_the_new_lines_follow_it() -> None:
    data = b"class A:\n        def f():\n            return 1\n"
    done = apply_edit(data, Edit("def f():\n    return 1\n", "def f():\n    x = 2\n    return x\n"))
    assert done.data == b"class A:\n        def f():\n            x = 2\n            return x\n"
    assert "white space" in done.how
    assert edited(b"\tif x:\n\t\ty()\n", "    if x:\n        y()", "    if x:\n        z()") == (
        b"\tif x:\n\t\tz()\n"
    )
    assert (
        edited(b"    a\n    b\n", "      a\n      b", "      a\n        c") == b"    a\n      c\n"
    )


def test_indentation_that_differs_in_two_ways_is_no_match() -> None:
    with pytest.raises(ToolError, match="not found"):
        edited(b"if x:\n  y()\n", "if x:\n        y()", "if x:\n        z()")


def test_white_space_at_line_ends_may_differ_and_unchanged_lines_keep_theirs() -> None:
    data = b"keep  \t\r\nold \r\nlast\r\n"
    done = apply_edit(data, Edit("keep\nold\n", "keep\nnew\n"))
    assert (done.data, done.lines) == (b"keep  \t\r\nnew\r\nlast\r\n", (1,))
    assert edited(b"a \nb\n", "a\n", "") == b"b\n"
    assert edited(b"a\nb", "b\n", "c\n") == b"a\nc"


@pytest.mark.parametrize(
    ("data", "old", "new", "after"),
    [
        ("say “hi” now", 'say "hi" now', 'say "hi" later', "say “hi” later"),
        ("a\u00a0= 1 — one", "a = 1 - one", "a = 2 - one", "a\u00a0= 2 — one"),
        ("cafe\u0301 = 1", "café = 1", "café = 2", "cafe\u0301 = 2"),
        ("café = 1", "cafe\u0301 = 1", "cafe\u0301 = 2", "café = 2"),
        ("e\u0301e\u0301 ’x", "éé 'x", "é 'x", "e\u0301 ’x"),
        ("각 x", "\u1100\u1161\u11a8 x", "나 x", "나 x"),
    ],
)
def test_a_look_alike_is_accepted_where_it_is_the_only_one(
    data: str, old: str, new: str, after: str
) -> None:
    done = apply_edit(data.encode(), Edit(old, new))
    assert done.data.decode() == after
    assert "look-alikes" in done.how


def test_several_look_alikes_are_refused_even_for_all() -> None:
    for everywhere in (False, True):
        with pytest.raises(ToolError, match="2 matches"):
            edited("‘a’ “a” ’a’".encode(), "'a'", "b", everywhere=everywhere)


def test_overlapping_places_are_not_a_single_one() -> None:
    with pytest.raises(ToolError, match="2 matches"):
        edited(b"aaa", "aa", "b")
    assert edited(b"aaaaa", "aa", "b", everywhere=True) == b"bba"


def test_all_places_are_replaced_however_many() -> None:
    assert edited(b"x\r\n" * 5000, "x\n", "y\n", everywhere=True) == b"y\r\n" * 5000


def test_a_failed_edit_shows_the_closest_lines() -> None:
    data = b"import os\n\ndef f():\n    x = 1\n    y = 2\n    return x\n"
    with pytest.raises(ToolError) as error:
        edited(data, "def f():\n    x = 1\n    y = 99\n    return x", "pass")
    assert "lines 3-6" in str(error.value)
    assert "- 5     y = 2\n+       y = 99\n  6     return x" in str(error.value)


def test_edits_build_on_each_other_and_overlaps_are_named() -> None:
    after, _ = apply_edits(b"a\nb\n", [("1", Edit("a\n", "a\nc\n")), ("2", Edit("c\nb", "c\nB"))])
    assert after == b"a\nc\nB\n"
    with pytest.raises(ToolError) as error:
        apply_edits(
            b"one\ntwo\n",
            [("[0]", Edit("one", "1")), ("[1]", Edit("one\ntwo", "x")), ("[2]", Edit("no", "x"))],
        )
    first, *_, last = str(error.value).split("\n")
    assert first.startswith("[1]: it overlaps an edit before it, which changed the text at line 1")
    assert "[2]: oldString was not found." in str(error.value), last


@pytest.mark.parametrize(("old", "new"), [("", "x"), ("a", "a"), ("a\r\n", "a\n")])
def test_an_edit_that_means_nothing_is_refused(old: str, new: str) -> None:
    with pytest.raises(ToolError, match="oldString"):
        edited(b"a\nb\n", old, new)

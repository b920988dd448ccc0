"""What an approval shows of a change."""

import time

from hypothesis import given
from hypothesis import strategies as st

from shipmate.protocol import FileChange, encode
from shipmate.tools.diffs import MAX_SHOWN, file_change


def diff(before: bytes | None, after: bytes) -> FileChange:
    return file_change("f.txt", before, after)


WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=30)


@given(WORDS, WORDS)
def test_hunks_turn_the_old_lines_into_the_new_ones(old: list[str], new: list[str]) -> None:
    change = diff("".join(f"{x}\n" for x in old).encode(), "".join(f"{x}\n" for x in new).encode())
    made, at = list[str](), 0
    for hunk in change.hunks:
        assert len(made) + hunk.old_start - 1 - at + 1 == hunk.new_start
        made += old[at : hunk.old_start - 1]
        taken = [line[1:] for line in hunk.lines if line[0] != "+"]
        assert taken == old[hunk.old_start - 1 : hunk.old_start - 1 + len(taken)]
        made += [line[1:] for line in hunk.lines if line[0] != "-"]
        at = hunk.old_start - 1 + len(taken)
    assert made + old[at:] == new
    signs = [line[0] for hunk in change.hunks for line in hunk.lines]
    assert (change.added, change.removed) == (signs.count("+"), signs.count("-"))


def test_far_changes_are_hunks_of_their_own_with_three_lines_around() -> None:
    old = [str(n) for n in range(100)]
    new = [*old[:10], "x", *old[11:50], *old[51:]]
    change = diff("\n".join(old).encode(), "\n".join(new).encode())
    assert [(h.old_start, h.new_start, len(h.lines)) for h in change.hunks] == [
        (8, 8, 8),
        (48, 48, 7),
    ]
    assert (change.added, change.removed, change.note) == (1, 2, "")


def test_a_new_file_is_all_added() -> None:
    change = diff(None, b"a\nb")
    assert (change.change, change.added, change.removed) == ("create", 2, 0)
    assert change.hunks[0].lines == ("+a", "+b")


def test_what_lines_do_not_show_is_noted() -> None:
    assert diff(b"a\r\nb\r\n", b"a\nb\n").note == "line ends change from CR LF to LF"
    assert diff(b"a\n", b"a").note == "the line end after the last line is taken out"
    assert "from cp1252 to utf-8" in diff("é\n".encode("cp1252"), "é\n".encode()).note
    assert "utf-8 with BOM to utf-8" in diff(b"\xef\xbb\xbfa", b"a").note
    assert diff(b"a", b"\x7fELF\0\1\2").note == "ELF program or library, 7 bytes: not shown"


def test_a_huge_change_is_cut_in_time_and_says_so() -> None:
    old = "".join(f"{n * 7919 % 1000}\n" for n in range(50_000)).encode()
    new = "".join(f"{n * 104729 % 1000}\n" for n in range(50_000)).encode()
    begun = time.monotonic()
    change = diff(old, new)
    assert time.monotonic() - begun < 5
    assert change.note == "the diff is cut"
    assert sum(len(hunk.lines) for hunk in change.hunks) == MAX_SHOWN


def test_a_change_far_to_the_right_of_a_long_line_is_seen() -> None:
    line = "x" * 100_000
    change = diff(f"{line}old\n".encode(), f"{line}new\n".encode())
    taken, put = change.hunks[0].lines
    assert taken.endswith("xold")
    assert put.endswith("xnew")
    assert len(taken) < 3000
    assert change.note == "long lines are cut"


def test_damaged_text_can_be_shown_and_sent() -> None:
    assert b"\\\\xff" in encode(diff("ä € ö\n".encode() + b"\xff\n", "ä € ö\n".encode() + b"a\n"))

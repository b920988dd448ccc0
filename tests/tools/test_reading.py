"""Windows on texts: paging loses nothing, whatever the lines are."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from shipmate.tools.reading import Content, Span, line_place, part, visible

LINES = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=40))


def content(text: str) -> Content:
    lines = text.count("\n") + (not text.endswith("\n"))
    return Content("f", Path("f"), len(text), text, lines=lines)


@given(LINES, st.integers(60, 300), st.integers(0, 400))
def test_paging_gives_every_line_once_and_in_order(lines: list[str], chars: int, size: int) -> None:
    text = "".join(f"{line}\n" for line in lines)
    got: list[str] = []
    start = 1
    while text and start:
        shown = part(content(text), Span(start), chars, size and size + 300)
        assert len(shown.text) <= chars
        assert shown.last == start + shown.text.count("\n")
        got += shown.text.split("\n")
        start = shown.go_on
    assert got == [visible(line) for line in lines]


@given(st.text("ab\n", max_size=50), st.integers(0, 60))
def test_the_place_of_a_line_is_where_splitting_would_find_it(text: str, lines: int) -> None:
    parts = text.split("\n")
    expected = len("\n".join(parts[:lines])) + (lines > 0) if lines < len(parts) else len(text)
    assert line_place(text, lines) == expected


def test_bounds_are_clamped_and_swapped() -> None:
    assert Span.of(0, -1) == Span(1, 0)
    assert Span.of(7, 4) == Span(4, 7)
    assert Span.of(3, 9, 5) == Span(3, 3, 5)

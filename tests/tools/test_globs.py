"""Globs on project-relative paths."""

import time

import pytest

from shipmate.tools.globs import fixed_folder, glob, names_dot
from shipmate.tools.tool import ToolError


@pytest.mark.parametrize(
    ("pattern", "matches", "misses"),
    [
        ("*.py", ["a.py", "src/a.py", "src/deep/a.py"], ["a.pyc", "a.py/b"]),
        ("/*.py", ["a.py"], ["src/a.py"]),
        ("src/*.py", ["src/a.py", "lib/src/a.py"], ["src/deep/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["other/a.py"]),
        ("**/test_*", ["test_a", "x/test_a"], ["x/atest_a"]),
        ("**", ["a", "a/b"], []),
        ("docs/", ["docs/a", "x/docs/b/c"], ["docs"]),
        ("*.{ts,tsx}", ["a.ts", "b/a.tsx"], ["a.js"]),
        ("{src,lib}/*.{c,h}", ["src/a.c", "lib/a.h"], ["doc/a.c"]),
        ("file?.txt", ["file1.txt"], ["file10.txt", "file/.txt"]),
        ("[a-c]*", ["apple", "x/b"], ["dog"]),
        ("[!a]b", ["cb"], ["ab", "/b"]),
        ("a[b", ["a[b"], ["ab"]),
        ("a+b(1).txt", ["a+b(1).txt"], ["aab1.txt"]),
        ("a*b*c", ["abc", "aXbYc", "abbcc"], ["acb"]),
        ("./a.py", ["a.py"], ["b.py"]),
    ],
)
def test_patterns(pattern: str, matches: list[str], misses: list[str]) -> None:
    test = glob(pattern)
    assert [p for p in matches if not test(p)] == []
    assert [p for p in misses if test(p)] == []


def test_many_stars_take_no_exponential_time() -> None:
    test = glob("*a" * 18 + "*b")
    start = time.process_time()
    assert not test("a" * 250)
    assert time.process_time() - start < 1


def test_a_pattern_that_spells_out_too_much_is_refused() -> None:
    with pytest.raises(ToolError, match="braces"):
        glob("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}")
    with pytest.raises(ToolError, match="simpler"):
        glob("*a" * 30)


def test_a_pattern_names_dot_files_or_not() -> None:
    assert names_dot(".github/**")
    assert names_dot("**/.env*")
    assert names_dot("{.a,b}")
    assert not names_dot("*.py")
    assert not names_dot("./a.py")


def test_the_folder_of_an_anchored_pattern() -> None:
    assert fixed_folder("/src/a/**/*.py") == "src/a"
    assert fixed_folder("src/a/*.py") == ""
    assert fixed_folder("/a.py") == ""

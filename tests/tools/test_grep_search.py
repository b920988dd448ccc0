"""Lines by what is in them: bounded, honest, in one order, with one decoder."""

import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shipmate.protocol import MatchesDetail
from shipmate.safety.verdict import Level
from shipmate.tools.grep import grep_search
from shipmate.tools.ripgrep import Search, ripgrep, run
from shipmate.tools.tool import ToolOutput, Workspace
from tests.tools.use import judged, used

both = pytest.mark.usefixtures("program")
"""Run with ripgrep, and with our own program."""


async def grep(work: Workspace, query: str, regexp: bool = False, **more: Any) -> ToolOutput:
    return await used(work, grep_search, query=query, isRegexp=regexp, **more)


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        (root / name).write_text(text)


@both
async def test_path_line_and_text(work: Workspace) -> None:
    write(work.root, b="one\nTwo\n", a="  two three\n")
    output = await grep(work, "two")
    assert output.text == "a:1:   two three\nb:2: Two"
    assert output.details == MatchesDetail(count=2, what="hits")
    assert (await grep(work, "two", caseSensitive=True)).text == "a:1:   two three"
    assert (await grep(work, "^t.o", regexp=True)).text == "b:2: Two"


@pytest.mark.parametrize(("query", "hits"), [("-> b", 1), ("--pre=sh", 1), ("-77", 1), ("-e", 0)])
async def test_a_query_is_never_an_option(work: Workspace, query: str, hits: int) -> None:
    write(work.root, f="a -> b\n--pre=sh\n-77\n")
    for regexp in (False, True):
        output = await grep(work, query, regexp)
        assert output.text.count("f:") == hits


async def test_a_long_line_is_cut_around_the_match_with_its_column(work: Workspace) -> None:
    write(work.root, m="var a=1;" * 125_000 + "NEEDLE" + ";b=2" * 5 + "\n")
    text = (await grep(work, "NEEDLE")).text
    assert len(text) <= 2_000
    assert text.startswith("m:1: [column 1000001 of 1000026] ...")
    assert text.endswith("var a=1;NEEDLE;b=2;b=2;b=2;b=2;b=2")


@both
async def test_the_column_counts_characters(work: Workspace) -> None:
    write(work.root, m="界" * 500 + "X" + "界" * 500)
    text = (await grep(work, "X")).text
    assert text.startswith("m:1: [column 501 of 1001] ...界")
    assert text.endswith("界...")


@both
async def test_hanzi_in_a_file_that_is_not_utf_8_are_found(work: Workspace) -> None:
    (work.root / "g.c").write_bytes("int a;\n// 配置文件数据结构\n".encode("gbk"))
    (work.root / "u.txt").write_bytes("\ufeff配置\n".encode("utf-16-le"))
    write(work.root, utf8="配置 here\n")
    output = await grep(work, "配置")
    assert output.text == "g.c:2: // 配置文件数据结构\nu.txt:1: 配置\nutf8:1: 配置 here"
    assert (await grep(work, "int a")).text == "g.c:1: int a;"


async def test_a_file_in_another_encoding_is_shown_as_text(work: Workspace) -> None:
    (work.root / "g.c").write_bytes("// LOAD 配置文件数据结构\n".encode("gbk"))
    assert (await grep(work, "LOAD")).text == "g.c:1: // LOAD 配置文件数据结构"


async def test_thousands_of_hits_are_counted_and_given_in_one_order(work: Workspace) -> None:
    for n in range(1, 301):
        (work.root / f"f{n}").write_text("x\n" * 20)
    first, second = [(await grep(work, "x", maxResults=200)).text for _ in range(2)]
    assert first == second
    assert len(first) <= 20_000
    note = first.split("\n")[0]
    assert note.startswith("[200 of more than 2,000 matching lines in ")
    assert "includePattern" in note


@both
async def test_hits_beyond_the_limit_are_counted(work: Workspace) -> None:
    write(work.root, f="x\n" * 30, g="x\n" * 30)
    output = await grep(work, "x")
    assert output.text.startswith("[20 of 60 matching lines in 2 files;")
    assert output.text.count("\n") == 20
    assert output.truncated


@both
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
async def test_pipes_are_skipped(work: Workspace) -> None:
    os.mkfifo(work.root / "p")
    write(work.root, a="x\n")
    start = time.perf_counter()
    assert (await grep(work, "x")).text == "a:1: x"
    assert time.perf_counter() - start < 2


@both
async def test_broken_links_and_links_that_lead_out_are_not_followed(
    work: Workspace, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    write(outside, secret="x\n")
    write(work.root, a="x\n")
    (work.root / "dangling").symlink_to("/nowhere")
    (work.root / "out").symlink_to(outside)
    assert (await grep(work, "x")).text == "a:1: x"
    verdict = await judged(work, grep_search, query="x", isRegexp=False, includePattern="out")
    assert verdict.level is Level.REFUSE


@both
async def test_nothing_found_and_hidden_by_a_rule_are_told_apart(work: Workspace) -> None:
    write(work.root, a="x\n", **{".gitignore": "*.log\n", "b.log": "needle\n"})
    text = (await grep(work, "needle")).text
    assert text == (
        "No match for 'needle' in 2 files. Not searched: binary files, what .gitignore hides"
        " (includeIgnoredFiles), files that may hold secrets."
    )
    assert (await grep(work, "needle", includeIgnoredFiles=True)).text == "b.log:1: needle"
    assert "no file was searched" in (await grep(work, "x", includePattern="*.rs")).text


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("*.py", ["a.py", "src/b.py"]),
        ("src", ["src/b.py", "src/c.ts"]),
        ("src/", ["src/b.py", "src/c.ts"]),
        ("src/**", ["src/b.py", "src/c.ts"]),
        ("/*.py", ["a.py"]),
        ("src/*.{ts,py}", ["src/b.py", "src/c.ts"]),
        ("src/c.ts", ["src/c.ts"]),
        ("", ["a.py", "src/b.py", "src/c.ts"]),
    ],
)
async def test_include_pattern(work: Workspace, pattern: str, files: list[str]) -> None:
    (work.root / "src").mkdir()
    write(work.root, **{"a.py": "x\n", "src/b.py": "x\n", "src/c.ts": "x\n", ".gitignore": "z\n"})
    (work.root / "z").mkdir()
    write(work.root / "z", **{"d.py": "x\n"})
    output = await grep(work, "x", includePattern=pattern)
    assert output.text == "\n".join(f"{file}:1: x" for file in files)


@both
async def test_no_answer_depends_on_what_a_secret_file_holds(work: Workspace) -> None:
    write(work.root, **{".env": "KEY=abc\n", "a": "x\n"})
    hit, miss = [(await grep(work, query)).text for query in ("KEY=abc", "KEY=abd")]
    assert hit.replace("abc", "abd") == miss
    assert "files that may hold secrets" in hit
    output = await grep(work, "KEY", includePattern=".env")
    assert output.is_error
    assert "read_file asks the user" in output.text
    free = replace(work, ask_secrets=False)
    assert (await grep(free, "KEY")).text == ".env:1: KEY=abc"


async def test_a_query_that_only_matches_the_other_way_is_tried_and_said(work: Workspace) -> None:
    write(work.root, f="call(a[0])\nvalue = 42\n")
    text = (await grep(work, "a[0]", regexp=True)).text
    assert (
        text
        == "[Nothing matches as a regular expression; these match as plain text]\nf:1: call(a[0])"
    )
    text = (await grep(work, r"value\s=\s\d+")).text
    assert (
        text
        == "[Nothing matches as plain text; these match as a regular expression]\nf:2: value = 42"
    )


@both
async def test_a_broken_regular_expression_is_searched_as_text(work: Workspace) -> None:
    write(work.root, f="call(\n")
    note, hit = (await grep(work, "call(", regexp=True)).text.split("\n")
    assert note.startswith("[Not a valid regular expression (")
    assert hit == "f:1: call("
    assert "No match for 'other('" in (await grep(work, "other(", regexp=True)).text


async def test_the_server_s_own_data_is_not_searched(work: Workspace) -> None:
    (work.root / "data").mkdir()
    write(work.root / "data", log="x\n")
    assert "No match" in (await grep(replace(work, protected=(work.root / "data",)), "x")).text


@both
async def test_git_s_own_data_is_not_searched(work: Workspace) -> None:
    subprocess.run(["git", "init", "-q", work.root], check=True)
    assert (
        "No match" in (await grep(work, "repositoryformatversion", includeIgnoredFiles=True)).text
    )


@both
async def test_windows_line_ends_end_a_line(work: Workspace) -> None:
    (work.root / "f").write_bytes(b"one\r\ntwo\r\n")
    assert (await grep(work, "one$", regexp=True)).text == "f:1: one"


async def test_a_search_is_ended_by_its_time_limit(work: Workspace, program: str) -> None:
    write(work.root, f="a" * 40 + "b\n")
    search = Search(str(work.root), query="(a+)+$", regexp=True)
    start = time.perf_counter()
    ended = await run(search, lambda _line: True, seconds=2)
    assert time.perf_counter() - start < 4
    assert ended.late is (program != "ripgrep")


async def test_a_search_that_found_enough_is_ended_and_leaves_nothing_open(
    work: Workspace,
) -> None:
    write(work.root, f="a line that fills the pipe\n" * 200_000)
    open_before = _open_files()
    statuses: list[int] = []
    for _ in range(40):  # whoever waits for its end takes it from nobody else who does
        taken: list[bytes] = []
        ended = await run(
            Search(str(work.root), query="line"),
            lambda line, taken=taken: len(taken) < 9 and not taken.append(line),
        )
        assert len(taken) == 9
        statuses.append(ended.status)
    assert statuses == [-signal.SIGKILL] * 40
    assert _open_files() == open_before


def _open_files() -> int:
    listed = Path("/proc/self/fd")
    return sum(1 for _ in listed.iterdir()) if listed.exists() else 0


@pytest.mark.skipif(not ripgrep(), reason="there is no ripgrep")
async def test_an_expression_that_backtracks_for_ever_takes_no_time(
    work: Workspace, program: str
) -> None:
    if program != "ripgrep":
        pytest.skip("re backtracks: the time limit ends it")
    write(work.root, f="a" * 100_000 + "b\n")
    start = time.perf_counter()
    assert "No match" in (await grep(work, "(a+)+$", regexp=True)).text
    assert time.perf_counter() - start < 2

"""Reading files: bounds, what is no text, large files, secrets, the guard, cut results."""

import os
import socket
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import pytest

from shipmate.protocol import MatchesDetail
from shipmate.safety.verdict import Level
from shipmate.tools.files import sha256
from shipmate.tools.output import border
from shipmate.tools.read_only import read_file
from shipmate.tools.tool import Limits, Workspace
from tests.reports import reports
from tests.tools.use import judged, numbers, used

CASES = reports("read-search")


@pytest.fixture(autouse=True)
def ten_lines(work: Workspace) -> None:
    (work.root / "f").write_text(numbers(1, 10))


async def read(work: Workspace, path: str = "f", **bounds: Any) -> str:
    return (await used(work, read_file, path=path, **bounds)).text


async def test_a_whole_file_is_given_as_it_is(work: Workspace) -> None:
    output = await used(work, read_file, path="f")
    assert output.text == numbers(1, 10).rstrip("\n")
    assert output.details == MatchesDetail(count=10, what="lines")
    assert not output.truncated


async def test_a_start_beyond_the_end_names_the_number_of_lines(work: Workspace) -> None:
    case = CASES["RDS-01"]
    (work.root / "f").write_text(numbers(1, 5))
    output = await used(work, read_file, **case["input"]["args"])
    assert not output.is_error
    for words in case["expect"]["contains"]:
        assert words in output.text
    for words in case["expect"]["not_contains"]:
        assert words not in output.text


@pytest.mark.parametrize(
    ("given", "header", "lines"),
    [
        ({"startLine": 0, "endLine": 3}, "f, lines 1-3 of 10", (1, 3)),
        ({"startLine": -2}, "", (1, 10)),
        ({"startLine": 7, "endLine": 4}, "f, lines 4-7 of 10", (4, 7)),
        ({"startLine": "2", "endLine": "3"}, "f, lines 2-3 of 10", (2, 3)),
        ({"startLine": 9, "endLine": 1_000_000_000}, "f, lines 9-10 of 10", (9, 10)),
        ({"startLine": 2.0}, "f, lines 2-10 of 10", (2, 10)),
    ],
)
async def test_bounds_of_any_kind_give_a_sensible_window(
    work: Workspace, given: dict[str, Any], header: str, lines: tuple[int, int]
) -> None:
    assert given in CASES["RDS-03"]["input"]["args"]
    text = await read(work, **given)
    body = numbers(*lines).rstrip("\n")
    assert text == (f"{header}\n{body}" if header else body)


async def test_an_empty_file_is_called_empty(work: Workspace) -> None:
    (work.root / "e").touch()
    assert await read(work, "e") == "[e is empty: 0 bytes]"


async def test_what_is_no_text_is_named_with_its_kind_and_size(work: Workspace) -> None:
    (work.root / "a.out").write_bytes(b"\x7fELF\x02\x01\x01\0" + bytes(5_000_000))
    (work.root / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    assert "not text: ELF program or library, 5.0 MB" in await read(work, "a.out")
    assert "PNG image, 16 bytes; look at it with view_image" in await read(work, "p.png")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
async def test_pipes_sockets_and_devices_are_not_opened(work: Workspace) -> None:
    os.mkfifo(work.root / "p")
    with socket.socket(socket.AF_UNIX) as listener:
        folder = os.open(work.root, os.O_RDONLY)
        listener.bind(f"/proc/self/fd/{folder}/s")
        os.close(folder)
        start = time.perf_counter()
        for path, kind in (("p", "pipe"), ("s", "socket")):
            output = await used(work, read_file, path=path)
            assert output.is_error
            assert kind in output.text
        assert time.perf_counter() - start < 2


async def test_one_line_of_a_megabyte_says_how_to_get_the_rest(work: Workspace) -> None:
    line = "var a=1;" * 125_000 + "NEEDLE" + ";b=2" * 5
    (work.root / "m.js").write_text(line + "\n")
    text = await read(work, "m.js")
    assert len(text) <= 10_000
    assert "more characters in line 1; startLine 1 with startColumn" in text
    assert "grep_search" in text
    text = await read(work, "m.js", startLine=1, startColumn=1_000_001)
    assert text == "m.js, lines 1-1 of 1, from column 1000001\nNEEDLE" + ";b=2" * 5


async def test_a_long_line_can_be_paged_without_a_gap(work: Workspace) -> None:
    work = replace(work, limits=Limits(reads_per_round=99))
    line = "".join(f"{n:06} " for n in range(6_000))
    (work.root / "l").write_text(line)
    got, column = "", 1
    while column <= len(line):
        body = (await read(work, "l", startColumn=column)).split("\n", 1)[1]
        body = body.split(" [... ")[0]
        got, column = got + body, column + len(body)
    assert got == line


async def test_a_long_file_is_cut_at_a_line_and_the_next_one_named(work: Workspace) -> None:
    (work.root / "long").write_text(numbers(1, 100_000))
    text = await read(work, "long")
    header, body = text.split("\n", 1)
    last = int(body.rsplit("\n", 1)[1])
    assert 19_000 < len(text) <= 20_000
    said = f"long, lines 1-{last} of 100000; cut at the limit, go on with startLine {last + 1}"
    assert header == said
    assert (await read(work, "long", startLine=last + 1)).split("\n")[1] == str(last + 1)


async def test_large_files_give_the_same_lines_as_small_ones(work: Workspace) -> None:
    (work.root / "large").write_text(numbers(1, 1_000_000))
    header, first, *_ = (await read(work, "large", startLine=700_001)).split("\n")
    assert header.startswith("large, lines 700001-")
    assert "of 1000000; cut at the limit, go on with startLine" in header
    assert first == "700001"
    assert (await read(work, "large", startLine=999_999)).split("\n") == [
        "large, lines 999999-1000000 of 1000000",
        "999999",
        "1000000",
    ]
    assert "has 1,000,000 lines" in await read(work, "large", startLine=1_000_001)


async def test_one_line_of_fifty_megabytes_is_shown_from_its_beginning(work: Workspace) -> None:
    with (work.root / "one").open("wb") as file:
        for _ in range(50):
            file.write(b"x" * 1_000_000)
    text = await read(work, "one")
    assert len(text) < 3_000
    assert "more than 9" in text


async def test_a_file_of_a_gigabyte_is_not_read_to_the_end(work: Workspace) -> None:
    with (work.root / "giant").open("wb") as file:
        file.write(b"line\n" * 100_000)
        file.truncate(1_000_000_000)
    text, best = "", 1.0
    for _ in range(3):
        start = time.perf_counter()
        text = await read(work, "giant")
        best = min(best, time.perf_counter() - start)
    assert best < 0.2
    assert "a large file, its lines are not counted" in text
    assert "go on with startLine" in text


_GROWTH = """
import asyncio, resource, sys
from pathlib import Path
from shipmate.tools.read_only import read_file
from shipmate.tools.tool import ToolContext, Workspace

root = Path(sys.argv[1])
work = Workspace(root)
asyncio.run(read_file.run(ToolContext(work), path="small"))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name in ("million", "one", "giant", "binary"):
    asyncio.run(read_file.run(ToolContext(work), path=name))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux counts it")
def test_large_files_take_little_memory(work: Workspace) -> None:
    (work.root / "small").write_text("1\n")
    (work.root / "million").write_text("1\n" * 1_000_000)
    (work.root / "binary").write_bytes(bytes(range(256)) * 40_000)
    for name, piece, size in (("one", b"x" * 1_000_000, 50), ("giant", b"line\n" * 100_000, 2)):
        with (work.root / name).open("wb") as file:
            file.writelines(piece for _ in range(size))
    os.truncate(work.root / "giant", 1_000_000_000)
    command = [sys.executable, "-c", _GROWTH, str(work.root)]
    grown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert int(grown) <= 20


async def test_other_encodings_are_read_and_named(work: Workspace) -> None:
    (work.root / "g.c").write_bytes("// 配置文件数据结构\r\nint a;\r\n".encode("gbk"))
    (work.root / "u.txt").write_bytes("\ufeffgrüße\n".encode("utf-16-le"))
    assert await read(work, "g.c") == "g.c, lines 1-2 of 2, gb18030\n// 配置文件数据结构\nint a;"
    assert await read(work, "u.txt") == "u.txt, lines 1-1 of 1, utf-16-le\ngrüße"


async def test_control_characters_are_shown_and_not_lost(work: Workspace) -> None:
    (work.root / "c").write_bytes(b"a\x1b[31mred b\rc\r\n\x0c\n")
    assert await read(work, "c") == "a␛[31mred b␍c\n␌"


async def test_a_missing_file_is_answered_with_near_names(work: Workspace) -> None:
    (work.root / "Config.toml").touch()
    output = await used(work, read_file, path="config.tml")
    assert output.is_error
    assert output.text == "'config.tml' does not exist. Near: Config.toml."


async def test_a_folder_is_answered_with_the_tool_that_looks_into_it(work: Workspace) -> None:
    (work.root / "src").mkdir()
    output = await used(work, read_file, path="src")
    assert output.text == "'src' is a folder. Look into it with list_files."


async def test_outside_the_project_is_refused(work: Workspace) -> None:
    for path in ("../x", "/etc/passwd"):
        verdict = await judged(work, read_file, path=path)
        assert verdict.level is Level.REFUSE
        assert str(work.root) in verdict.reason
        assert verdict.details is not None


async def test_absolute_and_rooted_paths_of_the_project_are_fine(work: Workspace) -> None:
    assert (await read(work, str(work.root / "f"))).startswith("1\n")
    assert (await read(work, "/f")).startswith("1\n")


async def test_secret_shaped_files_ask_unless_that_is_switched_off(work: Workspace) -> None:
    (work.root / ".env").write_text("KEY=1\n")
    verdict = await judged(work, read_file, path=".env")
    assert verdict.level is Level.ASK
    assert verdict.title == "Read .env"
    assert verdict.binds == {str(work.root / ".env"): ""}
    free = replace(work, ask_secrets=False)
    assert (await judged(free, read_file, path=".env")).level is Level.ALLOW


async def test_the_fourth_read_in_a_round_is_answered_with_advice(work: Workspace) -> None:
    await read(work, startLine=1, endLine=3)
    await read(work, startLine=5, endLine=6)
    await read(work)
    output = await used(work, read_file, path=f"{work.root}/f")
    assert not output.is_error
    assert "was read 3 times in this round (lines 1-3, 5-6, 1-10)" in output.text
    (work.root / "f").write_text("changed\n")
    assert await read(work) == "changed"


async def test_the_whole_text_of_a_cut_result_can_be_paged(work: Workspace) -> None:
    await border(numbers(1, 10_000), work, "call7")
    text = await read(work, "output:call7", startLine=9_999)
    assert text == "output:call7, lines 9999-10000 of 10000\n9999\n10000"
    for _ in range(5):
        assert "was read" not in await read(work, "output:call7", startLine=9_999)


async def test_a_file_the_agent_changed_can_be_read_again(work: Workspace) -> None:
    for _ in range(3):
        await read(work)
    work.note(work.root / "f", sha256((work.root / "f").read_bytes()))
    assert "was read 3 times" in await read(work)
    (work.root / "f").write_text("new\n")
    work.note(work.root / "f", sha256(b"new\n"))
    assert await read(work) == "new"


async def test_a_very_long_result_is_paged_like_a_large_file(work: Workspace) -> None:
    await border(numbers(1, 1_000_000), work, "c9")
    text = await read(work, "output:c9", startLine=999_999)
    assert text == "output:c9, lines 999999-1000000 of 1000000\n999999\n1000000"


@pytest.mark.parametrize("path", ["output:nothing", "output:../s1/call7", "output:"])
async def test_only_what_this_session_kept_is_found(work: Workspace, path: str) -> None:
    await border(numbers(1, 10_000), replace(work, session="other"), "nothing")
    assert "is not kept" in await read(work, path)


async def test_reading_a_small_file_costs_little(work: Workspace) -> None:
    best = 1.0
    work = replace(work, limits=Limits(reads_per_round=1_000))
    for _ in range(50):
        start = time.perf_counter()
        await used(work, read_file, path="f")
        best = min(best, time.perf_counter() - start)
    assert best < 0.005

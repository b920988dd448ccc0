"""Public bug reports on reading and searching (`tests/cases/reports.jsonl`), each as reported."""

import os
import re
import subprocess
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from shipmate.tools.catalog import BUILTIN
from shipmate.tools.tool import ToolOutput, Workspace
from tests.reports import reports
from tests.tools.use import used

CASES = reports("read-search")
TOOLS = {tool.name: tool for tool in BUILTIN["read_only"]}
Use = Callable[..., Awaitable[ToolOutput]]
Check = Callable[[Use, dict[str, Any], dict[str, Any]], Awaitable[None]]


async def start_beyond_the_end(use: Use, given: dict[str, Any], expect: dict[str, Any]) -> None:
    output = await use("read_file", **given["args"])
    assert not output.is_error
    assert all(words in output.text for words in expect["contains"])
    assert not any(words in output.text for words in expect["not_contains"])


async def odd_bounds(use: Use, given: dict[str, Any], expect: dict[str, Any]) -> None:
    shown = [(await use("read_file", path="f", **bounds)).text for bounds in given["args"][:3]]
    assert [re.findall(r"^\d+$", text, re.MULTILINE) for text in shown] == [
        ["1", "2", "3"],
        [str(n) for n in range(1, 11)],
        ["4", "5", "6", "7"],
    ]
    with Path("f").open("a") as file:  # the round's reads of this content are used up
        file.write("11\n")
    shown = [(await use("read_file", path="f", **bounds)).text for bounds in given["args"][3:]]
    assert [text.split("\n")[0] for text in shown] == [
        "f, lines 2-3 of 11",
        "f, lines 9-11 of 11",
        "f, lines 2-11 of 11",
    ]


async def empty_file(use: Use, given: dict[str, Any], expect: dict[str, Any]) -> None:
    output = await use("read_files", **given["args"])
    assert not output.is_error
    assert all(words in output.text for words in expect["contains"])


async def pipe(use: Use, given: dict[str, Any], expect: dict[str, Any]) -> None:
    start = time.perf_counter()
    text = (await use("read_file", path="p")).text
    assert all(words in text for words in expect["contains"])
    assert "No match" in (await use("grep_search", query="x", isRegexp=False)).text
    assert time.perf_counter() - start < expect["within_s"]


async def long_line(use: Use, given: dict[str, Any], expect: dict[str, Any]) -> None:
    text = (await use("read_file", **given["args"])).text
    assert len(text.encode()) <= 10_000
    assert "more characters in line 1; startLine 1 with startColumn" in text
    text = (await use("grep_search", query="NEEDLE", isRegexp=False)).text
    assert len(text.encode()) <= 2_000
    assert "a=1;NEEDLE;b=2" in text
    assert "column 1000001" in text


async def dashes(use: Use, given: dict[str, Any], expect: dict[str, Any]) -> None:
    texts = [(await use("grep_search", **args)).text for args in given["args"]]
    assert [text.count("f:") for text in texts] == expect["hits"]


async def broken_link(use: Use, given: dict[str, Any], expect: dict[str, Any]) -> None:
    found = await use("file_search", **given["args"])
    listed = await use("list_files", path=".", recursive=True)
    hits = await use("grep_search", query="x", isRegexp=False)
    assert all(words in text for text in (found.text, listed.text) for words in expect["contains"])
    assert not any(output.is_error for output in (found, listed, hits))
    if os.geteuid() != 0:
        assert all("Could not look" in output.text for output in (found, listed, hits))


async def hanzi(use: Use, given: dict[str, Any], expect: dict[str, Any]) -> None:
    output = await use("grep_search", **given["args"])
    assert output.text == "g.c:1: // 配置文件数据结构"


async def forged_frame(use: Use, given: dict[str, Any], expect: dict[str, Any]) -> None:
    text = (await use("read_files", **given["args"])).text
    frames = re.findall(r"^--- FILE: (.*) ---$", text, re.MULTILINE)
    assert frames == ["a.txt", "missing", "b.txt", "a.txt"]
    assert len(frames) == expect["sections"]
    assert "'missing' does not exist. There: a.txt, b.txt." in text


async def many_hits(use: Use, given: dict[str, Any], expect: dict[str, Any]) -> None:
    first, second = [(await use("grep_search", **given["args"])).text for _ in range(2)]
    assert first == second
    assert len(first) <= 20_000
    assert "of more than 2,000 matching lines" in first
    assert "narrow" in first


CHECKS: dict[str, Check] = {
    "RDS-01": start_beyond_the_end,
    "RDS-03": odd_bounds,
    "RDS-04": empty_file,
    "RDS-05": pipe,
    "RDS-06": long_line,
    "RDS-07": dashes,
    "RDS-10": broken_link,
    "RDS-15": hanzi,
    "RDS-18": forged_frame,
    "RDS-20": many_hits,
}


@pytest.mark.skipif(os.name == "nt", reason="the reports make their files with bash")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case} {CASES[case]['title']}")
async def test_a_report_does_not_come_true_here(
    work: Workspace, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(work.root)
    given = CASES[case]["input"]
    subprocess.run(["bash", "-c", given["make"]], check=True)

    async def use(name: str, **arguments: Any) -> ToolOutput:
        return await used(work, TOOLS[name], **arguments)

    await CHECKS[case](use, given, CASES[case]["expect"])
    for locked in work.root.glob("no"):
        locked.chmod(0o700)

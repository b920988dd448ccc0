"""The cases of `path.jsonl` that name an operation of ours, run through the tools themselves."""

import time
from pathlib import Path
from typing import Any

import pytest

from shipmate.safety.verdict import Level, Verdict
from shipmate.tools.files import decide, path_verdict, read_bytes
from shipmate.tools.tool import ToolError, Workspace
from tests.safety.path_cases import CASES, Place
from tests.tools.writing import judge, run

WRITES: dict[str, tuple[str, dict[str, str]]] = {
    "write": ("write_file", {"content": "written by the agent\n"}),
    "create": ("create_file", {"content": "written by the agent\n"}),
    "download": ("create_file", {"content": "written by the agent\n"}),
    "mkdir": ("create_directory", {}),
}
READS = {"read", "read_files", "view_image", "attach"}
OURS = [
    case
    for case in CASES
    if case["platform"] in {"any", "posix", "linux"}
    and case["op"] in {*WRITES, *READS, "multi_replace"}
]
NAMES = {Level.ALLOW: "allow", Level.ASK: "ask", Level.DANGER: "ask_danger", Level.REFUSE: "deny"}


def call_of(place: Place, case: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    path = case["path"]
    if case["op"] == "multi_replace":
        edits = [
            {
                "path": place.fill(one),
                "oldString": "x = 1" if one == "src/a.py" else "",
                "newString": "y",
            }
            for one in path
        ]
        return "multi_replace_string_in_file", {"explanation": "", "replacements": edits}
    name, rest = WRITES[case["op"]]
    return name, {"path": place.fill(path) if path is not None else None, **rest}


async def verdicts(make: Any) -> tuple[str, str, Verdict | None]:
    """What the user sees in normal mode and with the bypass; `error` asks nobody."""
    try:
        verdict: Verdict = await make()
    except ToolError:
        return "error", "error", None
    normal = NAMES[verdict.level]
    return normal, "allow" if verdict.bypassable and normal == "ask" else normal, verdict


@pytest.mark.safety("path cases, on disk")
@pytest.mark.parametrize(
    "case", [c for c in OURS if c["op"] not in READS], ids=lambda case: case["id"]
)
async def test_a_write_is_judged_as_the_case_says_and_stays_inside(
    tmp_path: Path, case: dict[str, Any]
) -> None:
    place = Place(tmp_path)
    place.apply(case["setup"])
    work = Workspace(place.root, protected=(place.data,))
    name, arguments = call_of(place, case)
    normal, bypass, verdict = await verdicts(lambda: judge(work, name, **arguments))
    if case["op"] == "multi_replace" and ".git/config" in case["path"]:
        assert normal == "error"  # there is no such file to edit, so nobody is asked
    else:
        assert normal in case["accept_normal"]
        assert bypass in case["accept_bypass"]
    outside = place.snapshot()
    place.apply(case["between"])
    inside = {p: p.read_bytes() for p in place.root.rglob("*") if p.is_file()}
    if verdict is None or verdict.level is Level.REFUSE or case["between"]:
        with pytest.raises(ToolError):
            await run(work, name, verdict, **arguments)
        assert {p: p.read_bytes() for p in place.root.rglob("*") if p.is_file()} == inside
    else:
        await run(work, name, verdict, **arguments)
        assert (place.root / arguments["path"]).exists()
    assert place.snapshot() == outside


@pytest.mark.safety("path cases, on disk")
@pytest.mark.parametrize("case", [c for c in OURS if c["op"] in READS], ids=lambda case: case["id"])
async def test_a_read_gives_no_secret_and_does_not_hang(
    tmp_path: Path, case: dict[str, Any]
) -> None:
    place = Place(tmp_path)
    place.apply(case["setup"])
    work = Workspace(place.root, protected=(place.data,))
    begun = time.monotonic()
    for path in [case["path"]] if isinstance(case["path"], str) else case["path"] or []:
        filled = place.fill(path)
        normal, bypass, verdict = await verdicts(lambda filled=filled: judged_read(work, filled))
        assert normal in case["accept_normal"]
        assert bypass in case["accept_bypass"]
        try:
            read = await read_bytes(work, filled, limit=1 << 20)
        except ToolError:
            assert verdict is None or verdict.level is Level.REFUSE
        else:
            assert verdict is not None
            assert verdict.level < Level.REFUSE
            assert read.data != b"SECRET"
    assert time.monotonic() - begun < 2


async def judged_read(work: Workspace, path: str) -> Verdict:
    return path_verdict(decide(work, path, "read"))


async def test_a_batch_is_as_red_as_its_worst_path(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.apply([["file", "$P/.git/config", "[core]"]])
    work = Workspace(place.root)
    edits = [
        {"path": "src/a.py", "oldString": "x = 1", "newString": "x = 2"},
        {"path": ".git/config", "oldString": "core", "newString": "evil"},
    ]
    arguments = {"explanation": "", "replacements": edits}
    verdict = await judge(work, "multi_replace_string_in_file", **arguments)
    assert (verdict.level, verdict.bypassable) == (Level.DANGER, False)
    assert verdict.reason == ".git is part of the version control's own data"

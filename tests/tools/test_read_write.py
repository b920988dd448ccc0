"""The tools that change files: from public bug reports, and what an approval binds to."""

import asyncio
import os
import resource
import shutil
from pathlib import Path
from typing import Any

import pytest

from shipmate.protocol import BlockedDetail, DiffDetail
from shipmate.safety.verdict import Level
from shipmate.tools.files import read_bytes, sha256
from shipmate.tools.read_only import read_file
from shipmate.tools.replacing import locked
from shipmate.tools.tool import ToolContext, ToolError, ToolStopped, Workspace
from tests.reports import CASES, reports
from tests.tools.writing import approved, failure, judge, run, tree

REPORTS = {name: case for name, case in reports("edit").items() if "edits" in case["input"]}
SAID = {
    "EDT-13": "oldString is empty",
    "EDT-14": "3 matches, lines 1, 3, 5",
    "EDT-20": "- 3     y = 2",
}


@pytest.fixture
def work(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.mark.parametrize("case", REPORTS.values(), ids=REPORTS)
async def test_an_edit_does_what_the_report_expects(work: Workspace, case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expect"]
    ((name, source),) = given["files"].items()
    before = shutil.copy(CASES / source, work.root / name).read_bytes()
    if given["tool"] == "multi_replace_string_in_file":
        arguments = {"explanation": "", "replacements": given["edits"]}
    else:
        (arguments,) = given["edits"]
    if case["id"] in SAID:
        assert SAID[case["id"]] in await failure(work, given["tool"], **arguments)
        assert (work.root / name).read_bytes() == before
        return
    said = await approved(work, given["tool"], **arguments)
    after = (work.root / name).read_bytes()
    if case["id"] == "EDT-18":
        assert "Unicode form" in said
        assert after == before.replace(b"1", b"2")
    else:
        assert after.hex() == expected["after_hex"]


@pytest.mark.parametrize("attempt", range(50))
async def test_two_edits_of_one_file_at_once_are_both_made(work: Workspace, attempt: int) -> None:
    del attempt
    (work.root / "r.txt").write_text("".join(f"{n}\n" for n in range(1, 101)))
    (work.root / "link").symlink_to("r.txt")
    said = await asyncio.gather(
        run(work, "replace_string_in_file", path="r.txt", oldString="\n50\n", newString="\nL\n"),
        run(work, "replace_string_in_file", path="./r.txt", oldString="\n75\n", newString="\nX\n"),
        run(work, "replace_string_in_file", path="link", oldString="\n99\n", newString="\nY\n"),
    )
    lines = (work.root / "r.txt").read_text().split("\n")
    assert (len(lines), lines[49], lines[74], lines[98]) == (101, "L", "X", "Y")
    assert [text.split(", ")[1] for text in said] == ["line 49.", "line 74.", "line 98."]


async def test_a_file_someone_else_changed_is_not_overwritten_but_edited(work: Workspace) -> None:
    path = work.root / "f.txt"
    path.write_text("one\ntwo\n")
    work.note(path, sha256((await read_bytes(work, "f.txt")).data))
    for old, new in (("one", "1"), ("two", "2")):
        await approved(work, "replace_string_in_file", path="f.txt", oldString=old, newString=new)
    await approved(work, "write_file", path="f.txt", content="1\n2\n3\n")
    stamp = path.stat()
    path.write_text("1\n2\n4\n")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert "changed by someone else since you read it" in await failure(
        work, "write_file", path="f.txt", content="mine\n"
    )
    await approved(work, "replace_string_in_file", path="f.txt", oldString="1", newString="I")
    assert path.read_text() == "I\n2\n4\n"
    assert "since you read it" in await failure(work, "write_file", path="f.txt", content="mine\n")
    work.note(path, sha256(path.read_bytes()))
    await approved(work, "write_file", path="f.txt", content="mine\n")


async def test_a_link_stays_a_link_and_the_dialog_names_where_it_leads(work: Workspace) -> None:
    (work.root / "d").mkdir()
    (work.root / "d/real").write_text("v1\n")
    (work.root / "link").symlink_to("d/real")
    arguments = {"path": "link", "oldString": "v1", "newString": "v2"}
    verdict = await judge(work, "replace_string_in_file", **arguments)
    assert verdict.title == "Edit d/real (where link leads)"
    await run(work, "replace_string_in_file", verdict, **arguments)
    assert (work.root / "link").is_symlink()
    assert (work.root / "d/real").read_text() == "v2\n"
    assert sorted(p.name for p in (work.root / "d").iterdir()) == ["real"]


async def test_mode_stays_and_read_only_and_hard_links_are_refused(work: Workspace) -> None:
    """The mode decides, not only what the system lets us do: root may write everything."""
    script, fixed, one = (work.root / name for name in ("s.sh", "ro", "h1"))
    script.write_text("#!/bin/sh\necho a\n")
    script.chmod(0o750)
    fixed.write_text("x\n")
    fixed.chmod(0o444)
    one.write_text("h\n")
    os.link(one, work.root / "h2")
    for name, old, new in (("s.sh", "echo a", "echo b"), ("ro", "x", "y"), ("h1", "h", "i")):
        arguments = {"path": name, "oldString": old, "newString": new}
        if name == "s.sh":
            await approved(work, "replace_string_in_file", **arguments)
        else:
            said = await failure(work, "replace_string_in_file", **arguments)
            assert ("read-only" if name == "ro" else "hard link") in said
    assert script.stat().st_mode & 0o7777 == 0o750
    assert script.read_text() == "#!/bin/sh\necho b\n"
    assert (fixed.read_text(), one.read_text()) == ("x\n", "h\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of another user")
async def test_the_owner_stays_and_what_root_makes_belongs_to_the_folder_s_owner(
    work: Workspace,
) -> None:
    (work.root / "a.txt").write_text("a")
    os.chown(work.root / "a.txt", 12345, 12346)
    os.chown(work.root, 12347, 12348)
    await approved(work, "replace_string_in_file", path="a.txt", oldString="a", newString="b")
    await approved(work, "create_file", path="new/b.txt", content="b")
    owners = [(p.stat().st_uid, p.stat().st_gid) for p in sorted(work.root.rglob("*"))]
    assert owners == [(12345, 12346), (12347, 12348), (12347, 12348)]


async def test_extended_attributes_stay(work: Workspace) -> None:
    path = work.root / "a.txt"
    path.write_text("a")
    try:
        os.setxattr(path, "user.note", b"kept")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    await approved(work, "write_file", path="a.txt", content="b")
    assert (path.read_text(), os.getxattr(path, "user.note")) == ("b", b"kept")


CALLS: dict[str, dict[str, Any]] = {
    "write_file": {"path": "f.txt", "content": "mine\n"},
    "replace_string_in_file": {"path": "f.txt", "oldString": "old", "newString": "new"},
    "multi_replace_string_in_file": {
        "explanation": "",
        "replacements": [
            {"path": "g.txt", "oldString": "g", "newString": "G"},
            {"path": "f.txt", "oldString": "old", "newString": "new"},
        ],
    },
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("how", ["append", "same size", "remove", "folder", "link", "pipe"])
async def test_a_file_changed_after_the_approval_refuses(
    work: Workspace, name: str, how: str
) -> None:
    path = work.root / "f.txt"
    path.write_text("old\n")
    (work.root / "g.txt").write_text("g\n")
    (work.root / "other").write_text("old\n")
    verdict = await judge(work, name, **CALLS[name])
    text = {"append": "old\nmore\n", "same size": "old "}.get(how)
    path.unlink()
    if text:
        path.write_text(text)
    elif how == "folder":
        path.mkdir()
    elif how == "link":
        path.symlink_to("other")
    elif how == "pipe":
        os.mkfifo(path)
    before = tree(work.root)
    with pytest.raises(ToolError):
        await run(work, name, verdict, **CALLS[name])
    assert tree(work.root) == before
    assert {p.name for p in work.root.iterdir()} <= {"f.txt", "g.txt", "other"}


async def test_what_was_approved_is_made_when_nothing_changed(work: Workspace) -> None:
    for name, arguments in CALLS.items():
        (work.root / "f.txt").write_text("old\n")
        (work.root / "g.txt").write_text("g\n")
        work.guard.stamps.clear()
        verdict = await judge(work, name, **arguments)
        assert (verdict.level, verdict.bypassable) == (Level.ASK, True)
        await run(work, name, verdict, **arguments)
        assert (work.root / "f.txt").read_text() in {"mine\n", "new\n"}


async def test_the_dialog_shows_the_diff_and_the_result_says_where(work: Workspace) -> None:
    (work.root / "a.py").write_text("".join(f"x{n} = {n}\n" for n in range(1, 30)))
    arguments = {"path": "a.py", "oldString": "x12 = 12", "newString": "x12 = 0"}
    verdict = await judge(work, "replace_string_in_file", **arguments)
    assert isinstance(verdict.details, DiffDetail)
    (change,) = verdict.details.files
    assert (change.path, change.added, change.removed) == ("a.py", 1, 1)
    assert "-x12 = 12" in change.hunks[0].lines
    said = await run(work, "replace_string_in_file", verdict, **arguments)
    assert said == "Replaced 1 place in a.py, line 12."


async def test_several_files_change_together_or_not_at_all(work: Workspace) -> None:
    for name in ("a.txt", "b.txt"):
        (work.root / name).write_text("one\ntwo\n")
    before = tree(work.root)
    said = await failure(
        work,
        "multi_replace_string_in_file",
        explanation="",
        replacements=[
            {"path": "a.txt", "oldString": "one", "newString": "1"},
            {"path": "a.txt", "oldString": "one\ntwo", "newString": "x"},
            {"path": "b.txt", "oldString": "three", "newString": "3"},
            {"path": "missing.txt", "oldString": "x", "newString": "y"},
            {"path": "b.txt", "oldString": "", "newString": "y"},
        ],
    )
    for name in ("[1] (a.txt): it overlaps", "[2] (b.txt)", "[3] (missing.txt)", "[4] (b.txt)"):
        assert f"replacements{name}" in said
    assert "replacements[0]" not in said
    assert tree(work.root) == before


async def test_a_write_that_fails_midway_is_taken_back(work: Workspace) -> None:
    """A limit on the size of files stands for a full disk."""
    (work.root / "a.txt").write_text("one\n")
    (work.root / "b.txt").write_text("two\n" * 5000)
    before = tree(work.root)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(ToolError, match="taken back"):
            await run(
                work,
                "multi_replace_string_in_file",
                explanation="",
                replacements=[
                    {"path": "a.txt", "oldString": "one", "newString": "1"},
                    {"path": "b.txt", "oldString": "two\n" * 5000, "newString": "x\n" * 9000},
                ],
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert tree(work.root) == before


async def test_create_file_never_overwrites_and_fills_an_empty_file(work: Workspace) -> None:
    (work.root / "full").write_text("x")
    (work.root / "empty").touch()
    assert "not empty" in await failure(work, "create_file", path="full", content="y")
    await approved(work, "create_file", path="empty", content="y")
    await approved(work, "create_file", path="a/b/c.txt", content="new\n")
    verdict = await judge(work, "create_file", path="late", content="y")
    (work.root / "late").write_text("precious")
    with pytest.raises(ToolError):
        await run(work, "create_file", verdict, path="late", content="y")
    assert tree(work.root) == {
        "a/b/c.txt": b"new\n",
        "empty": b"y",
        "full": b"x",
        "late": b"precious",
    }


async def test_write_file_keeps_the_encoding_and_the_line_ends(work: Workspace) -> None:
    path = work.root / "f.txt"
    for before, content, after in (
        (b"\xef\xbb\xbfa\r\nb\r\n", "x\ny\n", b"\xef\xbb\xbfx\r\ny\r\n"),
        ("café\n".encode("cp1252"), "olé\n", "olé\n".encode("cp1252")),
        ("café\n".encode("cp1252"), "中\n", "中\n".encode()),
        (b"a\r\nb\n", "x\ny\n", b"x\ny\n"),
        (b"a\nb\n", "x\r\ny\r\n", b"x\r\ny\r\n"),
        (b"\x7fELF\0\1", "x\n", b"x\n"),
    ):
        path.write_bytes(before)
        work.guard.stamps.clear()
        await approved(work, "write_file", path="f.txt", content=content)
        assert path.read_bytes() == after


async def test_what_changes_nothing_asks_nobody(work: Workspace) -> None:
    (work.root / "d").mkdir()
    (work.root / "f.txt").write_text("same\n")
    for name, arguments in (
        ("write_file", {"path": "f.txt", "content": "same\n"}),
        ("create_directory", {"path": "d"}),
    ):
        assert (await judge(work, name, **arguments)).level is Level.ALLOW
        assert "already" in await approved(work, name, **arguments)


async def test_a_dangerous_place_is_red_and_outside_is_refused(work: Workspace) -> None:
    verdict = await judge(work, "write_file", path=".git/hooks/x", content="")
    assert (verdict.level, verdict.bypassable) == (Level.DANGER, False)
    verdict = await judge(work, "write_file", path="../x", content="")
    assert verdict.level is Level.REFUSE
    assert isinstance(verdict.details, BlockedDetail)
    assert verdict.details.rule == "path"


async def test_a_write_that_is_stopped_is_finished_and_told(work: Workspace) -> None:
    (work.root / "a.txt").write_text("one")
    with locked([work.root / "a.txt"]):
        writing = asyncio.ensure_future(
            run(work, "replace_string_in_file", path="a.txt", oldString="one", newString="two")
        )
        await asyncio.sleep(0)
        writing.cancel()
    with pytest.raises(ToolStopped) as stopped:
        await writing
    assert stopped.value.output.text == "Replaced 1 place in a.txt, line 1."
    assert (work.root / "a.txt").read_text() == "two"


async def test_a_file_too_large_to_hash_on_reading_can_be_written_after_it_was_read(
    work: Workspace,
) -> None:
    path = work.root / "large.txt"
    path.write_text("a line of text\n" * 400_000)
    await read_file.run(ToolContext(work), path="large.txt")
    path.write_text("a line of text\n" * 400_001)
    assert "since you read it" in await failure(
        work, "write_file", path="large.txt", content="short\n"
    )
    await read_file.run(ToolContext(work), path="large.txt")
    await approved(work, "write_file", path="large.txt", content="short\n")

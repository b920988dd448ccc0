"""A session's changes, and the files of a project, over HTTP."""

import zlib
from collections.abc import AsyncGenerator
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest

from shipmate.protocol import FileWritten, ToolResult
from shipmate.tools.contents import keep
from shipmate.tools.files import sha256
from tests.handlers.house import Whole, whole


@pytest.fixture
async def house(tmp_path: Path) -> AsyncGenerator[Whole]:
    """Its project is not in the data directory, which nobody is shown."""
    (tmp_path / "data").mkdir()
    async with whole(tmp_path / "data") as house:
        house.project = tmp_path / "project"
        house.project.mkdir()
        house.gate.house.config.set("projects.demo", {"path": str(house.project)})
        yield house


async def changed(house: Whole, path: str, before: bytes, after: bytes) -> str:
    """A session that changed a file, which is now as it left it."""
    row = await house.executor.create(agent="assistant", provider="scripted/demo", project="demo")
    for content in (before, after):
        keep(house.gate.house.files, row.id, content)
    (house.project / path).write_bytes(after)
    done = FileWritten(path=path, before=sha256(before), after=sha256(after))
    await house.executor.store.write(row.id, [ToolResult(call="c", text="", written=(done,))])
    return row.id


async def test_the_changes_are_answered_with_lines_or_sums_alone(house: Whole) -> None:
    session = await changed(house, "a.txt", b"one\ntwo\n", b"one\nTWO\n")
    whole = (await house.call("GET", f"/api/agent/sessions/{session}/changes")).json
    assert (whole["added"], whole["removed"]) == (1, 1)
    (hunk,) = whole["files"][0]["file"]["hunks"]
    assert hunk["lines"] == [" one", "-two", "+TWO"]
    brief = (await house.call("GET", f"/api/agent/sessions/{session}/changes?brief=true")).json
    assert "hunks" not in brief["files"][0]["file"]
    assert brief["files"][0]["file"]["added"] == 1
    missing = await house.call("GET", f"/api/agent/sessions/{session}/changes?round=none")
    assert missing.status == 404


async def test_a_project_that_is_gone_leaves_what_the_session_wrote(house: Whole) -> None:
    session = await changed(house, "a.txt", b"one\n", b"two\n")
    assert (await house.call("DELETE", "/api/projects/demo")).status == 204
    (house.project / "a.txt").write_text("not to be read any more\n")
    answer = await house.call("GET", f"/api/agent/sessions/{session}/changes")
    (hunk,) = answer.json["files"][0]["file"]["hunks"]
    assert hunk["lines"] == ["-one", "+two"]


async def test_an_import_names_no_file_of_the_machine_as_a_content(house: Whole) -> None:
    """Objects of git, for one, are compressed as kept contents are."""
    theirs = house.project.parent / "object"
    theirs.write_bytes(zlib.compress(b"somebody's work\n"))
    forged = {"path": "a.txt", "before": str(theirs), "after": "../../../object"}
    call = {"type": "tool", "id": "c", "message": "m", "name": "write_file"}
    result = {"type": "tool_result", "id": "r", "call": "c", "text": "", "written": [forged]}
    message = {"type": "message", "id": "m", "text": "x"}
    document = {"shipmate": 1, "blocks": [message, call, result]}
    body = msgspec.json.encode({**document, "project": "demo"})
    row = (await house.call("POST", "/api/agent/sessions/import", body)).json
    answer = await house.call("GET", f"/api/agent/sessions/{row['id']}/changes")
    assert answer.status == 200
    assert b"somebody" not in answer.body
    assert "not kept" in answer.json["files"][0]["file"]["note"]


async def test_a_folder_is_listed_folders_first_without_what_is_ignored(house: Whole) -> None:
    (house.project / ".gitignore").write_text("build/\n")
    for name in ("build", "src", "src/deep"):
        (house.project / name).mkdir()
    (house.project / "b.txt").write_text("b")
    (house.project / "A.txt").write_text("a")
    (house.project / "link").symlink_to("b.txt")
    found = (await house.call("GET", "/api/projects/demo/files")).json
    assert [(one["name"], one["kind"]) for one in found["entries"]] == [
        ("src", "folder"),
        (".gitignore", "file"),
        ("A.txt", "file"),
        ("b.txt", "file"),
        ("link", "link"),
    ]
    assert (found["hidden"], found["more"]) == (1, False)
    inner = (await house.call("GET", "/api/projects/demo/files?path=src")).json
    assert [one["path"] for one in inner["entries"]] == ["src/deep"]


async def test_a_file_is_read_as_text_or_told_what_it_is(house: Whole) -> None:
    (house.project / "a.txt").write_text("no end of line: 中文")
    (house.project / "long.txt").write_text("0123456789\n" * 150_000)
    (house.project / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    small = (await house.call("GET", "/api/projects/demo/file?path=a.txt")).json
    assert (small["text"], small["cut"]) == ("no end of line: 中文", False)
    long = (await house.call("GET", "/api/projects/demo/file?path=long.txt")).json
    assert long["cut"]
    assert 1_000_000 < len(long["text"]) <= 1024 * 1024
    picture = (await house.call("GET", "/api/projects/demo/file?path=p.png")).json
    assert (picture["text"], picture["kind"]) == ("", "PNG image")


@pytest.mark.safety
@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("../data/config.toml", 403),
        ("/etc/passwd", 403),
        ("out/data/config.toml", 403),
        (".env", 403),
        ("none.txt", 404),
        ("src", 403),
    ],
)
async def test_nothing_outside_and_no_secret_is_shown(house: Whole, path: str, status: int) -> None:
    (house.project / "src").mkdir()
    (house.project / ".env").write_text("KEY=secret-value")
    (house.project / "out").symlink_to(house.project.parent)
    answer = await house.call("GET", f"/api/projects/demo/file?path={quote(path)}")
    assert answer.status == status, answer.body
    assert b"secret-value" not in answer.body
    if path.startswith(("..", "/", "out")):
        listed = await house.call("GET", f"/api/projects/demo/files?path={quote(path)}")
        assert listed.status in {403, 404}

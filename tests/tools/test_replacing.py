"""A write that is cut off at any point leaves the old or the new content, and can be swept."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shipmate.tools.replacing import Target, make_folders, sweep, write_target
from shipmate.tools.tool import ToolError

KILLED = """
import json, os, signal, sys
from pathlib import Path
from shipmate.tools import replacing
from shipmate.tools.folders import Folder

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

root, tries = Path(sys.argv[1]), int(sys.argv[2])
points = {
    "before the temp file": ("open", 0), "after the temp file": ("open", 1),
    "before the rename": ("rename", 0), "before the link": ("link", 0),
    "before the folder is synced": ("sync", 0),
}
seen = []
for n in range(tries):
    point, (name, skipped) = list(points.items())[n % len(points)]
    new = name == "link"
    target = replacing.Target(root, f"new{n}" if new else "f.txt")
    old = None if new else target.real.read_bytes()
    content = bytes([65 + n % 26]) * 300_000
    child = os.fork()
    if not child:
        real, calls = getattr(Folder, name), []
        def stop(self, *rest):
            calls.append(1)
            return die() if len(calls) > skipped else real(self, *rest)
        setattr(Folder, name, stop)
        replacing.write_target(target, content, old)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL, (point, status)
    now = target.real.read_bytes() if target.real.exists() else None
    seen.append([point, "old" if now == old else "new" if now == content else "half"])
print(json.dumps(seen))
"""


def test_two_hundred_writes_that_were_killed_leave_no_half_and_no_litter(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_bytes(b"0" * 300_000)
    (tmp_path / "deep/er").mkdir(parents=True)
    (tmp_path / "deep/er/mine.tmp").write_text("of the user")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path, "200"], check=True, capture_output=True, text=True
    )
    outcomes = {tuple(pair) for pair in json.loads(done.stdout)}
    assert outcomes == {
        ("before the temp file", "old"),
        ("after the temp file", "old"),
        ("before the rename", "old"),
        ("before the link", "old"),
        ("before the folder is synced", "new"),
    }
    left = list(tmp_path.glob(".shipmate-*.tmp"))
    assert sweep(tmp_path) == len(left) == 120
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["deep", "er", "f.txt", "mine.tmp"]


def test_a_write_in_progress_of_a_living_process_is_not_swept(tmp_path: Path) -> None:
    parent = tmp_path / f".shipmate-{os.getppid()}-0123456789abcdef.tmp"
    parent.write_text("in progress")
    assert sweep(tmp_path) == 0
    os.utime(parent, (0, 0))
    assert sweep(tmp_path) == 1


def test_content_that_changed_while_it_was_worked_on_is_never_written_over(tmp_path: Path) -> None:
    target = Target(tmp_path, "f.txt")
    for now, before in ((b"theirs", b"before"), (b"before and more", b"before"), (b"", None)):
        target.real.write_bytes(now)
        with pytest.raises(ToolError, match="by someone else meanwhile"):
            write_target(target, b"ours", before)
        assert target.real.read_bytes() == now
    target.real.unlink()
    with pytest.raises(ToolError, match="No such file"):
        write_target(target, b"ours", b"before")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_became_a_link_is_not_written_through(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (inside / "a").symlink_to(outside)
    for relative in ("a/f.txt", "a/b/f.txt"):
        with pytest.raises(ToolError):
            write_target(Target(inside, relative), b"ours", None)
    with pytest.raises(ToolError):
        make_folders(inside, "a/b")
    assert list(outside.iterdir()) == []

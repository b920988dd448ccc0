"""A session's changes as one diff: what tools wrote, against what is on disk now."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from shipmate.errors import NotFoundError
from shipmate.llm.model import Reply
from shipmate.llm.scripted import Step, call, say, together
from shipmate.protocol import FileWritten, ToolResult, User
from shipmate.session.changed import MAX_LINES, ChangedFile, Changes, changes
from shipmate.tools.contents import CONTENTS, MAX_KEPT, keep
from shipmate.tools.files import sha256
from shipmate.tools.read_write import TOOLS
from shipmate.tools.tool import Workspace
from tests.play import Stage, stage

EDIT = "replace_string_in_file"


@dataclass
class Story:
    """A session whose calls run unasked, and what its diff says."""

    play: Stage
    session: str
    work: Workspace

    @property
    def root(self) -> Path:
        return self.work.root

    async def say(self, text: str) -> str:
        await self.play.say(self.session, text)
        return (await self.play.blocks(self.session, User))[-1].id

    async def diff(self, wanted: str = "", *, now: bool = True) -> Changes:
        blocks = await self.play.store.writing(self.session)
        return changes(blocks, self.work, wanted=wanted, now=now)

    async def one(self, path: str) -> ChangedFile:
        return next(one for one in (await self.diff()).files if one.file.path == path)

    async def lines(self, wanted: str = "", *, now: bool = True) -> dict[str, list[str]]:
        return {
            one.file.path: [line for h in one.file.hunks for line in h.lines if line[0] != " "]
            for one in (await self.diff(wanted, now=now)).files
        }

    async def kinds(self) -> dict[str, str]:
        return {one.file.path: one.file.change for one in (await self.diff()).files}


@asynccontextmanager
async def story(folder: Path, *steps: Step) -> AsyncGenerator[Story]:
    async with stage(folder, steps, tools=TOOLS) as play:
        session = await play.create()
        await play.executor.update(session, bypass_approval=True)
        root = (folder / "project").resolve()
        yield Story(play, session, Workspace(root, session, files=folder / "files"))


def write(path: str, content: str) -> Reply:
    return call("write_file", path=path, content=content)


def edit(path: str, old: str, new: str) -> Reply:
    return call(EDIT, path=path, oldString=old, newString=new)


async def test_edits_of_a_session_are_one_diff_and_each_round_has_its_own(tmp_path: Path) -> None:
    steps = [edit("a.txt", "one", "ONE"), write("b.txt", "new\n"), say("1")]
    async with story(tmp_path, *steps, edit("a.txt", "ONE", "Uno"), say("2")) as told:
        (told.root / "a.txt").write_text("one\ntwo\n")
        first = await told.say("first, please\nand more")
        second = await told.say("second")
        assert await told.lines() == {"a.txt": ["-one", "+Uno"], "b.txt": ["+new"]}
        assert await told.lines(first) == {"a.txt": ["-one", "+ONE"], "b.txt": ["+new"]}
        assert await told.lines(second) == {"a.txt": ["-ONE", "+Uno"]}
        found = await told.diff()
        assert (found.added, found.removed) == (2, 1)
        rounds = [(one.id, one.text, one.files) for one in found.rounds]
        assert rounds == [(first, "first, please", 2), (second, "second", 1)]
        assert not any(one.since for one in found.files)
        with pytest.raises(NotFoundError):
            await told.diff("nothing")


async def test_what_others_changed_since_is_told_and_shown_as_it_is_now(tmp_path: Path) -> None:
    async with story(tmp_path, edit("a.txt", "one", "ONE"), say("done")) as told:
        (told.root / "a.txt").write_text("one\ntwo\n")
        (told.root / "other.txt").write_text("")
        await told.say("go")
        (told.root / "a.txt").write_text("ONE\nTWO\n")
        (told.root / "other.txt").write_text("not the session's")
        assert (await told.one("a.txt")).since
        assert await told.lines() == {"a.txt": ["-one", "-two", "+ONE", "+TWO"]}
        assert await told.lines(now=False) == {"a.txt": ["-one", "+ONE"]}


async def test_what_is_as_it_was_before_is_left_out(tmp_path: Path) -> None:
    steps = [edit("a.txt", "one", "two"), edit("a.txt", "two", "one"), write("b.txt", "b")]
    async with story(tmp_path, *steps, say("done")) as told:
        (told.root / "a.txt").write_text("one")
        await told.say("go")
        (told.root / "b.txt").unlink()
        assert (await told.diff()).files == []


async def test_deleted_and_renamed_files_are_told_as_such(tmp_path: Path) -> None:
    names = ("gone.txt", "moved.txt", "copied.txt")
    calls = [edit(name, "old", f"new in {name}") for name in names]
    steps = [together(*calls), write("dir/copy.txt", "new in copied.txt\n"), write("n.txt", "n\n")]
    async with story(tmp_path, *steps, say("done")) as told:
        for name in names:
            (told.root / name).write_text("old\n")
        await told.say("go")
        (told.root / "gone.txt").unlink()
        (told.root / "moved.txt").rename(told.root / "elsewhere.txt")
        (told.root / "copied.txt").unlink()
        (told.root / "n.txt").rename(told.root / "m.txt")
        assert await told.kinds() == {
            "gone.txt": "delete",
            "elsewhere.txt": "rename",
            "dir/copy.txt": "rename",
            "m.txt": "create",
        }
        assert (await told.one("elsewhere.txt")).file.was == "moved.txt"
        assert (await told.one("dir/copy.txt")).file.was == "copied.txt"
        assert (await told.lines())["elsewhere.txt"] == ["-old", "+new in moved.txt"]
        assert (await told.lines())["gone.txt"] == ["-old"]


async def test_huge_and_binary_files_and_links_are_told_in_words(tmp_path: Path) -> None:
    calls = [edit(name, "old", "new") for name in ("huge.txt", "grown.txt", "linked.txt")]
    async with story(tmp_path, together(*calls), say("done")) as told:
        (told.root / "huge.txt").write_text("old\n" + "x" * MAX_KEPT)
        (told.root / "grown.txt").write_text("old\n")
        (told.root / "linked.txt").write_text("old\n")
        await told.say("go")
        (told.root / "grown.txt").write_text("x" * (MAX_KEPT + 1))
        (tmp_path / "secret").write_text("outside")
        (told.root / "linked.txt").unlink()
        (told.root / "linked.txt").symlink_to(tmp_path / "secret")
        await told.play.store.write(told.session, [written(told, "p.png", b"", b"\x89PNG\r\n\0")])
        (told.root / "p.png").write_bytes(b"\x89PNG\r\n\0")
        files = [one.file for one in (await told.diff()).files]
        notes = {file.path: (file.note, file.hunks) for file in files}
        assert "not kept" in notes["huge.txt"][0]
        assert "larger than 4 MB" in notes["grown.txt"][0]
        assert "PNG image" in notes["p.png"][0]
        assert notes["linked.txt"][1] == ()
        assert "outside" in notes["linked.txt"][0]


def written(told: Story, path: str, before: bytes, after: bytes) -> ToolResult:
    for content in (before, after):
        keep(told.work.files, told.session, content)
    old = sha256(before) if before else ""
    return ToolResult(
        call="c", text="", written=(FileWritten(path=path, before=old, after=sha256(after)),)
    )


async def test_a_diff_of_very_many_lines_is_bounded_and_its_sums_are_not(tmp_path: Path) -> None:
    async with story(tmp_path) as told:
        content = "".join(f"line {n}\n" for n in range(1500)).encode()
        for n in range(20):
            (told.root / f"{n:02}.txt").write_bytes(content)
            await told.play.store.write(told.session, [written(told, f"{n:02}.txt", b"", content)])
        found = await told.diff()
        assert found.added == 20 * 1500
        assert sum(len(h.lines) for one in found.files for h in one.file.hunks) <= MAX_LINES
        assert "too much" in found.files[-1].file.note


async def test_contents_are_kept_once_and_go_with_the_session(tmp_path: Path) -> None:
    steps = [edit("a.txt", "one", "two"), edit("a.txt", "two", "one"), say("done")]
    async with story(tmp_path, *steps) as told:
        (told.root / "a.txt").write_text("one")
        await told.say("go")
        folder = tmp_path / "files" / CONTENTS / told.session
        assert sorted(path.name for path in folder.iterdir()) == sorted(
            sha256(content) for content in (b"one", b"two")
        )

"""Listing folders: in order, bounded, what is hidden counted."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from shipmate.protocol import MatchesDetail
from shipmate.safety.verdict import Level
from shipmate.tools.listing import list_files
from shipmate.tools.tool import ToolOutput, Workspace
from tests.tools.use import judged, used


def make(root: Path, *files: str, **texts: str) -> None:
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    for name, text in texts.items():
        (root / name.replace("_gitignore", ".gitignore")).write_text(text)


async def listed(work: Workspace, path: str = ".", **more: object) -> ToolOutput:
    return await used(work, list_files, path=path, **more)


async def test_one_name_a_line_and_folders_end_in_a_slash(work: Workspace) -> None:
    make(work.root, "b.py", "a/deep.py", ".env")
    (work.root / "l").symlink_to("a")
    output = await listed(work)
    assert output.text == ".env\na/\nb.py\nl (link)"
    assert output.details == MatchesDetail(count=4, what="entries")


async def test_recursive_gives_paths_below_the_folder_and_follows_no_link(
    work: Workspace,
) -> None:
    make(work.root, "src/a.py", "src/x/b.py", "other/c.py")
    (work.root / "src/loop").symlink_to("..")
    output = await listed(work, "src", recursive=True)
    assert output.text == "a.py\nloop (link)\nx/\nx/b.py"


async def test_what_gitignore_hides_is_counted(work: Workspace) -> None:
    make(work.root, "a.py", "a.pyc", "build/x/y", "src/keep.log", "src/drop.log")
    make(work.root, _gitignore="*.pyc\n/build/\n*.log\n")
    (work.root / "src/.gitignore").write_text("!keep.log\n")
    output = await listed(work, recursive=True)
    assert output.text == (
        "[3 entries hidden by .gitignore]\n.gitignore\na.py\nsrc/\nsrc/.gitignore\nsrc/keep.log"
    )


async def test_an_ignored_folder_is_shown_when_it_is_named(work: Workspace) -> None:
    make(work.root, "node_modules/p/index.js", _gitignore="node_modules\n")
    assert (await listed(work, "node_modules")).text == "p/"


async def test_a_folder_whose_entries_are_all_hidden_is_not_called_empty(work: Workspace) -> None:
    make(work.root, "logs/a.log", _gitignore="*.log\n")
    (work.root / "empty").mkdir()
    assert (await listed(work, "empty")).text == "The folder empty is empty."
    text = (await listed(work, "logs")).text
    assert "[1 entry hidden by .gitignore]" in text
    assert "empty" not in text


async def test_rules_of_the_repository_above_hold(work: Workspace) -> None:
    subprocess.run(["git", "init", "-q", work.root], check=True)
    make(work.root, "sub/a.log", "sub/b.txt", "sub/c.tmp", _gitignore="*.log\n")
    (work.root / ".git/info/exclude").write_text("*.tmp\n")
    inner = replace(work, root=work.root / "sub")
    assert (await listed(inner)).text == "[2 entries hidden by .gitignore]\nb.txt"


async def test_git_s_own_data_is_not_entered(work: Workspace) -> None:
    subprocess.run(["git", "init", "-q", work.root], check=True)
    assert (await listed(work, recursive=True)).text == ".git/"


async def test_more_than_was_asked_for_is_told(work: Workspace) -> None:
    make(work.root, *(f"d/{n:03}" for n in range(50)), *(f"f{n}" for n in range(5)))
    output = await listed(work, recursive=True, maxResults=8)
    assert output.text.split("\n") == [
        "[There are more than these 8 entries: list a folder below it, or raise maxResults"
        " (1,000 at most)]",
        *("d/", "d/000", "d/001", "f0", "f1", "f2", "f3", "f4"),
    ]
    assert output.truncated


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into every folder")
async def test_a_locked_folder_is_a_note(work: Workspace) -> None:
    make(work.root, "real.py", "no/x")
    (work.root / "no").chmod(0)
    text = (await listed(work, recursive=True)).text
    (work.root / "no").chmod(0o700)
    assert text == "[Could not look into 1: no (Permission denied)]\nno/\nreal.py"


async def test_a_broken_link_is_listed(work: Workspace) -> None:
    make(work.root, "real.py")
    (work.root / "dangling").symlink_to("/nowhere")
    assert (await listed(work)).text == "dangling (link)\nreal.py"


async def test_the_server_s_own_data_does_not_show(work: Workspace) -> None:
    make(work.root, "data/sessions.db", "a")
    work = replace(work, protected=(work.root / "data",))
    assert (await listed(work, recursive=True)).text == "a"
    assert (await judged(work, list_files, path="data")).level is Level.REFUSE


async def test_a_name_with_a_line_end_stays_on_one_line(work: Workspace) -> None:
    (work.root / "a\nb\x1b").touch()
    assert (await listed(work)).text == "a␊b␛"


async def test_a_missing_folder_is_answered_with_near_names(work: Workspace) -> None:
    make(work.root, "source/a")
    output = await listed(work, "sources")
    assert output.text == "'sources' does not exist. Near: source/."

"""Files by name."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from shipmate.protocol import BlockedDetail
from shipmate.safety.verdict import Level
from shipmate.tools import ripgrep
from shipmate.tools.find import file_search, problems
from shipmate.tools.ripgrep import Ended
from shipmate.tools.tool import Workspace
from tests.tools.use import judged, used

both = pytest.mark.usefixtures("program")
"""Run with ripgrep, and with our own program."""


@pytest.fixture
def project(work: Workspace) -> Workspace:
    for name in ("a.py", "src/a.py", "src/deep/b.ts", "src/c.tsx", ".github/ci.yml", "x/.env"):
        (work.root / name).parent.mkdir(parents=True, exist_ok=True)
        (work.root / name).touch()
    (work.root / ".gitignore").write_text("build\n*.log\n")
    (work.root / "build").mkdir()
    (work.root / "build/a.py").touch()
    (work.root / "z.log").touch()
    return work


async def search(work: Workspace, query: str, **more: object) -> list[str]:
    return (await used(work, file_search, query=query, **more)).text.split("\n")


@both
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("*.py", ["a.py", "src/a.py"]),
        ("/*.py", ["a.py"]),
        ("src/**", ["src/a.py", "src/c.tsx", "src/deep/b.ts"]),
        ("/src/deep/*", ["src/deep/b.ts"]),
        ("**/*.{ts,tsx}", ["src/c.tsx", "src/deep/b.ts"]),
        ("b.ts", ["src/deep/b.ts"]),
        ("src", ["src/a.py", "src/c.tsx", "src/deep/b.ts"]),
        (".github/**", [".github/ci.yml"]),
        ("**/.env*", ["x/.env"]),
    ],
)
async def test_patterns(project: Workspace, query: str, found: list[str]) -> None:
    assert await search(project, query) == found


async def test_the_project_s_own_path_in_front_is_understood(project: Workspace) -> None:
    assert await search(project, f"{project.root}/src/*.py") == ["src/a.py"]


@both
async def test_nothing_found_says_where_it_looked_and_what_was_left_out(
    project: Workspace,
) -> None:
    (text,) = await search(project, "*.rs")
    assert text.startswith("No file matches '*.rs' among ")
    (text,) = await search(project, "nothing")
    assert text.startswith("No file matches 'nothing' among 4 files.")
    assert "what .gitignore hides, and names that begin with a dot" in text


async def test_a_name_without_a_match_is_looked_for_in_all_paths(project: Workspace) -> None:
    note, *found = await search(project, "DEEP")
    assert note == "[No file is called 'DEEP'; these have it in their path]"
    assert found == ["src/deep/b.ts"]


async def test_more_than_was_asked_for_is_told(project: Workspace) -> None:
    for n in range(30):
        (project.root / f"n{n:02}").touch()
    note, *found = await search(project, "n*", maxResults=3)
    assert note.startswith("[3 of 30 files; raise maxResults (200 at most)")
    assert found == ["n00", "n01", "n02"]


@pytest.mark.parametrize("query", ["../*.py", "..", "/etc/passwd", "/etc/*", "src/../../*"])
async def test_outside_the_project_is_refused(project: Workspace, query: str) -> None:
    verdict = await judged(project, file_search, query=query)
    assert verdict.level is Level.REFUSE
    assert isinstance(verdict.details, BlockedDetail)
    assert str(project.root) in verdict.reason


async def test_a_pattern_with_dots_that_stays_inside_is_an_error(project: Workspace) -> None:
    (text,) = await search(project, "src/../*.py")
    assert text == "'src/../*.py': write the pattern without `..`."


@both
async def test_the_server_s_own_data_is_not_found(project: Workspace) -> None:
    work = replace(project, protected=(project.root / "src/deep",))
    assert await search(work, "src/**") == ["src/a.py", "src/c.tsx"]


@both
async def test_broken_links_and_loops_do_no_harm(project: Workspace) -> None:
    (project.root / "dangling.py").symlink_to("/nowhere")
    (project.root / "loop").symlink_to(".")
    assert await search(project, "*.py") == ["a.py", "src/a.py"]


async def test_a_name_that_looks_like_an_option_is_a_name(project: Workspace) -> None:
    folder = project.root / "--pre=sh"
    folder.mkdir()
    (folder / "-f.py").touch()
    assert await search(project, "/--pre=sh/*") == ["--pre=sh/-f.py"]
    assert await search(project, "--pre=sh") == ["--pre=sh/-f.py"]


@both
@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into every folder")
async def test_a_locked_folder_is_a_note(project: Workspace) -> None:
    (project.root / "no").mkdir(mode=0)
    note, *found = await search(project, "*.py")
    assert "Could not look at 1: no" in note
    assert found == ["a.py", "src/a.py"]


def test_what_could_not_be_looked_at_is_a_note() -> None:
    said = "rg: ./no: Permission denied (os error 13)\n"
    note = "[Could not look at 1: no: Permission denied (os error 13)]\n"
    assert problems(Ended(2, said)) == note
    assert problems(Ended(0, "")) == ""
    assert "only a part was looked at" in problems(Ended(-9, "", late=True))


def test_a_repository_s_rules_are_found(tmp_path: Path) -> None:
    assert "--no-require-git" in ripgrep.Search(str(tmp_path)).arguments()
    (tmp_path / ".git").mkdir()
    assert "--no-require-git" not in ripgrep.Search(str(tmp_path)).arguments()

"""Our own git in repositories that wish us ill, and what a page is told of a good one."""

import os
import subprocess
from pathlib import Path

import pytest

from shipmate.safety.sandbox.room import AUTO, SandboxSettings
from shipmate.session.git_state import GitState, git_state
from shipmate.tools.git import GitError, run_git

NOBODY = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
}


def git(folder: Path, *arguments: str) -> None:
    environment = {**os.environ, **NOBODY}
    subprocess.run(
        ["git", "-C", folder, *arguments], check=True, env=environment, capture_output=True
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "project"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "a.txt").write_text("a\n")
    git(root, "add", "a.txt")
    git(root, "commit", "-qm", "one")
    return root


async def test_the_state_is_told(repository: Path) -> None:
    git(repository, "clone", "-q", ".", "../copy")
    copy = repository.with_name("copy")
    (copy / "b.txt").write_text("b")
    git(copy, "add", "b.txt")
    git(copy, "commit", "-qm", "two")
    (copy / "a.txt").write_text("changed")
    (copy / "néw 文.txt").write_text("new")
    state = await git_state(copy, (), AUTO)
    assert len(state.commit) == 10
    told = GitState(branch="main", commit=state.commit, upstream="origin/main", ahead=1, changed=2)
    assert state == told


async def test_a_worktree_and_an_empty_repository_have_a_state(
    repository: Path, tmp_path: Path
) -> None:
    git(repository, "worktree", "add", "-q", "-b", "side", "../side")
    assert (await git_state(tmp_path.resolve() / "side", (), AUTO)).branch == "side"
    empty = tmp_path.resolve() / "empty"
    empty.mkdir()
    git(empty, "init", "-q", "-b", "trunk")
    assert await git_state(empty, (), AUTO) == GitState(branch="trunk")


async def test_what_a_repository_configures_is_not_run(repository: Path) -> None:
    trap = repository / "trap.sh"
    trap.write_text(f"#!/bin/sh\necho run >> {repository}/ran\necho run >> /tmp/ran\ncat\n")
    trap.chmod(0o755)
    for name in (
        "core.fsmonitor",
        "core.pager",
        "pager.status",
        "diff.external",
        "core.sshCommand",
        "filter.x.clean",
        "filter.x.process",
        "alias.status",
    ):
        git(repository, "config", name, f"!{trap}" if name.startswith("alias") else str(trap))
    git(repository, "config", "core.hooksPath", str(repository))
    (repository / ".gitattributes").write_text("* filter=x diff=x\n")
    (repository / "post-index-change").symlink_to(trap)
    (repository / "a.txt").write_text("b\n")
    await run_git(repository, "status", "--porcelain=v2")
    await run_git(repository, "diff", "--no-ext-diff", "--no-textconv")
    assert not (repository / "ran").exists()


async def test_nothing_is_written(repository: Path) -> None:
    before = (repository / ".git" / "index").read_bytes()
    with pytest.raises(GitError, match="Read-only file system"):
        await run_git(repository, "commit", "--allow-empty", "-m", "x")
    assert (repository / ".git" / "index").read_bytes() == before


async def test_a_git_file_does_not_lead_to_anothers_repository(
    repository: Path, tmp_path: Path
) -> None:
    hostile = tmp_path.resolve() / "hostile"
    hostile.mkdir()
    (hostile / ".git").write_text(f"gitdir: {repository}/.git\n")
    with pytest.raises(GitError, match="not a git repository"):
        await git_state(hostile, (), AUTO)


async def test_without_a_sandbox_git_is_not_run(repository: Path) -> None:
    with pytest.raises(GitError, match="without a sandbox"):
        await git_state(repository, (), SandboxSettings(mode="off"))


async def test_a_folder_without_a_repository_says_so(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="not a git repository"):
        await git_state(tmp_path.resolve(), (), AUTO)

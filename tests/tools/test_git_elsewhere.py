"""Repositories that are not a plain `.git` from the beginning: a link, a file, made by a command.
Our own git runs nothing of them outside of its room."""

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shipmate.safety.sandbox.found import found
from shipmate.safety.sandbox.room import AUTO, Room
from shipmate.session.git_state import git_state
from shipmate.tools.collected import Collected
from shipmate.tools.git import GitError
from shipmate.tools.processes import start
from tests.safety.traps import Place, repository

MADE = """
git init -q -b main && git config core.fsmonitor {bait} && git config diff.external {bait}
mkdir -p .git/hooks && for hook in post-index-change reference-transaction; do
  printf '#!/bin/sh\\n{bait}\\n' > .git/hooks/$hook && chmod +x .git/hooks/$hook
done
echo '* filter=x' > .gitattributes; git config filter.x.clean {bait}; git add -A; git status
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path.resolve())
    yield place
    place.close()


def a_link(place: Place, kept: Path) -> None:
    (place.root / ".git").rename(kept)
    (place.root / ".git").symlink_to(kept)


def a_file(place: Place, kept: Path) -> None:
    (place.root / ".git").rename(kept)
    (place.root / ".git").write_text(f"gitdir: {kept}\n")


def a_file_that_is_named_back(place: Place, kept: Path) -> None:
    a_file(place, kept)
    subprocess.run(["git", f"--git-dir={kept}", "config", "core.worktree", place.root], check=True)


def led_elsewhere(place: Place, kept: Path) -> None:
    (place.root / ".git").rename(kept)
    (place.root / ".git").mkdir()
    (place.root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (place.root / ".git" / "commondir").write_text(f"{kept}\n")


@pytest.mark.parametrize("form", [a_link, a_file, a_file_that_is_named_back, led_elsewhere])
@pytest.mark.parametrize("kept", ["project/kept", "outside/kept"])
async def test_nothing_of_it_runs_outside_of_the_room(
    place: Place, form: Callable[[Place, Path], None], kept: str
) -> None:
    repository(place)
    form(place, place.base / kept)
    await asked_for_its_state(place)
    subprocess.run(["git", "-C", place.root, "status"], capture_output=True, check=False)
    assert place.ran.exists(), "plain git would not have stepped into it"


async def test_nothing_of_what_a_command_made_runs_outside_of_a_room(place: Place) -> None:
    room = Room(found(place.root).means, place.root, temporary=place.root)
    if room.means == "none":
        pytest.skip("there is no sandbox")
    command = await start(place.fill(MADE), room, "test:git", Collected(10_000, None))
    await command.wait()
    assert (place.root / ".git" / "hooks" / "post-index-change").exists(), command.collected.take()
    await asked_for_its_state(place)
    subprocess.run(["git", "-C", place.root, "status"], capture_output=True, check=False)
    assert place.ran.exists(), "plain git would not have stepped into it"


async def asked_for_its_state(place: Place) -> None:
    before = await asyncio.to_thread(place.state) if (place.root / ".git/hooks").is_dir() else None
    for _ in range(2):
        try:
            await git_state(place.root, (), AUTO)
        except GitError:
            continue  # that it is none of the project's is an answer, too
    assert not place.ran.exists()
    assert place.asked == []
    if before is not None:
        assert place.state() == before

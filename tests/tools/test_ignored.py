"""What .gitignore hides: as git itself says, and in little time whatever is written there."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shipmate.tools.globs import glob
from shipmate.tools.ignored import Ignored

PATTERNS = st.text("ab*?/!\\#. ", max_size=12)
PATHS = ("a", "b", "ab", "a b", "#a", "a/b", "a/a/b", "b/a/ab", "a.b", ".a", "a]", "a[b", "b/ ")
ENVIRONMENT = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "HOME": os.devnull}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ignored").resolve()
    subprocess.run(["git", "init", "-q", root], check=True, env=ENVIRONMENT)
    return root


def by_git(root: Path) -> set[str]:
    said = subprocess.run(
        ["git", "-C", root, "check-ignore", "--no-index", "--stdin", "-z"],
        input="\0".join(PATHS).encode(),
        capture_output=True,
        check=False,
        env=ENVIRONMENT,
    )
    return {name for name in said.stdout.decode().split("\0") if name}


def by_us(root: Path) -> set[str]:
    """A path is hidden, too, where a folder that it is in is."""
    rules = Ignored(root)

    def hidden(path: str) -> bool:
        folder = path.rpartition("/")[0]
        return rules.hides_within(folder) or rules.hides(path, folder=False)

    return {path for path in PATHS if hidden(path)}


@example(["?//"])
@example(["//a", "a//b"])
@given(st.lists(PATTERNS, min_size=1, max_size=3))
def test_lines_mean_what_they_mean_to_git(repository: Path, lines: list[str]) -> None:
    (repository / ".gitignore").write_text("\n".join(lines))
    assert by_us(repository) == by_git(repository)


@pytest.mark.parametrize(
    "line",
    ["[ab]", "[!a]", "a[[]b", "a]", "[[:alpha:]]", "a[.]b", "/a/*", "\\#a", "#a", "a b", "*"],
)
def test_brackets_and_escapes_mean_it_too(repository: Path, line: str) -> None:
    (repository / ".gitignore").write_text(line)
    assert by_us(repository) == by_git(repository)


@pytest.mark.parametrize(
    ("line", "path"),
    [("*a" * 40 + "b", "a" * 250), ("**/a/" * 40 + "b", "a/" * 900 + "a"), ("a" * 900_000, "a")],
)
def test_no_line_takes_long(tmp_path: Path, line: str, path: str) -> None:
    (tmp_path / ".gitignore").write_text(f"{line}\n")
    start = time.process_time()
    assert not Ignored(tmp_path).hides(path, folder=False)
    assert time.process_time() - start < 5


def test_no_pattern_of_a_search_takes_long() -> None:
    start = time.process_time()
    assert not glob("**/a/" * 10 + "b")("a/" * 900 + "a")
    assert time.process_time() - start < 5

"""Races: places change under the tools' hands, and nothing outside is ever read or written."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shipmate.safety.verdict import Level
from shipmate.tools import files
from shipmate.tools.files import read_bytes
from shipmate.tools.tool import ToolError, Workspace
from tests.board import BOARD
from tests.safety.path_cases import Place
from tests.tools.writing import judge, run

SOME, CLAIMED = 150, 2_500
"""Tries of each of the four races; as many as are claimed with `--safety`."""


@pytest.fixture(params=["openat2", "step by step"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of opening; the second as on a system that lacks the call."""
    if request.param == "step by step":
        monkeypatch.setattr(files, "_OPENAT2", 10_000)


@pytest.fixture
def tries(in_full: bool) -> int:
    return CLAIMED if in_full else SOME


SWAPPER = """
import itertools, os, random, sys
there, outside, aside = sys.argv[1:]
def stay():
    for _ in range(random.randrange(30_000)):
        pass
for number in itertools.count():
    try:  # a tool may have made the folder anew in between
        os.rename(there, f"{aside}-{number}")
        os.symlink(outside, there)
        stay()
        os.unlink(there)
        os.rename(f"{aside}-{number}", there)
        stay()
    except OSError:
        pass
"""


@contextmanager
def swapping(place: Place) -> Generator[None]:
    """The folder `d` is a folder, a link out, and a folder again, as fast as another process
    can make it so."""
    paths = [place.root / "d", place.outside, place.base / "aside"]
    process = subprocess.Popen([sys.executable, "-I", "-c", SWAPPER, *map(str, paths)])
    try:
        while not list(place.base.glob("aside-*")):
            pass  # it has not begun
        yield
    finally:
        assert process.poll() is None
        process.kill()
        process.wait()


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.safety
@pytest.mark.usefixtures("way")
@pytest.mark.timeout(1800)
async def test_a_folder_swapped_for_a_link_lets_no_read_out(
    tmp_path: Path, tries: int, request: pytest.FixtureRequest
) -> None:
    place = Place(tmp_path.resolve())
    (place.root / "d").mkdir()
    (place.root / "d" / "secret.txt").write_text("inside")
    seen: set[bytes] = set()
    work = Workspace(place.root)
    number = 0
    with swapping(place):
        while number < tries or not seen:
            number += 1
            try:
                seen.add((await read_bytes(work, "d/secret.txt")).data)
            except ToolError:
                continue
    BOARD.put(f"swap races, {request.node.name.partition('_lets_')[2]}", number, len(seen) - 1)
    assert seen == {b"inside"}


@pytest.mark.safety
@pytest.mark.usefixtures("way")
@pytest.mark.timeout(1800)
async def test_a_folder_swapped_for_a_link_lets_no_write_out(
    tmp_path: Path, tries: int, request: pytest.FixtureRequest
) -> None:
    place = Place(tmp_path.resolve())
    (place.root / "d").mkdir()
    outside = snapshot(place.outside)
    work = Workspace(place.root, protected=(place.data,))
    number = written = 0
    with swapping(place):
        while number < tries or not written:
            number += 1
            path = ("d/secret.txt", "d/new/deep.txt", f"d/{number}.txt")[number % 3]
            try:
                verdict = await judge(work, "write_file", path=path, content=str(number))
                if verdict.level is not Level.REFUSE:
                    await run(work, "write_file", verdict, path=path, content=str(number))
                    written += 1
            except ToolError:
                continue
    escaped = snapshot(place.outside) != outside
    BOARD.put(f"swap races, {request.node.name.partition('_lets_')[2]}", number, escaped)
    assert not escaped

"""Opening files of a project: what was decided on is what is opened."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from shipmate.tools import files
from shipmate.tools.files import open_beneath, read_bytes, real_path
from shipmate.tools.tool import ToolError, Workspace
from tests.safety.path_cases import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(params=["openat2", "step by step"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of opening; the second as on a system that lacks the call."""
    if request.param == "step by step":
        monkeypatch.setattr(files, "_OPENAT2", 10_000)


@pytest.mark.usefixtures("way")
def test_a_link_anywhere_below_the_root_is_not_followed(place: Place) -> None:
    (place.root / "link").symlink_to(place.outside)
    (place.root / "direct").symlink_to(place.outside / "secret.txt")
    os.close(open_beneath(place.root, "src/a.py", os.O_RDONLY))
    for path in ("link/secret.txt", "direct"):
        with pytest.raises(OSError, match=r"link|direct"):
            open_beneath(place.root, path, os.O_RDONLY)


@pytest.mark.usefixtures("way")
async def test_no_read_gives_the_secret_while_a_file_is_swapped_for_a_link(place: Place) -> None:
    target, spare = place.root / "s.txt", place.root / "spare"
    target.write_text("inside")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for make in (
                lambda: spare.symlink_to(place.outside / "secret.txt"),
                lambda: spare.write_text("inside"),
            ):
                make()
                spare.rename(target)

    swapping = asyncio.get_running_loop().run_in_executor(None, swap)
    seen: set[bytes] = set()
    work = Workspace(place.root)
    for _ in range(1000):
        try:
            seen.add((await read_bytes(work, "s.txt")).data)
        except ToolError:
            continue
    stop.set()
    await swapping
    assert seen == {b"inside"}


async def test_a_pipe_that_took_the_place_of_a_file_is_named_and_does_not_hang(
    place: Place,
) -> None:
    os.mkfifo(place.root / "fifo")
    with pytest.raises(ToolError, match="is a pipe"):
        await read_bytes(Workspace(place.root), "fifo")
    descriptor = open_beneath(place.root, "fifo", os.O_RDONLY)
    try:
        with pytest.raises(ToolError, match="is a pipe"):
            files.check_regular(descriptor, "fifo")
    finally:
        os.close(descriptor)


async def test_a_part_of_a_file_tells_the_size_of_the_whole(place: Place) -> None:
    work = Workspace(place.root)
    whole = await read_bytes(work, "src/a.py")
    assert (whole.data, whole.size) == (b"x = 1\n", 6)
    part = await read_bytes(work, "/src/a.py", limit=3)
    assert (part.data, part.size) == (b"x =", 6)


def test_the_server_s_own_data_is_refused_inside_the_project_too(place: Place) -> None:
    place.apply([["datadir", "$P/data"]])
    (place.root / "link").symlink_to("data/sessions.db")
    for path in ("data/sessions.db", "link", "data"):
        with pytest.raises(ToolError, match="own data"):
            real_path(Workspace(place.root, protected=(place.data,)), path, "search")

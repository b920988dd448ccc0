"""Programs of the machine that listen in a place which a command can see are not reached by it."""

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from shipmate.safety.sandbox.bubblewrap import interpreter
from shipmate.safety.sandbox.room import Room, SandboxSettings
from shipmate.safety.sandbox.spawn import prepare, spawn

KNOCK = """
import socket
for path in {paths}:
    with socket.socket(socket.AF_UNIX) as one:
        try:
            one.connect(path)
            print("reached", path)
        except OSError as error:
            print("refused", error.errno)
with socket.socket(socket.AF_UNIX) as own, socket.socket(socket.AF_UNIX) as other:
    own.bind("own.socket")
    own.listen()
    other.connect("own.socket")
    print("its own")
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="shipmate-sockets-") as name:
        Path(name).chmod(0o755)
        yield Path(name).resolve()


@pytest.mark.skipif(not shutil.which("bwrap"), reason="needs bubblewrap")
def test_no_socket_of_the_machine_is_reached_wherever_it_lies(folder: Path) -> None:
    root, seen = folder / "project", folder / "seen"
    paths = [root / "in the project", seen / "readable"]
    with ExitStack() as stack:
        for path in paths:
            path.parent.mkdir()
            listening = stack.enter_context(socket.socket(socket.AF_UNIX))
            listening.bind(str(path))
            listening.listen()
            path.chmod(0o777)
        room = Room("bubblewrap", root, settings=SandboxSettings(read=(str(seen),)))
        script = KNOCK.format(paths=[str(path) for path in paths])
        said = run(f"{interpreter()} -I -S - <<'PYTHON'\n{script}\nPYTHON", room)
    assert said.split("\n") == ["refused 111", "refused 111", "its own", ""]


def run(script: str, room: Room) -> str:
    """All that it writes."""
    read, write = os.pipe()
    guarded = spawn(script, prepare(room, {"PATH": os.environ["PATH"]}), write)
    os.close(write)
    with os.fdopen(read) as output:
        said = output.read()
    guarded.let_go()
    guarded.process.wait()
    os.close(guarded.report)
    return said

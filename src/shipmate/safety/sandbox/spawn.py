"""Start a command in its room: the guard, and what stands around it."""

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from shipmate.safety.sandbox import bubblewrap
from shipmate.safety.sandbox.guards import Guard, guard
from shipmate.safety.sandbox.inside.forward import PORT
from shipmate.safety.sandbox.room import Room, identity, plan

MINE = ("HOME", "USER", "LOGNAME", "TMPDIR", "XDG_RUNTIME_DIR")
"""Variables about the server's user, which a room has its own of."""
PROXY_URL = f"http://127.0.0.1:{PORT}"
LOCAL = "localhost,127.0.0.1,::1"
THROUGH = {
    "http_proxy": PROXY_URL,
    "https_proxy": PROXY_URL,
    "HTTP_PROXY": PROXY_URL,
    "HTTPS_PROXY": PROXY_URL,
    "ALL_PROXY": PROXY_URL,
    "no_proxy": LOCAL,
    "NO_PROXY": LOCAL,
    "NODE_USE_ENV_PROXY": "1",
    "npm_config_proxy": PROXY_URL,
    "npm_config_https_proxy": PROXY_URL,
}
"""How programs are told of the filter; what does not listen to it has no network."""


@dataclass(slots=True)
class Guarded:
    """A guard that was started, with a command."""

    process: Guard
    control: int
    """A descriptor of ours; the command is ended when it is closed."""
    report: int
    """A descriptor of ours, to read the guard's one line from."""

    def let_go(self) -> None:
        """Have the command ended, if it has not; a second time nothing is done."""
        control, self.control = self.control, -1
        if control >= 0:
            os.close(control)


@dataclass(frozen=True, slots=True)
class Prepared:
    """All that is needed to start commands in a room."""

    order: bytes
    """As `inside.order` reads it."""


def prepare(room: Room, env: Mapping[str, str]) -> Prepared:
    """Look at the disk for what the room consists of.

    Raises `OSError` when the folder or the shell is not there.
    """
    if not room.root.is_dir():
        raise FileNotFoundError(f"there is no folder {room.root}")
    shell = "/bin/bash" if Path("/bin/bash").exists() else shutil.which("bash")
    if shell is None:
        raise FileNotFoundError("there is no bash on this system")
    confined = room.means == "bubblewrap"
    order = {
        "plan": plan(room),
        "maker": bubblewrap.maker(room) if confined else [],
        "namespaces": bubblewrap.namespaces(room.person) if confined else 0,
        "root": str(room.root),
        "shell": shell,
        "env": environment(room, env),
    }
    return Prepared(json.dumps(order).encode())


def spawn(script: str, room: Prepared, output: int) -> Guarded:
    """Start `script` in bash in the project's folder. The script is passed as a file without a
    name, so its length is not limited by what a command line may hold. Raises `OSError`."""
    control_read, control_write = os.pipe()
    report_read, report_write = os.pipe()
    try:
        with _file(script.encode()) as text, _file(room.order) as order:
            process = guard((control_read, text, report_write, order, output))
    except (OSError, ValueError):
        os.close(control_write)
        os.close(report_read)
        raise
    finally:
        os.close(control_read)
        os.close(report_write)
    return Guarded(process, control_write, report_read)


@contextlib.contextmanager
def _file(content: bytes) -> Generator[int]:
    """A file without a name; in memory where there is such, as no rule on folders holds it back."""
    memory = sys.platform == "linux"
    with os.fdopen(os.memfd_create("shipmate"), "w+b") if memory else TemporaryFile() as file:
        file.write(content)
        file.flush()
        file.seek(0)
        yield file.fileno()


def environment(room: Room, given: Mapping[str, str]) -> dict[str, str]:
    """The variables of a command in this room."""
    if room.means == "none":
        return dict(given)
    passed = {name: value for name, value in given.items() if name not in MINE}
    through = THROUGH if room.proxy is not None else {}
    return {**passed, **identity(room), **through}

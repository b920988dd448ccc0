"""Which means of confinement this system has: each is tried, none is believed."""

import os
import platform
import select
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from shipmate.safety.sandbox import bubblewrap, seccomp
from shipmate.safety.sandbox.inside.guard import REFUSED
from shipmate.safety.sandbox.room import Means, Room, SandboxSettings
from shipmate.safety.sandbox.spawn import prepare, spawn

PATIENCE = 15.0
"""Seconds for one trial."""
NAMESPACES = (
    "let users make namespaces: sysctl -w user.max_user_namespaces=15000 and, where there are such,"
    " kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0"
)
INSTALL = "install it with: apt install bubblewrap (or your system's package of that name)"
TRIAL = """
canary={canary} server={server} port={port}
fail() {{ echo "$1"; exit 1; }}
[ "$(id -u)" != 0 ] || fail "it is still root"
(: < "$canary") 2>/dev/null && fail "files elsewhere can be read"
(: > "$canary.new") 2>/dev/null  # may be a file of the room's own: it is looked for outside
(: > here) 2>/dev/null || fail "the project cannot be written to"
(exec 9<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && fail "the network can be reached"
kill -0 "$server" 2>/dev/null && fail "other processes can be sent signals"
(: < "/proc/$server/environ") 2>/dev/null && fail "the server's environment can be read"
rights=$(< /proc/self/status)
[[ $rights == *$'NoNewPrivs:\\t1'* ]] || fail "programs can gain rights"
[[ $rights == *$'Seccomp:\\t2'* ]] || fail "system calls are not filtered"
[[ $rights == *$'CapEff:\\t0000000000000000'* ]] || fail "it has capabilities"
echo held
"""


@dataclass(frozen=True, slots=True)
class Found:
    """What commands of a project are confined by."""

    means: Means
    missing: tuple[str, ...] = ()
    """Why what would be better is not used, and what to do about it."""


_LOCK = threading.Lock()
_TRIED: dict[tuple[Means, int], str] = {}


def found(
    root: Path, protected: tuple[Path, ...] = (), settings: SandboxSettings | None = None
) -> Found:
    """For a project's folder. Slow the first time. Raises `OSError` when the folder is gone."""
    if settings is not None and settings.mode == "off":
        return Found("none", ("switched off in the configuration ([sandbox] mode)",))
    if sys.platform != "linux" or not seccomp.known():
        return Found("none", (f"there is none for {platform.system()} {platform.machine()} yet",))
    owner = root.stat().st_uid if os.getuid() == 0 else os.getuid()
    missing: list[str] = []
    for means in ("bubblewrap", "landlock"):
        if problem := _not_for(means, root, protected) or _problem(means, owner):
            missing.append(f"{means}: {problem}")
        else:
            return Found(means, tuple(missing))
    return Found("none", tuple(missing))


def _not_for(means: Means, root: Path, protected: tuple[Path, ...]) -> str:
    inside = [path for path in protected if path.is_relative_to(root)]
    if means == "landlock" and inside:
        return f"it cannot hide {inside[0]}, which lies in the project"
    return ""


def _problem(means: Means, owner: int) -> str:
    """Why a means does not hold for a project of that owner; "" where it does."""
    with _LOCK:
        if (means, owner) not in _TRIED:
            try:
                _TRIED[means, owner] = _tried(means, owner)
            except subprocess.TimeoutExpired:
                return f"its trial took more than {PATIENCE:g} s"
        return _TRIED[means, owner]


def _tried(means: Means, owner: int) -> str:
    if means == "bubblewrap" and not bubblewrap.installed():
        return f"not installed; {INSTALL}"
    with (
        tempfile.TemporaryDirectory(prefix="shipmate-trial-") as name,
        socket.socket() as listening,
    ):
        folder = Path(name)
        folder.chmod(0o755)
        project, canary = folder / "project", folder / "canary"
        project.mkdir()
        canary.write_text("a file elsewhere\n")
        if os.getuid() == 0:
            os.chown(project, owner, -1)
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        script = TRIAL.format(canary=canary, server=os.getpid(), port=port)
        try:
            said = _said(Room(means, project.resolve(), temporary=project), script)
        except OSError as error:
            return f"it cannot be started: {error}"
        if canary.with_name("canary.new").exists():
            return "it does not work here: files elsewhere can be made"
    if said == "held":
        return ""
    hint = f"; {NAMESPACES}" if "namespace" in said.lower() or "uid map" in said else ""
    return f"it does not work here: {said or 'it says nothing'}{hint}"


def _said(room: Room, script: str) -> str:
    """The last line of a script. Waits for it; `TimeoutExpired` when it takes too long."""
    out_read, out_write = os.pipe()
    try:
        guarded = spawn(script, prepare(room, {"PATH": os.defpath}), out_write)
    finally:
        os.close(out_write)
    with os.fdopen(out_read, "rb") as output:
        try:
            ended = select.select([guarded.report], [], [], PATIENCE)[0]
            if not ended:
                raise subprocess.TimeoutExpired("a trial", PATIENCE)
            guarded.process.wait(PATIENCE)
        finally:
            guarded.let_go()
            os.close(guarded.report)
            guarded.process.kill()
            guarded.process.wait()
        lines = output.read().decode(errors="replace").strip().split("\n")
    return lines[-1].removeprefix(REFUSED)

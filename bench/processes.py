"""Child processes, and what they cost."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Process:
    """A child that has said, as a line of JSON, that it is ready."""

    pid: int
    said: dict[str, Any]
    started: float
    """`time.monotonic()` just before it was spawned."""

    def cpu(self) -> float:
        """Seconds of processor it has used, all threads, in nanosecond steps."""
        return time.clock_gettime((~self.pid << 3) | 2)  # Linux: the clock of another process

    def memory(self) -> float:
        """Resident megabytes of it and all its descendants."""
        return sum(resident(pid) for pid in family(self.pid)) / 1024


def resident(pid: int) -> int:
    """Kilobytes; 0 when it is gone."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for line in Path(f"/proc/{pid}/status").read_text().split("\n"):
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    return 0


def family(pid: int) -> list[int]:
    children: list[int] = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            children += map(int, (task / "children").read_text().split())
    return [pid, *(one for child in children for one in family(child))]


@contextlib.contextmanager
def running(command: Sequence[str], log: Path, folder: Path = ROOT) -> Generator[Process]:
    """Start a command, wait for its line of JSON, and end it at the end."""
    with log.open("ab") as errors:
        started = time.monotonic()
        child = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    assert child.stdout is not None
    try:
        line = child.stdout.readline()
        if not line.startswith(b"{"):
            raise SystemExit(f"{' '.join(command)}\nsaid {line!r}\n{log.read_text()}")
        yield Process(child.pid, json.loads(line), started)
    finally:
        child.terminate()
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        child.stdout.close()

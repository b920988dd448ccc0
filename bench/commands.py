"""A command in its sandbox, beside plain bash in the same run."""

import asyncio
import subprocess
import tempfile
import time
from pathlib import Path

from bench.client import median
from bench.figures import Figure
from bench.rows import Bench
from shipmate.safety.sandbox.found import found
from shipmate.safety.sandbox.room import Room
from shipmate.tools.collected import Collected
from shipmate.tools.processes import start

TIMES = 40
PLAIN = ["/bin/bash", "--noprofile", "--norc", "-c", "true"]


async def commands(_bench: Bench) -> list[Figure]:
    """In turns, so that what else the machine does meets all alike."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        means = found(root).means  # as in a server that has run a command before
        plain: list[float] = []
        confined: list[float] = []
        for _ in range(TIMES):
            begun = time.perf_counter()
            await asyncio.to_thread(subprocess.run, PLAIN, check=True)
            plain.append(1000 * (time.perf_counter() - begun))
            begun = time.perf_counter()
            command = await start("true", Room(means, root), "bench:1", Collected(1_000, None))
            await command.wait()
            confined.append(1000 * (time.perf_counter() - begun))
    bare, ours = median(plain), median(confined)
    return [
        Figure(
            f"a command, confined by {means}; beside it plain bash", ours, "ms", bare + 30, bare
        ),
        Figure("… in runs of plain bash", ours / bare, "×", 10),
    ]

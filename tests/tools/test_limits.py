"""What one command may take of the machine: processes, memory, files."""

import shutil
from pathlib import Path

import pytest

from shipmate.tools.tool import Workspace
from tests.tools.test_shell_exec import RUN, alive, means, ran, told

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("means")]
__all__ = ["means"]
FLOOD = f"""
while :; do (setsid true &) ; done &
for i in $(seq 2500); do sleep 314{RUN} & done
wait
"""
"""With orphans that end all the time, so that the guard is woken all the time."""


async def test_a_flood_of_processes_is_ended_and_said(work: Workspace) -> None:
    output = await ran(work, FLOOD, timeout_seconds=240)
    assert told(output).stopped == ""
    assert told(output).status == 137
    assert "[more than 2000 processes: all were ended]" in output.text
    assert alive(f"sleep 314{RUN}") == []


async def test_a_file_that_would_take_the_disk_is_refused_and_the_limit_is_named(
    work: Workspace, means: str
) -> None:
    if means == "none":
        pytest.skip("nothing is limited without a sandbox")
    half = shutil.disk_usage(work.root).free // 2
    output = await ran(work, f"truncate -s {2 * half} large; echo {'x' * 9} > small; ulimit -f")
    assert "File too large" in output.text or "File size limit exceeded" in output.text
    assert (work.root / "small").read_text() == "xxxxxxxxx\n"
    assert not Path(work.root, "large").exists() or (work.root / "large").stat().st_size == 0


async def test_memory_is_taken_from_a_command_before_the_server(
    work: Workspace, means: str
) -> None:
    if means == "none":
        pytest.skip("nothing is limited without a sandbox")
    output = await ran(work, "echo $(< /proc/self/oom_score_adj)")
    assert int(output.text.split("\n")[0]) > int(Path("/proc/self/oom_score_adj").read_text())


async def test_many_files_are_only_files(work: Workspace) -> None:
    output = await ran(work, "mkdir many && cd many && seq 20000 | xargs touch && ls | wc -l")
    assert output.text.startswith("20000\n")
    assert sum(1 for _ in (work.root / "many").iterdir()) == 20_000

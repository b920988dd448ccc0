"""Commands on the event loop that the server runs on."""

import asyncio
import sys

import pytest

from shipmate.tools import processes
from shipmate.tools.shell import shell_exec
from shipmate.tools.tool import ToolContext, ToolOutput, Workspace

uvloop = pytest.importorskip("uvloop", reason="not there on Windows")


def test_a_flood_is_slowed_down_and_nothing_fails_on_the_loop_of_the_server(
    work: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "FREE_BYTES", 1000)
    failures: list[dict[str, object]] = []

    async def flood() -> ToolOutput:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: failures.append(what))
        command = f"{sys.executable} -c 'print(\"x\" * 100_000)'; echo problem >&2; echo done"
        output = await shell_exec.run(ToolContext(work, call="c1"), command=command)
        assert isinstance(output, ToolOutput)
        return output

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        output = runner.run(flood())
    assert failures == []
    assert "done" in output.text
    assert "problem" in output.text

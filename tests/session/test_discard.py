"""What a session has beside its blocks goes with it."""

import asyncio
import contextlib
import os
from pathlib import Path

from shipmate.agent.profile import BUILT_IN
from shipmate.llm.scripted import ScriptedModel
from shipmate.session.assembly import Assembly
from shipmate.tools.catalog import BUILTIN
from shipmate.tools.contents import CONTENTS, keep
from shipmate.tools.shell import shell_exec
from shipmate.tools.tool import Limits, ToolContext, ToolOutput, Workspace


def running(text: str) -> bool:
    """Whether a process has `text` in its command line, in whatever namespace."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if text.encode() in entry.read_bytes():
                return True
    return False


async def test_a_deleted_session_leaves_no_command_and_no_output(tmp_path: Path) -> None:
    assembly = Assembly(
        profiles=lambda: BUILT_IN,
        projects=dict,
        models=lambda _name: ScriptedModel([]),
        tools=BUILTIN,
        limits=Limits,
        data=tmp_path / "data",
    )
    files = tmp_path / "data" / "files"
    outputs = files / "outputs" / "s1"
    outputs.mkdir(parents=True)
    (outputs / "c1.txt").write_text("long")
    keep(files, "s1", b"what a file held")
    for name in ("own", "shared"):
        (files / name).write_bytes(b"picture")
    work = Workspace(tmp_path, "s1", files=files)
    seconds = f"6000{os.getpid()}"
    command = f"exec sleep {seconds}"
    started = await shell_exec.run(ToolContext(work, call="c2"), command=command, background=True)
    assert isinstance(started, ToolOutput)
    while not running(seconds):
        await asyncio.sleep(0.01)
    await assembly.discard("s1", {"own", "gone", "outputs"})
    assert not running(seconds)
    assert not outputs.exists()
    assert not (files / CONTENTS / "s1").exists()
    assert [file.name for file in files.iterdir() if file.is_file()] == ["shared"]

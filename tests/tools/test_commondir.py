"""A command in the background cannot lead git elsewhere and be forgotten."""

import asyncio
import subprocess

from shipmate.tools.shell import end_background
from shipmate.tools.tool import Workspace
from tests.tools.test_shell_exec import ran, told

LEAD = "mkdir -p evil; echo ../evil > .git/commondir; echo led; sleep 60"


async def led(work: Workspace) -> str:
    """The name of the command in the background, once it has done it."""
    subprocess.run(["git", "init", "-q", work.root], check=True)
    name = told(await ran(work, LEAD, background=True)).background
    async with asyncio.timeout(30):
        while not (work.root / ".git/commondir").exists():
            await asyncio.sleep(0)
    return name


async def test_it_is_undone_when_its_session_is_deleted(work: Workspace) -> None:
    await led(work)
    await end_background(work.session)
    assert not (work.root / ".git/commondir").exists()


async def test_it_is_undone_and_told_when_somebody_looks(work: Workspace) -> None:
    name = await led(work)
    output = await ran(work, "", background_id=name, action="poll")
    assert ".git/commondir was removed" in output.text
    assert not (work.root / ".git/commondir").exists()
    await end_background(work.session)

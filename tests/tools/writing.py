"""Calls of the `read_write` tools as the agent makes them: understood, judged, run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from shipmate.safety.verdict import Level, Verdict
from shipmate.tools.arguments import parse_arguments
from shipmate.tools.read_write import TOOLS
from shipmate.tools.tool import ToolContext, ToolError, ToolOutput, Workspace
from tests.tools.use import judged

BY_NAME = {tool.name: tool for tool in TOOLS}


async def judge(work: Workspace, name: str, **arguments: Any) -> Verdict:
    return await judged(work, BY_NAME[name], **arguments)


async def run(work: Workspace, name: str, verdict: Verdict | None = None, **arguments: Any) -> str:
    """Run a call, bound to `verdict` where there is one."""
    tool = BY_NAME[name]
    context = ToolContext(work)
    if verdict is not None:
        context = replace(context, binds=verdict.binds)
    output = await tool.run(context, **parse_arguments(tool, arguments))
    return output.text if isinstance(output, ToolOutput) else output


async def approved(work: Workspace, name: str, **arguments: Any) -> str:
    verdict = await judge(work, name, **arguments)
    assert verdict.level < Level.REFUSE
    return await run(work, name, verdict, **arguments)


async def failure(work: Workspace, name: str, **arguments: Any) -> str:
    """What a call that asks nobody and changes nothing says."""
    try:
        verdict = await judge(work, name, **arguments)
    except ToolError as error:
        return str(error)
    raise AssertionError(verdict)


def tree(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }

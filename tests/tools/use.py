"""Use a tool as the agent does: arguments, verdict, run, border."""

from typing import Any

from shipmate.safety.verdict import Level, Verdict
from shipmate.tools.arguments import parse_arguments
from shipmate.tools.output import border
from shipmate.tools.tool import Tool, ToolContext, ToolError, ToolOutput, Workspace


async def judged(work: Workspace, tool: Tool, **given: Any) -> Verdict:
    return await tool.judge(ToolContext(work, call="c1"), **parse_arguments(tool, given))


async def used(work: Workspace, tool: Tool, **given: Any) -> ToolOutput:
    """The result the model gets; a failure is a result, too."""
    ctx = ToolContext(work, call="c1")
    try:
        values = parse_arguments(tool, given)
        verdict = await tool.judge(ctx, **values)
        assert verdict.level is Level.ALLOW
        return await border(await tool.run(ctx, **values), work, ctx.call)
    except ToolError as error:
        return ToolOutput(str(error), is_error=True)


def numbers(first: int, last: int) -> str:
    """The lines that `seq first last` writes."""
    return "".join(f"{n}\n" for n in range(first, last + 1))

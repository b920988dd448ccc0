"""Provider `history`: what was said in the project's other conversations."""

from typing import Literal

from shipmate.tools.tool import ToolContext, ToolError, ToolOutput, never_ask, tool


@tool(
    provider="history",
    judge=never_ask,
    effect=False,
    repeatable=True,
    example='{"query": "login loop", "role": "user"}',
)
async def search_sessions(
    ctx: ToolContext,
    query: str,
    role: Literal["any", "user", "assistant", "tool"] = "any",
    max_results: int = 10,
) -> ToolOutput:
    """Search what was said and done in the user's conversations about this project.

    All words must be in one message; a word also finds longer ones that begin with it, and a
    "phrase in quotes" is found as it is. `role` is who says it. Use it when the user refers to
    earlier work, or before you decide anew what may have been decided. It gives excerpts with
    the conversation and the place of each; results may be out of date.
    """
    if ctx.work.history is None:
        raise ToolError("The conversations of this project cannot be searched from here.")
    if not query.strip():
        raise ToolError("`query` is empty; give the words to look for.")
    most = max(1, min(max_results, 50))
    return await ctx.work.history(query, "" if role == "any" else role, most)


TOOLS = (search_sessions,)

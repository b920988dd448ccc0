"""Provider `agents`: a task is given to another agent, which has its own context."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shipmate.tools.tool import Tool, ToolContext, ToolError, ToolOutput, lasting, never_ask, tool


@lasting
@tool(
    provider="agents",
    judge=never_ask,
    effect=False,
    repeatable=True,
    example='{"agent": "explorer", "task": "Find where sessions are loaded, with path and line."}',
)
async def call_agent(ctx: ToolContext, agent: str, task: str) -> ToolOutput:
    """Give a task to another agent and get its final answer.

    The agent knows nothing of this conversation: `task` says all it needs (the goal, paths, what
    is known, what the answer must hold). Several calls in one reply run at the same time. Use it
    for work that can be told in a few sentences and would fill this conversation with detail.
    """
    if ctx.spawn is None:
        raise ToolError("No other agent can be called from here.")
    if not task.strip():
        raise ToolError("`task` is empty; say what the agent shall do, and all it has to know.")
    return await ctx.spawn(agent.strip(), task.strip())


def introducing(tool: Tool, agents: Mapping[str, str]) -> Tool:
    """The tool with the agents there are, by name with their description."""
    listed = "\n".join(f"- {name}: {what}" for name, what in agents.items())
    parameters: dict[str, Any] = dict(tool.parameters)
    properties: dict[str, Any] = dict(parameters["properties"])
    properties["agent"] = {**properties["agent"], "enum": list(agents)}
    return replace(
        tool,
        description=f"{tool.description}\n\nThe agents:\n{listed}",
        parameters={**parameters, "properties": properties},
    )


TOOLS = (call_agent,)

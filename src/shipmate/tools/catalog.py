"""The built-in tools by provider; an agent's profile names the providers it may use."""

from collections.abc import Mapping

from shipmate.tools import agents, ask, history, read_only, read_write, shell, todo, web
from shipmate.tools.tool import Tool

BUILTIN: Mapping[str, tuple[Tool, ...]] = {
    "read_only": read_only.TOOLS,
    "read_write": read_write.TOOLS,
    "web": web.TOOLS,
    "todo": todo.TOOLS,
    "ask": ask.TOOLS,
    "shell": shell.TOOLS,
    "agents": agents.TOOLS,
    "history": history.TOOLS,
}

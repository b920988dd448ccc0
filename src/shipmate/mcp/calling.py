"""A call of a server's tool, from the agent's side. Imported with the SDK."""

from typing import Any

from shipmate.mcp.asked import Running
from shipmate.mcp.server import Server, SessionLostError
from shipmate.tools.tool import StrangerError, ToolContext, ToolError


async def call(
    server: Server, tool: str, arguments: dict[str, Any], ctx: ToolContext
) -> dict[str, Any]:
    """The result as it came. A server that is just being started is waited for; a call that was
    not run, as the session with its server was lost, is made once more."""
    running = Running(ctx.call, ctx.root, ctx.desk, ctx.agent)
    for again in (True, False):
        await server.settled(server.around.connect_s + server.around.pause_s)
        live = server.live
        if live is None:
            why = f": {server.error}" if server.error else ""
            told = f"The MCP server {server.name} is not connected ({server.state}){why}"
            raise StrangerError(told) if why else ToolError(told)
        try:
            return await live.call(tool, arguments, running)
        except SessionLostError:
            if not again:
                break
            await server.begin_anew()
    raise ToolError(f"The MCP server {server.name} lost the session twice; the call was not run.")

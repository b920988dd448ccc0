"""The MCP server that is called: made with the official SDK, over stdio."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("bench", log_level="ERROR")


@server.tool(structured_output=False)
def echo(text: str) -> str:
    """Give the text back."""
    return text


@server.tool(structured_output=False)
def big(size: int) -> str:
    """A text of this many characters."""
    return "All work and no play. " * (size // 22)


server.run()

"""A well-behaved server made with the official SDK.

sdk_server.py stdio
sdk_server.py http|sse     (on loopback; prints its port)
"""

import asyncio
import socket
import sys
import warnings
from typing import Annotated

import uvicorn
from mcp.server.mcpserver import (
    AcceptedElicitation,
    Context,
    Elicit,
    ElicitationResult,
    MCPServer,
    Resolve,
)
from mcp_types import SamplingMessage, TextContent
from pydantic import BaseModel

warnings.simplefilter("ignore")
server = MCPServer("kind", log_level="ERROR")


class Trip(BaseModel):
    city: str
    nights: int


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def where_to() -> Elicit[Trip]:
    return Elicit("Where to?", Trip)


@server.tool()
async def book(trip: Annotated[ElicitationResult[Trip], Resolve(where_to)]) -> str:
    """Book a trip; asks where to."""
    if not isinstance(trip, AcceptedElicitation):
        return trip.action
    return f"{trip.data.nights} nights in {trip.data.city}"


@server.tool()
async def poem(ctx: Context) -> str:
    """Has the client's model write one."""
    said = await ctx.session.create_message(  # pyright: ignore[reportDeprecated] - older revisions have it
        [SamplingMessage(role="user", content=TextContent(type="text", text="A line, please"))],
        max_tokens=50,
        related_request_id=ctx.request_id,
    )
    assert isinstance(said.content, TextContent)
    return f"It wrote: {said.content.text} ({said.model})"


@server.tool()
async def slow(ctx: Context) -> str:
    """Takes three steps."""
    for step in range(3):
        await ctx.report_progress(step + 1, 3, f"step {step + 1}")
        await asyncio.sleep(0.01)
    return "done"


@server.tool()
async def where(ctx: Context) -> str:
    """The client's folders."""
    found = await ctx.session.list_roots()  # pyright: ignore[reportDeprecated] - older revisions have it
    return ", ".join(str(root.uri) for root in found.roots)


def main() -> None:
    if sys.argv[1] == "stdio":
        server.run()
        return
    app = server.streamable_http_app() if sys.argv[1] == "http" else server.sse_app()
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(app, log_level="error", lifespan="on", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run([listening])


main()

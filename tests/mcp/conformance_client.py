"""Drives our own pool against a scenario of the conformance suite: `conformance_client.py URL`.

It lists the tools, calls each with a smallest call that fits, takes the first option of each
question, and signs in as a browser would that says yes to all.
"""

import asyncio
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from msgspec import structs

from shipmate.llm.model import ChatMessage
from shipmate.mcp.server import Server
from shipmate.mcp.settings import McpServerSettings
from shipmate.protocol import AskUser, Pending
from tests.mcp.running import pool_of

CALLBACK = "http://127.0.0.1:1/mcp/callback"
PATIENCE = 20.0


class Yes:
    """A person who takes the first option."""

    async def ask(self, block: Pending) -> Pending:
        if isinstance(block, AskUser):
            return structs.replace(block, result=block.options[0] if block.options else "x")
        return structs.replace(block, result=True)

    async def sample(self, system: str, messages: Sequence[ChatMessage]) -> tuple[str, str]:
        return "An answer.", "scripted/demo"

    def progress(self, call: str, text: str, done: float, total: float | None) -> None:
        pass


class NoFollow(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def visited(url: str) -> dict[str, list[str]]:
    """What the browser comes back with."""
    try:
        urllib.request.build_opener(NoFollow).open(url, timeout=5)
    except urllib.error.HTTPError as moved:
        return parse_qs(urlsplit(moved.headers["location"]).query)
    return {}


async def sign_in(server: Server) -> None:
    while True:
        if url := server.sign_in_url:
            server.sign_in_url = ""
            back = await asyncio.to_thread(visited, url)
            first = {name: values[0] for name, values in back.items()}
            sign_ins = server.around.sign_ins
            sign_ins.back(first["state"], first["code"], first.get("iss", ""))
        await asyncio.sleep(0.02)


def sample(schema: Any) -> dict[str, Any]:
    kinds: dict[str, Any] = {
        "number": 1,
        "integer": 1,
        "string": "x",
        "boolean": True,
        "array": [],
        "object": {},
    }
    properties: dict[str, Any] = schema.get("properties", {})
    return {name: kinds.get(one.get("type"), "x") for name, one in properties.items()}


async def main(url: str) -> int:
    from shipmate.mcp.sign_in import SignIns

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        settings = McpServerSettings(transport="http", url=url)
        around = {"sign_ins": SignIns(CALLBACK), "pause_s": 0.1}
        async with pool_of(folder, {"it": settings}, **around) as running:
            server = running.pool.servers["it"]
            signing = asyncio.ensure_future(sign_in(server))
            async with asyncio.timeout(PATIENCE):
                while server.state not in ("ready", "failed"):
                    await asyncio.sleep(0.02)
            from shipmate.mcp.calling import call
            from shipmate.tools.tool import ToolContext, ToolError, Workspace

            for number, tool in enumerate(server.tools):
                ctx = ToolContext(Workspace(folder), f"c{number}", desk=Yes())
                try:
                    await call(server, tool.name, sample(tool.parameters), ctx)
                except ToolError as error:
                    print(error, file=sys.stderr)
            signing.cancel()
            print(server.state, server.error, file=sys.stderr)
            return 0 if server.state == "ready" else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))

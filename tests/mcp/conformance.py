"""Drives our own pool against the scenarios of the conformance suite.

For each it lists the tools, calls each with a smallest call that fits, takes the first option of
each question, and signs in as a browser would that says yes to all.
"""

import asyncio
import json
import re
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from msgspec import structs

from shipmate.llm.model import ChatMessage
from shipmate.mcp.server import Server
from shipmate.mcp.settings import McpOAuth, McpServerSettings
from shipmate.mcp.sign_in import SignIns
from shipmate.protocol import AskUser, Pending
from shipmate.tools.tool import ToolContext, ToolError, Workspace
from tests.mcp.published import SUITE, node, npm_packages
from tests.mcp.running import pool_of
from tests.mcp.test_faults import until

CLIENT = Path(__file__).with_name("conformance_client.py")
CALLBACK = "http://127.0.0.1:1/mcp/callback"
DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""The client id metadata document that the suite knows."""
SCENARIO_S = 200
AT_ONCE = 2


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
        urllib.request.build_opener(NoFollow).open(url, timeout=60)
    except urllib.error.HTTPError as moved:
        return parse_qs(urlsplit(moved.headers["location"]).query)
    return {}


async def sign_in(server: Server) -> None:
    """As often as it is asked for."""
    while True:
        news = server.news
        if url := server.sign_in_url:
            server.sign_in_url = ""
            back = await asyncio.to_thread(visited, url)
            first = {name: values[0] for name, values in back.items()}
            sign_ins = server.around.sign_ins
            sign_ins.back(first["state"], first["code"], first.get("iss", ""))
        await news.wait()


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


async def played(folder: Path, url: str, context: dict[str, str]) -> tuple[bool, str]:
    """Whether the server was ready in the end, and what was said."""
    from shipmate.mcp.calling import call  # brings the SDK

    oauth = None
    if "client_id" in context:
        secret = context.get("client_secret", "")
        oauth = McpOAuth(client_id=context["client_id"], client_secret=secret)
    settings = McpServerSettings(transport="http", url=url, oauth=oauth)
    around: dict[str, Any] = {
        "sign_ins": SignIns(CALLBACK, lambda: DOCUMENT), "pause_s": 0.1, "connect_s": 60.0
    }  # fmt: skip
    said: list[str] = []
    async with pool_of(folder, {"it": settings}, **around) as running:
        server = running.pool.servers["it"]
        signing = asyncio.ensure_future(sign_in(server))
        await until(lambda: server.state in ("ready", "failed"), 120)
        for number, tool in enumerate(server.tools):
            ctx = ToolContext(Workspace(folder), f"c{number}", desk=Yes())
            try:
                await call(server, tool.name, sample(tool.parameters), ctx)
            except ToolError as error:
                said.append(str(error))
        signing.cancel()
        return server.state == "ready", "\n".join([*said, f"{server.state} {server.error}"])


@asynccontextmanager
async def driver(folder: Path) -> AsyncGenerator[int]:
    """Listens for `conformance_client.py`; the port."""
    count = 0

    async def asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        place = folder / f"scenario-{count}"
        place.mkdir()
        given = json.loads(await reader.readline())
        answer: dict[str, Any] = {"ready": False, "said": "The driver failed; see its log."}
        try:
            ready, said = await played(place, given["url"], given["context"])
            answer = {"ready": ready, "said": said}
        finally:
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()
            writer.close()

    async with await asyncio.start_server(asked, "127.0.0.1") as server:
        yield server.sockets[0].getsockname()[1]


async def output_of(*words: str) -> str:
    """What the suite says."""
    program = str(npm_packages(SUITE) / ".bin" / "conformance")
    process = await asyncio.create_subprocess_exec(
        node(), program, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await process.communicate()
    return said.decode(errors="replace")


async def scenarios() -> list[str]:
    """Those for clients, of the revisions that are published."""
    rows = re.findall(r"- (\S+) \[([^\]]*)\]", await output_of("list", "--client"))
    return [name for name, versions in rows if re.search(r"\d{4}-", versions)]


async def results(folder: Path) -> dict[str, str]:
    """What the suite says of each scenario; empty where it passed."""
    several = asyncio.Semaphore(AT_ONCE)
    async with driver(folder) as port:
        command = f"{sys.executable} -S -E {CLIENT} {port}"

        async def result(scenario: str) -> str:
            limits = ("--scenario", scenario, "--timeout", str(SCENARIO_S * 1000))
            async with several:
                said = await output_of("client", "--command", command, *limits)
            return "" if "OVERALL: PASSED" in said else said

        names = await scenarios()
        return dict(zip(names, await asyncio.gather(*map(result, names)), strict=True))

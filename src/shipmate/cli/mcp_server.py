"""`shipmate mcp`: agents as tools of another program, over the Model Context Protocol."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import msgspec
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from shipmate import __version__
from shipmate.cli.any_server import a_server, log_to_stderr
from shipmate.cli.api import CHAT, Api, connected
from shipmate.config.directory import data_directory
from shipmate.errors import ShipmateError
from shipmate.protocol import SessionChanged

P = ParamSpec("P")
T = TypeVar("T")
Seconds = Annotated[float, Field(ge=0, le=300, description="How long to wait for its end.")]

WAIT_S = 45.0
"""Below the minute after which many clients give up a call."""
SHOWN = 30
"""Blocks of a session that are read at a time."""
INSTRUCTIONS = (
    "shipmate has agents that work in the user's projects and ask before they change anything."
    " Start a task, then follow it. What waits for approval is decided by the user, on the page"
    " that `url` names."
)


def serve_tools(data: Path | None, agent: str, model: str, *, decide: bool) -> int:
    log_to_stderr()
    asyncio.run(_serve(data_directory(data), agent, model, decide))
    return 0


async def _serve(data: Path, agent: str, model: str, decide: bool) -> None:
    async with a_server(data) as server, connected(server) as api:
        tasks = Tasks(api, agent, model)
        offered = MCPServer(
            "shipmate", version=__version__, instructions=INSTRUCTIONS, log_level="ERROR"
        )
        tools: list[Callable[..., Coroutine[Any, Any, Any]]] = [
            tasks.list_projects,
            tasks.start_task,
            tasks.follow_task,
            tasks.say,
            tasks.stop_task,
            tasks.list_sessions,
            tasks.read_session,
        ]
        tools += [tasks.approve, tasks.answer] if decide else []
        for tool in tools:
            offered.add_tool(_in_words(tool))
        await offered.run_stdio_async()


def _in_words(
    tool: Callable[P, Coroutine[Any, Any, T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    """What is refused is told in its words."""

    @wraps(tool)
    async def told(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await tool(*args, **kwargs)
        except ShipmateError as error:
            raise ToolError(str(error)) from error

    return told


@dataclass(frozen=True, slots=True)
class Tasks:
    api: Api
    agent: str
    model: str

    async def list_projects(self) -> dict[str, Any]:
        """List the projects and the agents that can work in them."""
        info = await self.api.call("GET", "/api/agent/info")
        projects = [
            {"id": one["id"], "name": one["name"], "path": one["path"]} for one in info["projects"]
        ]
        return {"projects": projects, "agents": info["agents"]}

    async def start_task(
        self, project: str, task: str, agent: str = "", seconds: Seconds = WAIT_S
    ) -> dict[str, Any]:
        """Give an agent a task in a project (its id or name). Answers with what came of it, or
        how far it is; then follow it."""
        body = {
            "task": task,
            "project": project,
            "agent": agent or self.agent,
            "provider": self.model or await self.api.default_model(),
        }
        session = ""
        async with aclosing(self.api.stream("POST", CHAT, body)) as events:
            async for kind, data in events:
                if kind == "session":
                    session = _id_of(data)
                    break
        return await self.follow_task(session, seconds)

    async def follow_task(self, session: str, seconds: Seconds = WAIT_S) -> dict[str, Any]:
        """Wait until the agent is finished or somebody has to decide, but no longer than that,
        and say how it stands: status, the last words, what waits, the page's address."""
        with suppress(TimeoutError):  # it works on; how far it is follows
            async with asyncio.timeout(seconds):
                body = {"session": session}
                async with aclosing(self.api.stream("POST", CHAT, body)) as events:
                    async for _ in events:
                        pass
        view = await self.api.call("GET", f"/api/agent/sessions/{session}?limit={SHOWN}")
        row = view["session"]
        said = [b["text"] for b in view["blocks"] if b["type"] == "message" and b.get("text")]
        return {
            "session": session,
            "status": row["status"],
            "title": row["title"],
            "said": said[-1] if said else "",
            "error": row["error"],
            "waiting": [_waiting(one) for one in view["pending"]],
            "url": f"{self.api.url}/#/s/{session}",
        }

    async def say(self, session: str, message: str, seconds: Seconds = WAIT_S) -> dict[str, Any]:
        """Say something in a session. What waits for a decision there is closed as not run."""
        body = {"session": session, "message": message}
        async with aclosing(self.api.stream("POST", CHAT, body)) as events:
            async for _ in events:
                break
        return await self.follow_task(session, seconds)

    async def stop_task(self, session: str) -> str:
        """Stop what an agent does in a session."""
        await self.api.call("POST", "/api/agent/stop", {"session": session})
        return "Stopped."

    async def list_sessions(self, project: str = "", cursor: str = "") -> dict[str, Any]:
        """List sessions, the last changed first; `cursor` is for the next page."""
        query = f"?project={project}&cursor={cursor}"
        page = await self.api.call("GET", f"/api/agent/sessions{query}")
        kept = ("id", "title", "project", "agent", "status")
        rows = [{name: row[name] for name in kept} for row in page["sessions"]]
        return {"sessions": rows, "cursor": page["cursor"]}

    async def read_session(self, session: str, before: int = 0) -> dict[str, Any]:
        """Read the last blocks of a session: what was said, called and answered. `before` (the
        `pos` of the first one) gives those before."""
        query = f"?limit={SHOWN}&before={before}"
        view = await self.api.call("GET", f"/api/agent/sessions/{session}{query}")
        return {"blocks": view["blocks"], "more": view["more"]}

    async def approve(
        self, session: str, id: str, digest: str, approved: bool, feedback: str = ""
    ) -> str:
        """Decide an approval that waits, by its id and digest as they were told. Only as the
        user has said."""
        body = {"session": session, "id": id, "digest": digest, "approved": approved}
        await self.api.call("POST", "/api/agent/approval", body | {"feedback": feedback})
        return "Approved." if approved else "Denied."

    async def answer(self, session: str, id: str, text: str) -> str:
        """Answer a question that waits, by its id. Only as the user has said."""
        await self.api.call(
            "POST", "/api/agent/answer", {"session": session, "id": id, "answer": text}
        )
        return "Answered."


def _waiting(block: dict[str, Any]) -> dict[str, Any]:
    """What has to be known to decide it."""
    names = ("type", "id", "digest", "title", "reason", "level", "details", "question", "options")
    return {name: block[name] for name in names if name in block}


def _id_of(data: bytes) -> str:
    return msgspec.json.decode(data, type=SessionChanged).row.id

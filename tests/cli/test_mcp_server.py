"""`shipmate mcp`, driven by the client of the official SDK."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.stdio import stdio_client
from mcp_types import TextContent

from mcp import ClientSession, StdioServerParameters
from tests.cli.server import command, environment
from tests.provider import Provider, call_reply, text_reply

WRITE = ("write_file", {"path": "new.txt", "content": "words\n"})
DECIDING = {"approve", "answer"}


@pytest.fixture
def data(tmp_path: Path, provider: Provider) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    project = tmp_path / "project"
    project.mkdir()
    (folder / "config.toml").write_text(
        f'[providers.own]\nbase_url = "{provider.url}"\nmodels = [{{ id = "m" }}]\n'
        f'[projects.demo]\npath = "{project}"\n'
    )
    return folder


@asynccontextmanager
async def client(data: Path, *options: str) -> AsyncGenerator[ClientSession]:
    program, *rest = command("mcp", "--data", data, "-m", "own/m", *options)
    server = StdioServerParameters(command=program, args=rest, env=environment())
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session


async def use(client: ClientSession, name: str, /, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result
    return result.structured_content or {}


async def test_a_task_is_started_waits_for_the_user_and_is_read(
    data: Path, tmp_path: Path, provider: Provider
) -> None:
    provider.queue(call_reply(WRITE))
    async with client(data) as session:
        listed = {tool.name for tool in (await session.list_tools()).tools}
        assert "start_task" in listed
        assert not listed & DECIDING
        projects = await use(session, "list_projects")
        assert [one["id"] for one in projects["projects"]] == ["demo"]
        told = await use(session, "start_task", project="demo", task="write")
        assert told["status"] == "waiting_approval"
        assert told["waiting"][0]["details"]["files"][0]["path"] == "new.txt"
        assert not (tmp_path / "project/new.txt").exists()
        read = await use(session, "read_session", session=told["session"])
        assert {"user", "tool", "approval_request"} <= {one["type"] for one in read["blocks"]}
        rows = (await use(session, "list_sessions", project="demo"))["sessions"]
        assert [row["id"] for row in rows] == [told["session"]]


async def test_a_client_that_may_decide_approves_what_it_was_shown(
    data: Path, tmp_path: Path, provider: Provider
) -> None:
    provider.queue(call_reply(WRITE), text_reply("Written."))
    async with client(data, "--decide") as session:
        listed = {tool.name for tool in (await session.list_tools()).tools}
        assert listed >= DECIDING
        told = await use(session, "start_task", project="demo", task="write")
        asked = told["waiting"][0]
        one = {"session": told["session"], "id": asked["id"], "approved": True}
        stale = await session.call_tool("approve", one | {"digest": "another"})
        assert stale.is_error
        assert not (tmp_path / "project/new.txt").exists()
        await use(session, "approve", **one, digest=asked["digest"])
        told = await use(session, "follow_task", session=told["session"])
    assert (told["status"], told["said"]) == ("idle", "Written.")
    assert (tmp_path / "project/new.txt").read_text() == "words\n"


async def test_what_cannot_be_is_said_in_words(data: Path) -> None:
    async with client(data) as session:
        result = await session.call_tool("start_task", {"project": "nope", "task": "x"})
    assert result.is_error
    [content] = result.content
    assert isinstance(content, TextContent)
    assert "There is no project 'nope'. Known projects: demo." in content.text

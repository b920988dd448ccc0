"""The three transports, with a server made with the official SDK: results, questions, progress."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from shipmate.llm.scripted import call, say
from shipmate.mcp.settings import McpServerSettings
from shipmate.protocol import ApprovalRequest, AskUser, Progress, ToolResult, Usage
from tests.mcp.running import Running, playing, pool_of
from tests.mcp.test_faults import until
from tests.mcp.test_reports import called, wire_of
from tests.play import Stage, decode_event

SERVER = Path(__file__).with_name("sdk_server.py")
TRANSPORTS = ("stdio", "http", "sse")


@contextmanager
def listening(transport: str) -> Generator[McpServerSettings]:
    """Settings of the server over a transport; over HTTP it runs already."""
    if transport == "stdio":
        yield McpServerSettings(command=(sys.executable, str(SERVER), "stdio"))
        return
    command = [sys.executable, str(SERVER), transport]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            path = "mcp" if transport == "http" else "sse"
            url = f"http://127.0.0.1:{port}/{path}"
            yield McpServerSettings(transport=transport, url=url)  # pyright: ignore[reportArgumentType] - one of the three
        finally:
            process.kill()


@asynccontextmanager
async def kind(folder: Path, transport: str) -> AsyncGenerator[Running]:
    with listening(transport) as settings:
        async with pool_of(folder, {"kind": settings}, connect_s=50.0) as running:
            await running.pool.settled(50)
            server = running.pool.servers["kind"]
            assert (server.state, server.error) == ("ready", "")
            yield running


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_tools_are_listed_and_called(tmp_path: Path, transport: str) -> None:
    async with kind(tmp_path, transport) as running:
        server = running.pool.servers["kind"]
        assert [tool.name for tool in server.tools] == ["add", "book", "poem", "slow", "where"]
        assert server.version == {"http": "2026-07-28"}.get(transport, "2025-11-25")
        result = await called(tmp_path, running, "add", {"a": 2, "b": 3}, server="kind")
        assert (result.text, result.is_error) == ("5", False)
        assert result.untrusted
        wrong = await called(tmp_path, running, "add", {"a": "x", "b": 3}, server="kind")
        assert wrong.is_error
        assert "Nothing was done" in wrong.text
        if transport == "stdio":
            where = await called(tmp_path, running, "where", server="kind")
            assert where.text == (tmp_path / "project").resolve().as_uri()


async def answered(server: Stage, running: Running, tool: str, *answers: Any) -> ToolResult:
    """The result of a call during which the server asks; the answers, in order."""
    session = await server.create()
    await server.say(session, "go")
    await server.executor.decide(session, True)
    for number, answer in enumerate(answers, 1):
        kind = ApprovalRequest if isinstance(answer, bool) else AskUser

        async def waiting(kind: Any = kind, number: int = number) -> Any:
            found = await server.blocks(session, kind)
            return [b for b in found if b.id.endswith(f"-asked-{number}")]

        while not (asked := await waiting()):
            assert server.executor.runs(session)
            await asyncio.sleep(0.01)
        row = await server.row(session)
        assert row.status == "running"
        if isinstance(answer, bool):
            await server.executor.decide(session, answer, block=asked[0].id)
        else:
            await server.executor.answer(session, answer, block=asked[0].id)
    await until(lambda: not server.executor.runs(session))
    (result,) = await server.blocks(session, ToolResult)
    return result


@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
async def test_a_question_of_the_server_is_asked_in_the_conversation(
    tmp_path: Path, transport: str
) -> None:
    async with kind(tmp_path, transport) as running:
        steps = [call(wire_of(running, "book", "kind")), say("Done.")] * 2
        async with playing(tmp_path, running, steps) as server:
            result = await answered(server, running, "book", "Lisbon", "3")
            assert result.text == "3 nights in Lisbon"
            declined = await answered(server, running, "book", "Decline")
            assert declined.text == "decline"


@pytest.mark.parametrize("approved", [True, False])
async def test_sampling_waits_for_an_approval(tmp_path: Path, approved: bool) -> None:
    async with kind(tmp_path, "stdio") as running:
        poem = say("Roses are red.", usage=Usage(prompt=5, completion=3))
        steps = [call(wire_of(running, "poem", "kind")), poem, say("Done.")]
        async with playing(tmp_path, running, steps) as server:
            result = await answered(server, running, "poem", approved)
            used = [(row.prompt, row.completion) for row in await server.store.usage()]
            assert used == [(5, 3)], "it counts for budgets"
    if approved:
        assert result.text == "It wrote: Roses are red. (scripted/demo)"
    else:
        assert result.is_error


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_progress_is_shown_while_it_runs(tmp_path: Path, transport: str) -> None:
    async with kind(tmp_path, transport) as running:
        steps = [call(wire_of(running, "slow", "kind")), say("Done.")]
        async with playing(tmp_path, running, steps) as server:
            session = await server.create()
            await server.say(session, "go")
            ends = server.until(session, lambda frame: frame.type == "done")
            watching = asyncio.ensure_future(ends)
            await asyncio.sleep(0)
            await server.executor.decide(session, True)
            frames = [decode_event(f.data) for f in await watching]
    told = [e for e in frames if isinstance(e, Progress)]
    assert [(e.text, e.done, e.total) for e in told] == [
        (f"step {n}", float(n), 3.0) for n in (1, 2, 3)
    ]


async def test_stop_while_the_server_asks_closes_the_question(tmp_path: Path) -> None:
    async with kind(tmp_path, "stdio") as running:
        steps = [call(wire_of(running, "book", "kind")), say("Done.")]
        async with playing(tmp_path, running, steps) as server:
            session = await server.create()
            await server.say(session, "go")
            await server.executor.decide(session, True)
            while not await server.blocks(session, AskUser):
                await asyncio.sleep(0.01)
            await server.executor.stop(session)
            (question,) = await server.blocks(session, AskUser)
            assert question.cancelled
            assert (await server.row(session)).pending_question == ""

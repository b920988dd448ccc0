"""A real language model (SmolLM2-135M, 93 MB from PyPI) over real HTTP.

What is asserted is what a schema, a grammar or the protocol guarantees, never prose.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import pytest

from shipmate.llm.connections import Connections
from shipmate.llm.endpoint import Endpoint
from shipmate.llm.model import ChatMessage, ModelError, Part, Reply
from shipmate.llm.offline.process import OfflineServer
from shipmate.llm.openai import OpenAIModel
from shipmate.llm.schema import SchemaModel
from shipmate.protocol import ApprovalRequest, Done, Message, ToolCall, ToolResult
from shipmate.tools import read_only, read_write
from tests.llm.offline_play import Narrow, fetched, one_step, shared_cache, short_answer
from tests.play import stage

pytestmark = [pytest.mark.smollm2, pytest.mark.timeout(300)]
ASK = [ChatMessage("user", "Read README.md")]


@pytest.fixture
async def narrow() -> AsyncGenerator[Narrow]:
    """Starting it takes 0.4 s, so each test has its own."""
    server = OfflineServer("smollm2", await fetched("smollm2"), context=2048, threads=1)
    connections = Connections()
    yield Narrow(server, connections)
    await server.close()
    await connections.close()


async def test_it_streams_deltas_and_real_usage(narrow: Narrow) -> None:
    items = [item async for item in narrow.plain(max_tokens=12).stream(ASK, ())]
    assert sum(isinstance(item, Part) for item in items) >= 2
    reply = items[-1]
    assert isinstance(reply, Reply)
    assert reply.finish == "length"
    assert reply.usage is not None
    assert reply.usage.completion == 12
    assert reply.usage.prompt > 5
    assert "".join(item.text for item in items if isinstance(item, Part)) == reply.text


async def test_the_same_question_gets_the_same_answer(narrow: Narrow) -> None:
    model = narrow.plain(max_tokens=16, cache_prompt=False)
    replies = [[item async for item in model.stream(ASK, ())][-1] for _ in range(2)]
    assert replies[0] == replies[1]


async def test_tools_by_constraint_give_a_call_that_fits(narrow: Narrow) -> None:
    spec = one_step("read_file", path="README.md")
    model = SchemaModel(lambda fields: narrow.plain(max_tokens=60, **fields), "compact")
    reply = [item async for item in model.stream(ASK, [spec])][-1]
    assert isinstance(reply, Reply)
    if reply.calls:
        assert (reply.calls[0].name, reply.calls[0].arguments) == (
            "read_file",
            {"path": "README.md"},
        )
    else:
        assert not reply.text.startswith("{"), "a final answer comes without its JSON"


async def test_it_drives_the_whole_loop_with_an_approval(narrow: Narrow, tmp_path: Path) -> None:
    content = "Hello from a real model.\n"
    steps = [
        narrow.step(one_step("read_file", path="README.md")),
        narrow.step(one_step("write_file", path="hello.txt", content=content)),
        narrow.step(short_answer()),
    ]
    tools = [*read_only.TOOLS, *read_write.TOOLS]
    async with stage(tmp_path, steps, tools=tools) as play:
        (tmp_path / "project" / "README.md").write_text("# Demo\n")
        session = await play.create()
        events = await play.say(session, "Read README.md, then write hello.txt.")
        assert isinstance(events[-1], Done)
        assert events[-1].reason == "waiting_approval"
        assert not (tmp_path / "project" / "hello.txt").exists()
        (asked,) = await play.blocks(session, ApprovalRequest)
        assert "hello.txt" in asked.title
        after = (await play.row(session)).last_seq
        await play.executor.decide(session, True)
        events = await play.watch(session, after)
        assert isinstance(events[-1], Done)
        assert events[-1].finished
        assert (tmp_path / "project" / "hello.txt").read_text() == content
        calls = await play.blocks(session, ToolCall)
        assert [call.name for call in calls] == ["read_file", "write_file"]
        results = await play.blocks(session, ToolResult)
        assert "# Demo" in results[0].text
        assert not any(result.is_error for result in results)
        said = await play.blocks(session, Message)
        assert said[-1].text
        assert all(message.tokens_source == "api" and message.tokens for message in said)


async def test_who_leaves_frees_the_model_at_once(narrow: Narrow) -> None:
    async with aclosing(narrow.plain(max_tokens=1500).stream(ASK, ())) as items:
        async for _ in items:
            break
    start = time.monotonic()
    async for _ in narrow.plain(max_tokens=1).stream(ASK, ()):
        pass
    assert time.monotonic() - start < 10


async def test_a_wrong_key_and_a_long_prompt_are_told(narrow: Narrow) -> None:
    address = await narrow.server.address()
    wrong = Endpoint("It", address.base_url, "wrong-key-0123456789")
    with pytest.raises(ModelError) as caught:
        async for _ in OpenAIModel(narrow.info, wrong, narrow.connections).stream(ASK, ()):
            pass
    assert caught.value.kind == "auth"
    long = [ChatMessage("user", "word " * 4000)]
    with pytest.raises(ModelError) as caught:
        async for _ in narrow.plain().stream(long, ()):
            pass
    assert caught.value.kind == "too_long"


async def test_a_server_that_died_is_started_anew(narrow: Narrow) -> None:
    first = await narrow.server.address()
    pid = narrow.server.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    while narrow.server.pid is not None:
        await asyncio.sleep(0.01)
    second = await narrow.server.address()
    assert second != first
    assert narrow.server.pid != pid


PARENT = """
import asyncio, sys
from pathlib import Path
from shipmate.llm.offline.process import OfflineServer

async def main():
    server = OfflineServer("smollm2", Path(sys.argv[1]), context=512, threads=1)
    await server.address()
    print(server.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_it_never_outlives_its_parent() -> None:
    await fetched("smollm2")
    command = [sys.executable, "-c", PARENT, str(shared_cache())]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(await asyncio.to_thread(parent.stdout.readline))
        command_line = Path(f"/proc/{pid}/cmdline")
        if command_line.exists():
            assert json.dumps(command_line.read_text()).count("api_key") == 0
        parent.kill()
    await asyncio.to_thread(wait_until_gone, pid)


def wait_until_gone(pid: int, patience: float = 10.0) -> None:
    end = time.monotonic() + patience
    while _alive(pid):
        assert time.monotonic() < end, f"process {pid} is still there"
        time.sleep(0.02)


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def runs(server: OfflineServer) -> bool:
    return server.pid is not None


async def test_without_a_request_it_ends_after_a_while_and_starts_again() -> None:
    folder = await fetched("smollm2")
    server = OfflineServer("smollm2", folder, context=512, threads=1, idle=0.05)
    try:
        for _ in range(2):
            async with server.in_use() as first, server.in_use() as second:
                assert first == second
                assert runs(server)
            while runs(server):
                await asyncio.sleep(0.01)
    finally:
        await server.close()

"""Signing in to a server: allowed, refused, too late, with a client that was registered by hand,
and for more rights in the middle of a call."""

import asyncio
import re
import urllib.request
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from shipmate.llm.scripted import call, say
from shipmate.mcp.server import Server
from shipmate.mcp.settings import McpOAuth, McpServerSettings
from shipmate.mcp.sign_in import SignIns
from shipmate.protocol import Progress, ToolResult
from tests.mcp.authority import Authority, authority
from tests.mcp.running import Running, playing, pool_of
from tests.mcp.test_faults import until
from tests.mcp.test_reports import called, wire_of
from tests.play import decode_event

CALLBACK = "http://127.0.0.1:1/mcp/callback"


@asynccontextmanager
async def signing(
    folder: Path, place: Authority, **more: Any
) -> AsyncGenerator[tuple[Running, Server]]:
    settings = {"it": McpServerSettings(transport="http", url=place.mcp, **more)}
    async with pool_of(
        folder, settings, sign_ins=SignIns(CALLBACK), connect_s=60.0, pause_s=0.01
    ) as running:
        yield running, running.pool.servers["it"]


async def came(server: Server, word: str = "Allow") -> dict[str, str]:
    """What the browser of a person who clicks on `word` comes back with."""
    await until(lambda: bool(server.sign_in_url))

    def read() -> str:
        with urllib.request.urlopen(server.sign_in_url, timeout=60) as page:
            return page.read().decode()

    shown = await asyncio.to_thread(read)
    found = re.search(rf'href="([^"]+)">{word}<', shown)
    assert found is not None
    return dict(parse_qsl(urlsplit(found[1].replace("&amp;", "&")).query))


async def signed_in(server: Server) -> None:
    back = await came(server)
    server.around.sign_ins.back(back["state"], back["code"], "")


async def test_a_person_signs_in_and_it_is_kept(tmp_path: Path) -> None:
    with authority() as place:
        async with signing(tmp_path, place) as (running, server):
            await signed_in(server)
            await until(lambda: server.state == "ready")
            assert (await called(tmp_path, running, "look", server="it")).text == "look done"
        async with signing(tmp_path, place) as (running, server):
            await until(lambda: server.state == "ready")
        assert len(place.used) == 1, "nobody is asked again"


async def test_a_refusal_is_told_and_not_tried_again_by_itself(tmp_path: Path) -> None:
    with authority() as place:
        async with signing(tmp_path, place) as (_, server):
            back = await came(server, "Refuse")
            server.around.sign_ins.refused(back["state"], back["error_description"])
            await until(lambda: server.state == "failed")
            assert "Signing in failed: You said no." in server.error
            server.refresh()
            await signed_in(server)
            await until(lambda: server.state == "ready")


async def test_a_code_that_is_not_taken_is_told(tmp_path: Path) -> None:
    with authority() as place:
        place.expired = True
        async with signing(tmp_path, place) as (_, server):
            await signed_in(server)
            await until(lambda: server.state == "failed")
            assert "The code has expired" in server.error
            place.expired = False
            server.refresh()
            await signed_in(server)
            await until(lambda: server.state == "ready")


async def test_a_client_that_was_registered_by_hand_registers_no_other(tmp_path: Path) -> None:
    with authority() as place:
        oauth = McpOAuth(client_id="by-hand")
        async with signing(tmp_path, place, oauth=oauth) as (_, server):
            await signed_in(server)
            await until(lambda: server.state == "ready")
        assert place.used == ["by-hand"]
        assert place.clients == []


@pytest.mark.parametrize("word", ["Allow", "Refuse"])
async def test_more_rights_are_asked_for_in_the_middle_of_a_call(tmp_path: Path, word: str) -> None:
    with authority() as place:
        async with signing(tmp_path, place) as (running, server):
            await signed_in(server)
            await until(lambda: server.state == "ready")
            steps = [call(wire_of(running, "write", "it")), say("Done.")]
            async with playing(tmp_path, running, steps) as stage:
                session = await stage.create()
                await stage.say(session, "go")
                ends = stage.until(session, lambda frame: frame.type == "done")
                watching = asyncio.ensure_future(ends)
                await asyncio.sleep(0)
                await stage.executor.decide(session, True)
                await until(lambda: server.state == "sign_in")
                assert running.names() == ["it__look", "it__write"], "others are not held up"
                back = await came(server, word)
                if word == "Allow":
                    server.around.sign_ins.back(back["state"], back["code"], "")
                else:
                    server.around.sign_ins.refused(back["state"], "You said no.")
                frames = [decode_event(f.data) for f in await watching]
                (result,) = await stage.blocks(session, ToolResult)
            told = [e.text for e in frames if isinstance(e, Progress)]
            assert told == ["it wants you to sign in: on the page of MCP servers"]
            if word == "Allow":
                assert (result.text, result.is_error) == ("write done", False)
            else:
                assert result.is_error
                assert "You said no." in result.text
            await until(lambda: server.state == "ready")
            assert (await called(tmp_path, running, "look", server="it")).text == "look done"

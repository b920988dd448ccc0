"""Faults over HTTP (MCP-17, FM080): a session that is gone, refusals, cuts, redirects."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from shipmate.mcp.settings import McpServerSettings
from tests.handlers.live import serving
from tests.mcp.running import Running, pool_of
from tests.mcp.test_faults import OK
from tests.mcp.test_reports import called

GONE = {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "Session not found"}}


@dataclass
class Bad:
    """An MCP server over HTTP, older than the newest revision, that misbehaves in calls."""

    answers: list[Any] = field(default_factory=list[Any])
    """For the next calls: a status with the words of a lost session, or a whole response."""
    sessions: int = 0
    calls: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        answer = await self.answer(request)
        await answer(scope, receive, send)

    async def answer(self, request: Request) -> Response:
        if request.method != "POST":
            return Response(status_code=405)
        message = json.loads(await request.body())
        method, number = message.get("method"), message.get("id")
        if number is None:
            return Response(status_code=202)
        if method == "initialize":
            self.sessions += 1
            result: dict[str, Any] = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "bad", "version": "1"},
            }
            head = {"mcp-session-id": f"s{self.sessions}"}
            return JSONResponse({"jsonrpc": "2.0", "id": number, "result": result}, headers=head)
        if method == "tools/list":
            return JSONResponse({"jsonrpc": "2.0", "id": number, "result": {"tools": [OK]}})
        if method != "tools/call":
            error = {"code": -32601, "message": "Method not found"}
            return JSONResponse({"jsonrpc": "2.0", "id": number, "error": error})
        self.calls += 1
        planned = self.answers.pop(0) if self.answers else None
        if isinstance(planned, int):
            return JSONResponse(GONE, planned)
        if planned is not None:
            return planned(number)
        text = {"content": [{"type": "text", "text": f"ok in s{self.sessions}"}]}
        return JSONResponse({"jsonrpc": "2.0", "id": number, "result": text})


@asynccontextmanager
async def against(folder: Path, bad: Bad) -> AsyncGenerator[Running]:
    async with serving(bad) as port:
        settings = McpServerSettings(transport="http", url=f"http://127.0.0.1:{port}/mcp")
        async with pool_of(folder, {"fake": settings}, pause_s=0.01) as running:
            await running.ready()
            yield running


@pytest.mark.parametrize("status", [404, 400, 401, 503])
async def test_a_lost_session_is_begun_anew_and_the_call_made_once_more(
    tmp_path: Path, status: int
) -> None:
    bad = Bad([status])
    async with against(tmp_path, bad) as running:
        result = await called(tmp_path, running, "ok")
    assert result.text == "ok in s2"
    assert (bad.sessions, bad.calls) == (2, 2)


async def test_a_session_that_is_lost_twice_is_an_error_and_no_loop(tmp_path: Path) -> None:
    bad = Bad([404, 404, 404])
    async with against(tmp_path, bad) as running:
        result = await called(tmp_path, running, "ok")
    assert result.is_error
    assert "lost the session twice" in result.text
    assert bad.calls == 2


async def test_an_error_with_the_code_404_inside_an_answer_is_no_lost_session(
    tmp_path: Path,
) -> None:
    def inside(number: Any) -> Response:
        error = {"code": 404, "message": "no such thing"}
        return JSONResponse({"jsonrpc": "2.0", "id": number, "error": error})

    bad = Bad([inside])
    async with against(tmp_path, bad) as running:
        result = await called(tmp_path, running, "ok")
    assert result.is_error
    assert "no such thing" in result.text
    assert (bad.sessions, bad.calls) == (1, 1)


INSTEAD = {
    "page": Response("<html>", media_type="text/html"),
    "half": Response("{", media_type="application/json"),
    "cut stream": Response("data: {", media_type="text/event-stream"),
    "redirect": Response(status_code=307, headers={"location": "http://127.0.0.1:1/elsewhere"}),
    "failure": Response(status_code=500),
}


@pytest.mark.parametrize("kind", list(INSTEAD))
async def test_whatever_comes_instead_of_an_answer_is_an_error_and_the_next_call_works(
    tmp_path: Path, kind: str
) -> None:
    def instead(_number: Any) -> Response:
        return INSTEAD[kind]

    bad = Bad([instead])
    async with against(tmp_path, bad) as running:
        assert (await called(tmp_path, running, "ok")).is_error
        assert (await called(tmp_path, running, "ok")).text.startswith("ok in s")


async def test_a_server_that_is_not_there_says_so(tmp_path: Path) -> None:
    settings = McpServerSettings(transport="http", url="http://127.0.0.1:9/mcp")
    async with pool_of(tmp_path, {"fake": settings}, pause_s=0.01) as running:
        await running.ready()
        server = running.pool.servers["fake"]
        assert server.state == "failed"
        assert "cannot be reached" in server.error

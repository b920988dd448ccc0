"""Tools that look, write and act, for stories of rounds."""

import asyncio
import hashlib
import inspect
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from shipmate.llm.model import ChatMessage, ToolSpec
from shipmate.llm.scripted import Played, Step
from shipmate.protocol import (
    AnyEvent,
    DiffDetail,
    Done,
    FileChange,
)
from shipmate.safety.verdict import Level, Verdict
from shipmate.tools.ask import ask_user
from shipmate.tools.todo import manage_todo_list
from shipmate.tools.tool import ToolContext, ToolError, ToolOutput, ToolStopped, never_ask, tool


@tool(provider="read_only", judge=never_ask, effect=False)
async def look(ctx: ToolContext, path: str) -> str:
    """Reads."""
    file = ctx.root / path
    if not file.exists():
        raise ToolError(f"There is no {path!r}")
    return file.read_text()


async def changes_file(ctx: ToolContext, path: str, content: str) -> Verdict:
    file = ctx.root / path
    before = file.read_bytes() if file.exists() else b""
    return Verdict(
        Level.DANGER if path.startswith(".git") else Level.ASK,
        title=f"Write {path}",
        details=DiffDetail(files=(FileChange(path=path, added=content.count("\n")),)),
        binds={str(file): hashlib.sha256(before).hexdigest()},
        bypassable=True,
    )


@tool(provider="read_write", judge=changes_file)
async def put(ctx: ToolContext, path: str, content: str) -> str:
    """Writes."""
    with (ctx.root / path).open("a") as file:
        file.write(content)
    return f"Wrote {path}"


async def by_word(ctx: ToolContext, command: str) -> Verdict:
    if command == "format c:":
        return Verdict(Level.REFUSE, reason="formats a drive", rule="format")
    return Verdict(Level.ASK, title=command)


@tool(provider="shell", judge=by_word)
async def act(ctx: ToolContext, command: str) -> str:
    """Runs."""
    if command == "hang":
        try:
            (ctx.root / "running").touch()
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            raise ToolStopped(
                ToolOutput("a\nStopped by the user.", is_error=True), error
            ) from error
    with (ctx.root / "log").open("a") as log:
        log.write(command + "\n")
    if command == "break":
        raise RuntimeError("boom")
    return f"ran {command}"


@tool(provider="web", judge=never_ask, effect=False)
async def page(_ctx: ToolContext) -> ToolOutput:
    """Gives what strangers wrote."""
    return ToolOutput("run it", untrusted=True)


TOOLS = [look, put, act, page, ask_user, manage_todo_list]


def log_of(folder: Path) -> list[str]:
    log = folder / "project" / "log"
    return log.read_text().split("\n")[:-1] if log.exists() else []


def done(events: list[AnyEvent]) -> Done:
    assert isinstance(events[-1], Done)
    return events[-1]


def roles(messages: tuple[ChatMessage, ...]) -> list[str]:
    return [m.role for m in messages]


def is_summary(messages: Sequence[ChatMessage]) -> bool:
    """A request for a summary; the loop's own have a prompt."""
    return messages[0].role == "user"


def apart(steps: Iterable[Step], summaries: Iterable[Step]) -> list[Step]:
    """One script out of two, as summaries are asked for beside the other requests."""
    of_loop, of_summaries = deque(steps), deque(summaries)

    async def play(messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]) -> Played:
        step = (of_summaries if is_summary(messages) else of_loop).popleft()
        played: Any = step(messages, tools) if callable(step) else step
        return await played if inspect.isawaitable(played) else played

    return [play] * (len(of_loop) + len(of_summaries))

"""`shipmate run`: one task, carried to its end on a terminal or in a script."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from shipmate.cli.choices import Approve
from shipmate.cli.conversation import Beginning, Conversation
from shipmate.cli.deciding import Decider
from shipmate.cli.server_file import take
from shipmate.cli.showing import JsonLines, Prose, Show
from shipmate.config.directory import data_directory
from shipmate.errors import ConfigError
from shipmate.protocol import Done

EXIT = {
    "": 0,
    "waiting_approval": 3,
    "waiting_answer": 3,
    "limit": 4,
    "budget": 4,
    "error": 5,
    "stopped": 130,
    "interrupted": 130,
}
"""What the end of a round is to a script."""


@dataclass(frozen=True, slots=True)
class Task:
    text: str
    """`-`: what standard input holds."""
    project: str
    model: str
    agent: str
    approve: Approve | None
    answers: tuple[str, ...]
    data: Path | None
    json: bool


def run(task: Task) -> int:
    text = sys.stdin.read() if task.text == "-" else task.text
    if not text.strip():
        raise ConfigError("There is no task: say what to do, or give it on standard input with -.")
    terminal = task.text != "-" and sys.stdin.isatty() and sys.stderr.isatty()
    approve = task.approve or (Approve.ASK if terminal else Approve.NONE)
    bypass = approve is Approve.FILES
    beginning = Beginning(text, task.agent, task.model, task.project, bypass)
    decider = Decider(approve, list(task.answers), terminal)
    show: Show = JsonLines() if task.json else Prose()
    return EXIT[asyncio.run(_run(data_directory(task.data), beginning, decider, show)).reason]


async def _run(data: Path, beginning: Beginning, decider: Decider, show: Show) -> Done:
    async with _conversation(data) as conversation:
        session = await conversation.begin(beginning)
        with _stopping(conversation, session, decider.stopped):
            done = await _carry(conversation, session, decider, show)
        show.end(done)
        return done


async def _carry(conversation: Conversation, session: str, decider: Decider, show: Show) -> Done:
    """Follow the round; decide what waits; go on as long as something could be decided."""
    after = 0
    while True:
        told = await show.follow(conversation.follow(session, after), after)
        after = told.after
        if decider.stopped.is_set():
            return Done(finished=False, reason="stopped")
        if not told.pending or not await decider.settle(conversation, session, told.pending):
            return told.done


@asynccontextmanager
async def _conversation(data: Path) -> AsyncGenerator[Conversation]:
    """With the server that holds the directory, else with a system opened here."""
    async with AsyncExitStack() as stack:
        if server := take(stack, data):
            from shipmate.cli.there import there  # aiohttp is slow to import, and seldom needed

            yield await stack.enter_async_context(there(server))
        else:
            from shipmate.cli.here import here  # the whole system; a server has it already

            yield await stack.enter_async_context(here(data))


@contextlib.contextmanager
def _stopping(conversation: Conversation, session: str, stopped: asyncio.Event) -> Generator[None]:
    """Ctrl-C stops the round in order; a second one ends at once."""
    if os.name == "nt":  # there Ctrl-C ends the process, and the round can be resumed
        yield
        return
    loop = asyncio.get_running_loop()
    stops: list[asyncio.Future[None]] = []

    def stop() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        stopped.set()
        stops.append(asyncio.ensure_future(conversation.stop(session)))

    loop.add_signal_handler(signal.SIGINT, stop)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        for one in stops:
            one.cancel()

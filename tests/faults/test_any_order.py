"""Commands on a session in any order, with kills in between: what is kept is always valid."""

import asyncio
import shutil
import tempfile
from collections import Counter
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec import json

from shipmate.agent.transcript import Transcript
from shipmate.database.store import Kept, View
from shipmate.errors import ConflictError, NotFoundError
from shipmate.llm.invariants import check_request
from shipmate.llm.model import ModelError, Reply
from shipmate.llm.scripted import call, say, together
from shipmate.protocol import (
    AnyBlock,
    ApprovalRequest,
    AskUser,
    Summary,
    ToolCall,
    ToolResult,
    User,
    decode_kept,
)
from shipmate.session.branches import branch
from shipmate.session.exports import export
from shipmate.session.imports import Document, bring_in
from tests.agent.test_context import body_of
from tests.faults.table import TABLE
from tests.play import Stage, kept, stage
from tests.session.trade import TOOLS, is_summary

FULL = settings.get_current_profile_name() == "faults"
EXAMPLES, STEPS = (120, 50) if FULL else (4, 15)
pytestmark = pytest.mark.timeout(1800)
TICKS = st.integers(0, 40)
"""How far a round goes on after a command, in turns of the event loop."""
KINDS = ("act", "both", "look", "ask", "todo", "text", "fail", "hang")


class AnyOrder(RuleBasedStateMachine):
    """One session of one server, over many lives of it."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp())
        self.folder = self.base / "0"
        self.folder.mkdir()
        self.lives = 0
        self.made = 0
        """Commands that the model has asked for; each is its own."""
        self.kinds: list[str] = []
        self.sent: list[str] = []
        self.session = ""
        self.snapshots: list[tuple[int, dict[str, AnyBlock]]] = []
        self.loop = asyncio.new_event_loop()
        self._open()

    # --- the server -----------------------------------------------------------------------

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(asyncio.wait_for(work, 120))

    def _open(self) -> None:
        self.closing = asyncio.Event()
        ready: asyncio.Future[Stage] = self.loop.create_future()
        self.hosting = asyncio.ensure_future(self._host(ready), loop=self.loop)
        self.server: Stage = self.run(ready)

    async def _host(self, ready: asyncio.Future[Stage]) -> None:
        async with AsyncExitStack() as stack:
            steps = [self._step] * 500
            ready.set_result(
                await stack.enter_async_context(stage(self.folder, steps, tools=TOOLS))
            )
            await self.closing.wait()

    def _close(self) -> None:
        self.closing.set()
        self.run(self.hosting)

    def _step(self, messages: Any, _tools: Any) -> Any:
        return say("Summed up.") if is_summary(messages) else self._reply()

    def _reply(self) -> Any:
        kind = self.kinds.pop(0) if self.kinds else "text"
        self.made += 2
        one, two = (f"c{self.made + n}" for n in range(2))
        match kind:
            case "act":
                return call("act", command=one)
            case "both":
                return together(
                    call("look", path="a"), call("act", command=one), call("act", command=two)
                )
            case "look":
                return together(call("look", path="a"), call("look", path="b"))
            case "ask":
                return call("ask_user", question="Which?")
            case "todo":
                items = [{"id": 1, "title": "x", "status": "not-started"}]
                return call("manage_todo_list", operation="write", todoList=items)
            case "fail":
                return ModelError("it fails")
            case "hang":
                return self._never()
            case _:
                return say("These are the words of an answer.")

    async def _never(self) -> Reply:
        await asyncio.Event().wait()
        return Reply()

    def let(self, ticks: int) -> None:
        async def turns() -> None:
            for _ in range(ticks):
                await asyncio.sleep(0)

        self.run(turns())

    def do(self, work: Any, ticks: int) -> Any:
        """A command that may come too late or too early, then some turns of the loop."""
        found = None
        with suppress(ConflictError, NotFoundError):
            found = self.run(work)
        self.let(ticks)
        return found

    # --- what a person does ---------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        self.session = self.run(self.server.create())

    @rule(kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    def the_model_will(self, kinds: list[str]) -> None:
        self.kinds = kinds

    @rule(ticks=TICKS, again=st.booleans())
    def send(self, ticks: int, again: bool) -> None:
        name = self.sent[-1] if again and self.sent else f"m{len(self.sent)}"
        said = self.do(self.server.executor.send(self.session, name, client_id=name), ticks)
        if said and name not in self.sent:
            self.sent.append(name)

    @rule(ticks=TICKS)
    def queue(self, ticks: int) -> None:
        name = f"m{len(self.sent)}"
        if self.do(self.server.executor.queue.add(self.session, name, client_id=name), ticks):
            self.sent.append(name)

    @rule(ticks=TICKS, place=st.integers(0, 2), how=st.sampled_from(["now", "move", "away"]))
    def change_the_queue(self, ticks: int, place: int, how: str) -> None:
        queue = self.server.executor.queue
        waiting = self.run(queue.items(self.session))
        if not waiting:
            return
        item = waiting[place % len(waiting)]
        match how:
            case "now":
                self.do(queue.send_now(self.session, item.id), ticks)
            case "move":
                self.do(queue.edit(self.session, item.id, text="else", place=place), ticks)
            case _:
                with suppress(NotFoundError):  # it was said meanwhile
                    self.run(queue.remove(self.session, item.id))
                    self.sent.remove(item.client_id)
                self.let(ticks)

    @rule(ticks=TICKS)
    def sum_up(self, ticks: int) -> None:
        self.do(self.server.executor.compacting.now(self.session), ticks)

    @rule(ticks=TICKS, undo=st.booleans())
    def change_the_summary(self, ticks: int, undo: bool) -> None:
        history, compacting = (
            self.run(self.server.store.history(self.session)),
            self.server.executor,
        )
        for made in [block for block in history if isinstance(block, Summary)][-1:]:
            change = compacting.compacting.undo if undo else compacting.compacting.edit
            self.do(change(self.session, made.id, *([] if undo else ["Edited."])), ticks)

    @rule(place=st.integers(0, 30))
    def copy(self, place: int) -> None:
        """A branch, and an import of what is exported of it, are valid, and nothing in them is
        open."""
        history = self.run(self.server.store.history(self.session))
        if not history:
            return
        block, files = history[place % len(history)].id, self.folder / "files"
        made = self.run(branch(self.server.executor, self.session, block, files)).id
        view = self.run(self.server.store.view(made, limit=10_000))
        document = json.decode(export(view.row, view.blocks, "json", lambda _: None), type=Document)
        again = self.run(bring_in(self.server.executor, document, "", files)).id
        for copied in (made, again):
            self.run(self._is_closed(copied))
        assert [k.type for k in view.blocks] == [k.type for k in self.run(self._kinds(again))][:-1]
        for copied in (made, again):
            self.run(self.server.executor.delete(copied))

    async def _kinds(self, session: str) -> list[Kept]:
        return await self.server.store.window(session, limit=10_000)

    async def _is_closed(self, session: str) -> None:
        transcript = await self.server.executor.door.transcript(session)
        assert (transcript.open_calls(), transcript.pending()) == ([], [])
        assert check_request(body_of(transcript.context.messages())) == []

    @rule(ticks=TICKS, approved=st.booleans())
    def decide(self, ticks: int, approved: bool) -> None:
        transcript = self.run(self.server.executor.door.transcript(self.session))
        for block in transcript.pending()[:1]:
            if isinstance(block, ApprovalRequest):
                self.do(self.server.executor.decide(self.session, approved, block=block.id), ticks)

    @rule(ticks=TICKS)
    def answer(self, ticks: int) -> None:
        self.do(self.server.executor.answer(self.session, "Blue."), ticks)

    @rule(ticks=TICKS)
    def stop(self, ticks: int) -> None:
        self.do(self.server.executor.stop(self.session), ticks)

    @rule(ticks=TICKS)
    def resume(self, ticks: int) -> None:
        self.do(self.server.executor.resume(self.session), ticks)

    @rule(ticks=TICKS)
    def dismiss(self, ticks: int) -> None:
        self.do(self.server.executor.dismiss(self.session), ticks)

    @rule()
    def delete(self) -> None:
        self.run(self.server.executor.delete(self.session))
        self.session = self.run(self.server.create())
        self.sent.clear()
        self.snapshots.clear()

    @rule()
    def kill(self) -> None:
        """The next server starts from the files as they are at this moment."""
        self.lives += 1
        after = self.base / str(self.lives)
        shutil.copytree(self.folder, after, ignore=shutil.ignore_patterns("*-shm"))
        self._close()
        self.folder = after
        self._open()

    @rule(ticks=TICKS)
    def end(self, ticks: int) -> None:
        """The server ends in order, while something is being said."""
        name = f"m{len(self.sent)}-at-the-end"

        async def ended() -> Any:
            saying = asyncio.ensure_future(
                self.server.executor.send(self.session, name, client_id=name)
            )
            for _ in range(ticks):
                await asyncio.sleep(0)
            self.closing.set()
            await self.hosting
            return (await asyncio.gather(saying, return_exceptions=True))[0]

        if isinstance(self.run(ended()), User):
            self.sent.append(name)
        self._open()

    @rule(ticks=TICKS)
    def wait(self, ticks: int) -> None:
        self.let(ticks)

    # --- what must hold -------------------------------------------------------------------

    @invariant()
    def what_is_kept_is_valid(self) -> None:
        history, waiting = self.run(self._kept_and_queued())
        places = [block.pos for block in history]
        assert places == sorted(set(places))
        calls = {block.id: block for block in history if isinstance(block, ToolCall)}
        results = Counter(block.call for block in history if isinstance(block, ToolResult))
        assert set(results) <= set(calls)
        assert all(count == 1 for count in results.values())
        asked = [block for block in history if isinstance(block, ApprovalRequest | AskUser)]
        assert {block.call for block in asked} <= set(calls)
        names = Counter(block.client_id for block in history if isinstance(block, User))
        assert all(names[name] + (name in waiting) == 1 for name in self.sent)

    async def _kept_and_queued(self) -> tuple[list[AnyBlock], set[str]]:
        """Both of one moment: read again where the queue moved on in between."""
        store = self.server.store
        queued = await store.queue(self.session)
        while True:
            history = await store.history(self.session)
            before, queued = queued, await store.queue(self.session)
            if before == queued:
                return history, {item.client_id for item in queued}

    @invariant()
    def the_row_says_what_is_so(self) -> None:
        view, runs = self.run(self._view_and_runs())
        if runs:
            return
        assert view.row.status != "running"
        blocks = [block for kept in view.blocks if (block := decode_kept(kept.json))]
        transcript = Transcript(blocks)
        if view.row.status == "idle":
            assert (transcript.open_calls(), transcript.pending()) == ([], [])
        if view.row.status.startswith("waiting"):
            assert view.pending
        assert view.pending == (transcript.pending() if view.pending else [])

    async def _view_and_runs(self) -> tuple[View, bool]:
        executor, view = self.server.executor, await self.server.store.view(self.session)
        while True:
            before, ran = view, executor.runs(self.session)
            view = await self.server.store.view(self.session, limit=10_000)
            if ran or executor.runs(self.session) or before.row == view.row:
                return view, ran or executor.runs(self.session)

    @invariant()
    def no_command_runs_twice(self) -> None:
        log = self.folder / "project" / "log"
        runs = Counter(log.read_text().split() if log.exists() else [])
        assert all(count == 1 for count in runs.values()), runs

    @invariant()
    def a_replay_from_any_place_gives_what_is_kept(self) -> None:
        history = {block.id: block for block in self.run(self.server.store.history(self.session))}
        for seq, known in [(0, {}), *self.snapshots]:
            frames = self.run(replayed(self.server, self.session, seq))
            numbers = [item.seq for item in frames]
            assert numbers == sorted(set(numbers))
            changed = {block.id: block for block in kept(frames)}
            history = {**history, **changed}  # it may have gone on since it was read
            assert {**known, **changed} == history
        last = max((block.seq for block in history.values()), default=0)
        self.snapshots = [*self.snapshots[-4:], (last, history)]

    @invariant()
    def no_request_was_invalid(self) -> None:
        for request in self.server.model.requests:
            assert check_request(body_of(request.messages)) == []
        self.server.model.requests.clear()

    def teardown(self) -> None:
        """After all of it the session still works."""
        TABLE.put("commands in any order", f"{EXAMPLES} stories of up to {STEPS}, kills among them")
        self.kinds.clear()
        self.run(self.server.executor.stop(self.session))
        events = self.run(self.server.say(self.session, "the end"))
        assert events[-1].finished
        self._close()
        self.loop.close()
        shutil.rmtree(self.base)


async def replayed(server: Stage, session: str, after: int) -> list[Any]:
    """The kept blocks that a client is sent that knows all up to `after`."""
    batches = server.executor.follow({session: after})
    frames: list[Any] = []
    async for batch in batches:
        frames += [item for item in batch if item.seq is not None]
        if any(item.type == "session" for item in batch):
            break
    await batches.aclose()
    return frames


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

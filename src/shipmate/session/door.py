"""The one door: a block is kept, then shown; what is known of a session comes from here."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

from shipmate.agent.context import LoadImage, no_image
from shipmate.agent.strangers import from_strangers
from shipmate.agent.transcript import Transcript
from shipmate.database.store import Store, Written
from shipmate.faults import point
from shipmate.protocol import (
    AnyBlock,
    AnyEvent,
    Message,
    Pending,
    PendingChanged,
    SessionChanged,
    SessionRow,
)
from shipmate.safety.rules.rule import Rule
from shipmate.session.background import Turns
from shipmate.session.hub import Frame, Hub, frame
from shipmate.session.speech import Speech

REMEMBERED = 64
"""Transcripts kept in memory; those of running rounds are, however many they are."""


class Door:
    def __init__(self, store: Store, hub: Hub, image: LoadImage = no_image) -> None:
        self.store = store
        self._image = image
        self.hub = hub
        self.speeches: dict[str, Speech] = {}
        """What is being said in which session."""
        self.large: WeakValueDictionary[tuple[str, int], Frame] = WeakValueDictionary()
        """Large blocks, by session and `seq`, that somebody is being sent who catches up."""
        self.notice: Callable[[Written], None] = lambda _written: None
        """Told of all that is kept."""
        self._turns = Turns()
        self._loads = Turns()
        self._loading: dict[str, bool] = {}
        """Sessions that are being read; true when one was written to meanwhile."""
        self._transcripts: OrderedDict[str, Transcript] = OrderedDict()
        self._rows: dict[str, SessionRow] = {}
        self._held = Counter[str]()
        """Sessions that are at work: their state is not forgotten."""
        self._writing: dict[asyncio.Task[Written], str] = {}
        """What is being recorded, and of which session."""

    async def record(
        self,
        session: str,
        *blocks: AnyBlock,
        row: dict[str, Any] | None = None,
        durable: bool = True,
        then: AnyEvent | None = None,
    ) -> Written:
        """Keep blocks and changed fields of the row, then show them, and `then` with them.
        Whoever is cancelled while waiting for it does not undo it."""
        if any(map(from_strangers, blocks)):
            row = {**(row or {}), "untrusted": True}
        writing = self.store.write(session, blocks, row=row, durable=durable)
        return await self._shown(session, writing, row is not None, then)

    async def change(
        self,
        session: str,
        block: str,
        revise: Callable[[AnyBlock], AnyBlock],
        row: dict[str, Any] | None = None,
        rules: Callable[[AnyBlock], Sequence[Rule]] | None = None,
    ) -> Written:
        """Revise one kept block, atomically, and keep the rules that come with it; then show
        it."""
        writing = self.store.change(session, block, revise, row=row, rules=rules)
        return await self._shown(session, writing, row is not None)

    async def _shown(
        self,
        session: str,
        writing: Awaitable[Written],
        with_row: bool,
        then: AnyEvent | None = None,
    ) -> Written:
        task = asyncio.ensure_future(self._keep_and_show(writing, with_row, then))
        self._writing[task] = session
        task.add_done_callback(self._writing.pop)
        return await asyncio.shield(task)

    async def settled(self, session: str) -> None:
        """Wait until all that is being recorded of a session is kept and shown."""
        if writing := [t for t, of in self._writing.items() if of == session]:
            await asyncio.wait(writing)

    async def _keep_and_show(
        self, writing: Awaitable[Written], with_row: bool, then: AnyEvent | None
    ) -> Written:
        written = await writing
        self.notice(written)
        point("record.before_publish")
        if written.row.id in self._transcripts:
            self._rows[written.row.id] = written.row
        elif written.row.id in self._loading:
            self._loading[written.row.id] = True
        transcript = self._transcripts.get(written.row.id)
        speech = self.speeches.get(written.row.id)
        for saved in written.saved:
            block = saved.block
            if transcript and block.seq > transcript.seq:
                transcript.add(block)
            if isinstance(block, Message) and speech:
                speech.kept(block.id)
            kind = str(block.__struct_config__.tag)
            self.hub.publish(Frame(kind, block.session, saved.json, block.seq))
        if with_row:
            self.tell_row(written.row)
        self._tell_pending(transcript, written)
        if then is not None:
            self.tell(then)
        point("record.after_publish")
        return written

    def row(self, session: str) -> SessionRow:
        """The row of a session whose transcript is at hand, as it stands now."""
        return self._rows[session]

    def tell(self, event: AnyEvent) -> None:
        """Show what is not kept."""
        self.hub.publish(frame(event))

    def _tell_pending(self, transcript: Transcript | None, written: Written) -> None:
        """To who follows all sessions: what waits now in one, when that has changed."""
        if transcript and any(isinstance(saved.block, Pending) for saved in written.saved):
            items = tuple(transcript.pending())
            told = frame(PendingChanged(session=written.row.id, items=items))
            self.hub.publish_aside(replace(told, row=written.row))

    def tell_row(self, row: SessionRow) -> None:
        self.hub.publish_row(frame(SessionChanged(session=row.id, row=row)))

    async def transcript(self, session: str) -> Transcript:
        """The session's state; it follows all that is recorded from now on."""
        if found := self._transcripts.get(session):
            self._transcripts.move_to_end(session)
            return found
        async with self._loads.of(session):
            if found := self._transcripts.get(session):
                return found
            try:
                return await self._load(session)
            finally:
                del self._loading[session]

    async def _load(self, session: str) -> Transcript:
        """Read anew until nothing was written meanwhile."""
        while True:
            self._loading[session] = False
            row = await self.store.session(session)
            blocks = await self.store.history(session)
            if not self._loading[session]:
                break
        self._rows[session] = row
        made = self._transcripts[session] = Transcript(blocks, self._image)
        self._forget_oldest(but=session)
        return made

    @contextmanager
    def held(self, session: str) -> Generator[None]:
        """While a round runs on it, a session's state stays at hand, however many there are."""
        self._held[session] += 1
        try:
            yield
        finally:
            self._held[session] -= 1
            if not self._held[session]:
                del self._held[session]

    @asynccontextmanager
    async def turn(self, session: str) -> AsyncGenerator[None]:
        """One after the other: each command on a session, and the end of its round. So what a
        command found is still so when it is kept."""
        async with self._turns.of(session):
            with self.held(session):
                yield

    def _forget_oldest(self, but: str) -> None:
        for session in [s for s in self._transcripts if s not in self._held and s != but]:
            if len(self._transcripts) <= REMEMBERED:
                return
            self.forget(session)

    def forget(self, session: str) -> None:
        self._transcripts.pop(session, None)
        self._rows.pop(session, None)

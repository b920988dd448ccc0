"""What is done at the start about what an earlier server left open."""

import asyncio
from collections.abc import Sequence

from msgspec import structs

from shipmate.agent.threads import parent_of
from shipmate.database.store import LiveText, SessionFilter, Store
from shipmate.faults import point
from shipmate.protocol import AnyBlock, Message, System, User

NOTICE = "The server stopped while this ran. Resume goes on from here."
RESUMED = System(text="The server was started again and goes on by itself, once.", code="resumed")


async def recover(store: Store) -> None:
    """What ran is interrupted, with the text it had; what waits goes on waiting. All at once: what
    is written together is synced together."""
    point("recover.begun")
    await asyncio.gather(*(_keep_text(store, live) for live in await store.live_texts()))
    running = SessionFilter(archived=None, status="running", limit=1_000_000)
    await asyncio.gather(*(_interrupt(store, row.id) for row in await store.sessions(running)))


async def _keep_text(store: Store, live: LiveText) -> None:
    partial = Message(
        id=live.id,
        parent=parent_of(live.id),
        text=live.text,
        reasoning=live.reasoning,
        partial=True,
    )
    await store.write(live.session, [structs.replace(partial, tokens_source="estimate")])
    point("recover.text_kept")


async def _interrupt(store: Store, session: str) -> None:
    block = System(text=NOTICE, level="warning", code="interrupted")
    await store.write(session, [block], row={"status": "interrupted"})
    point("recover.row_kept")


async def to_resume(store: Store) -> list[str]:
    """Sessions whose round was cut off and has not been resumed by itself before: a message that
    ends the server must not end it again at every start."""
    cut = SessionFilter(status="interrupted", limit=1_000_000)
    return [
        row.id for row in await store.sessions(cut) if not _resumed(await store.history(row.id))
    ]


def _resumed(blocks: Sequence[AnyBlock]) -> bool:
    """Since the user's last message."""
    for block in reversed(blocks):
        if isinstance(block, User) or (isinstance(block, System) and block.code == RESUMED.code):
            return isinstance(block, System)
    return False

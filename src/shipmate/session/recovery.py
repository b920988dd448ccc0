"""What is done at the start about what an earlier server left open."""

from msgspec import structs

from shipmate.agent.threads import parent_of
from shipmate.database.store import SessionFilter, Store
from shipmate.faults import point
from shipmate.protocol import Message, System

NOTICE = "The server stopped while this ran. Resume goes on from here."


async def recover(store: Store) -> None:
    """What ran is interrupted, with the text it had; what waits goes on waiting."""
    point("recover.begun")
    for live in await store.live_texts():
        partial = Message(
            id=live.id,
            parent=parent_of(live.id),
            text=live.text,
            reasoning=live.reasoning,
            partial=True,
        )
        await store.write(live.session, [structs.replace(partial, tokens_source="estimate")])
        point("recover.text_kept")
    for row in await store.sessions(
        SessionFilter(archived=None, status="running", limit=1_000_000)
    ):
        block = System(text=NOTICE, level="warning", code="interrupted")
        await store.write(row.id, [block], row={"status": "interrupted"})
        point("recover.row_kept")

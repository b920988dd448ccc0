"""Stories of who follows a session, from the start or later."""

import asyncio
import gc
from collections.abc import AsyncGenerator
from pathlib import Path

from shipmate.llm.model import Part, StreamItem
from shipmate.llm.scripted import call, say
from shipmate.protocol import Block, Delta, Message, User
from shipmate.session.following import PAGE_BYTES
from shipmate.session.hub import Frame
from tests.play import Stage, decode_block, stage
from tests.session.trade import TOOLS


async def joined_text(play: Stage, session: str, after: int) -> str:
    text = ""
    for event in await play.watch(session, after):
        if isinstance(event, Delta):
            assert event.offset == len(text)
            text += event.text
    return text


async def test_who_joins_in_mid_message_gets_the_text_so_far(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("word " * 100)], tools=TOOLS, pause=0.002) as play:
        session = await play.create()
        await play.executor.send(session, "talk")
        first = asyncio.ensure_future(joined_text(play, session, 0))
        await play.until(session, lambda f: f.type == "delta")
        texts = await asyncio.gather(first, *(joined_text(play, session, 1) for _ in range(5)))
        assert set(texts) == {"word " * 100}


async def test_a_reader_that_returns_gets_each_change_once(tmp_path: Path) -> None:
    script = [call("put", path="b.txt", content="hi"), say("Done.")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "write")
        seen = (await play.row(session)).last_seq
        await play.executor.decide(session, True)
        await play.watch(session, seen)
        changed = await play.store.changes(session, seen)
        replayed = [e for e in await play.watch(session, seen) if isinstance(e, Block)]
        assert [(k.seq, k.type) for k in changed] == [
            (e.seq, e.__struct_config__.tag) for e in replayed
        ]
        assert [decode_block(k.json) for k in changed] == replayed


async def caught_up(reader: AsyncGenerator[list[Frame]]) -> list[list[Frame]]:
    """All batches, up to the one with the row."""
    batches = [await anext(reader)]
    while not any(item.type == "session" for item in batches[-1]):
        batches.append(await anext(reader))
    return batches


async def test_who_catches_up_holds_little_at_a_time_and_a_large_block_once_for_all(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, [], tools=TOOLS) as play:
        session = await play.create()
        small = [User(text="s" * 50_000) for _ in range(30)]
        await play.store.write(session, [*small, User(text="l" * 3_000_000), User(text="last")])
        readers = [play.executor.follow({session: 0}) for _ in range(2)]
        batches = await caught_up(readers[0])
        sizes = [sum(len(item.data) for item in batch[:-1]) for batch in batches]
        assert max(sizes) <= PAGE_BYTES, "before the last one of a batch"
        large = next(item for batch in batches for item in batch if len(item.data) > 3_000_000)
        again = await caught_up(readers[1])
        assert any(item is large for batch in again for item in batch)
        for reader in readers:
            await reader.aclose()
        held = play.executor.door.large
        assert len(held) == 1
        del large, batches, again
        gc.collect()
        assert len(held) == 0


async def test_how_long_it_thought_is_kept_with_the_message(tmp_path: Path) -> None:
    now = asyncio.get_running_loop().time

    async def thinks(_messages: object, _tools: object) -> AsyncGenerator[StreamItem]:
        yield Part(reasoning="Hm.")
        begun = now()
        while now() < begun + 0.11:
            await asyncio.sleep(0.01)
        yield Part(text="So.")
        yield say("So.", reasoning="Hm.")

    async with stage(tmp_path, [thinks, say("No thought.")], tools=TOOLS) as play:
        session = await play.create()
        await play.say(session, "go")
        await play.say(session, "and now?")
        thought, none = await play.blocks(session, Message)
        assert thought.thought >= 0.1
        assert none.thought == 0.0

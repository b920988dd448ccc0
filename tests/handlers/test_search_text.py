"""Whatever is typed to be searched for is words: no sign of it is syntax (FM042)."""

import asyncio
import random
from collections.abc import AsyncGenerator
from pathlib import Path
from urllib.parse import quote

import pytest

from shipmate.protocol import User, decode_kept
from shipmate.session.finding import find
from tests.handlers.house import Whole, whole

PIECES = (
    *('"', "'", "`", "*", "(", ")", ":", "^", "-", "+", "{", "}", "[", "]", "\\", "%", "_", "."),
    *("AND ", " OR ", "NOT ", "NEAR(", ".*", "(?i)", "$", "|", ";", "--", "/*", "\0", "\n", "\t"),
    *("👋", "é", "登录", " ", "a", "login", "blocks", "session", "1=1", "type", "\ud83d"),
)
SAID = 60
TRIES, SAMPLE = 20_000, 1_000
ASKED = 100
"""Of them over HTTP."""


@pytest.fixture
async def house(tmp_path: Path) -> AsyncGenerator[Whole]:
    async with whole(tmp_path) as house:
        yield house


def typed(dice: random.Random) -> str:
    return "".join(dice.choice(PIECES) for _ in range(dice.randint(1, 8)))


@pytest.mark.timeout(1800)
async def test_no_text_that_is_searched_for_is_an_error_or_syntax(
    house: Whole, in_full: bool
) -> None:
    dice = random.Random(42)
    executor = house.executor
    row = await executor.create(agent="assistant", provider="scripted/demo", project="demo")
    await executor.door.record(row.id, *(User(text=typed(dice) + "x") for _ in range(SAID)))
    kept = await executor.store.window(row.id, limit=SAID)
    said = [block for one in kept if isinstance(block := decode_kept(one.json), User)]
    found = 0
    for number in range(TRIES if in_full else SAMPLE):
        words = typed(dice)
        wanted = [block.id for block in said if words.lower() in block.text.lower()]
        hits = await asyncio.to_thread(find, kept, words)
        assert [hit.block for hit in hits] == wanted, repr(words)
        if number < ASKED and "\ud83d" not in words:
            path = f"/api/agent/sessions/{row.id}/find?q={quote(words)}"
            answer = await house.call("GET", path)
            assert (answer.status, answer.json["total"]) == (200, len(wanted)), repr(words)
        found += len(wanted)
    assert found > 0
    answer = await house.call("GET", f"/api/agent/sessions/{row.id}/find?q={'%22' * 10_000}")
    assert (answer.status, answer.json["code"]) == (422, "invalid")

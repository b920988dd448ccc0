"""Rows of every released version load for ever; what is odd breaks nothing."""

from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from shipmate.agent.transcript import Transcript
from shipmate.database.sqlite import SqliteStore
from shipmate.database.store import Kept
from shipmate.errors import ShipmateError
from shipmate.protocol import AnyBlock, AnyDetail, Message, User, decode_kept, encode
from tests.database.aged import row

BLOCKS = Path(__file__).parent.parent / "blocks"
VERSIONS = sorted(BLOCKS.glob("v*/blocks.jsonl"))


def lines(file: Path) -> list[bytes]:
    return [line for line in file.read_bytes().split(b"\n") if line]


@pytest.mark.parametrize("file", VERSIONS, ids=lambda file: file.parent.name)
def test_every_field_of_every_block_is_read(file: Path) -> None:
    for line in lines(file):
        block = decode_kept(line)
        assert block is not None, line
        assert msgspec.json.decode(encode(block)) == msgspec.json.decode(line)


def test_the_samples_name_every_type_and_field_of_today() -> None:
    seen: dict[str, set[str]] = {}
    for line in lines(VERSIONS[-1]):
        fields: dict[str, Any] = msgspec.json.decode(line)
        seen.setdefault(fields["type"], set()).update(fields)
        if "details" in fields:
            seen.setdefault(fields["details"]["kind"], set()).update(fields["details"])
    for kind in (*get_args(AnyBlock), *get_args(AnyDetail)):
        wanted = set(kind.__struct_fields__) - {"parent", "choices"}
        assert wanted <= seen[kind.__struct_config__.tag], kind


async def put(store: SqliteStore, *bodies: dict[str, Any]) -> str:
    """A session with these blocks, as another version might have kept them."""
    session = row()
    blocks = [
        (body["id"], Kept(n, n, body["type"], encode({**body, "pos": n, "seq": n})))
        for n, body in enumerate(bodies, 1)
    ]
    return (await store.fill_session(session, blocks)).id


async def test_what_is_not_known_is_shown_and_skipped(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "sessions.db")
    session = await put(
        store,
        {"type": "user", "id": "u", "text": "hi", "colour": "of a later version"},
        {"type": "foo", "id": "f", "anything": [1]},
        {"type": "message", "id": "m", "text": "yes", "tokens": None, "usage": None, "at": 2**52},
        {"type": "message", "id": "bad", "text": 5},
    )
    assert [k.type for k in await store.window(session)] == ["user", "foo", "message", "message"]
    assert b'"anything":[1]' in (await store.changes(session, 1, 1))[0].json
    history = await store.history(session)
    assert [type(block) for block in history] == [User, Message]
    assert isinstance(history[1], Message)
    assert history[1].tokens == 0
    assert not Transcript(history).wants_reply()
    with pytest.raises(ShipmateError, match="only be shown"):
        await store.change(session, "f", lambda block: block)
    written = await store.write(session, [User(text="goes on")])
    assert written.row.last_seq == 5
    await store.close()

"""Sessions made of the blocks of another one: numbered anew, and nothing left open."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import structs

from shipmate.agent.closing import Ending, close_open
from shipmate.agent.transcript import Transcript
from shipmate.database.store import Kept
from shipmate.protocol import AnyBlock, Message, Summary, decode_kept, encode

LAST = 2**62
"""The place of what is added at the end."""
_JSON = msgspec.json.Decoder(dict[str, Any])


@dataclass(frozen=True, slots=True)
class Item:
    """A block as it is kept; `block` is None where this version does not know its type."""

    kept: Kept
    block: AnyBlock | None


def items(kept: Iterable[Kept]) -> list[Item]:
    return [Item(one, decode_kept(one.json)) for one in kept]


def closed(found: Sequence[Item], ending: Ending, *more: AnyBlock) -> list[Item]:
    """With every open call closed, and then `more` at the end."""
    transcript = Transcript(item.block for item in found if item.block is not None)
    ends = close_open(transcript, ending)
    known = {block.id: block for block in ends}
    result = [_changed(item, known) for item in found]
    return [*result, *(Item(_new(b), b) for b in (*known.values(), *more))]


def wary(found: Sequence[Item]) -> bool:
    """Whether what strangers wrote is among it, and the user has not trusted it since."""
    return Transcript(item.block for item in found if item.block is not None).strangers.wary


def _changed(item: Item, by: dict[str, AnyBlock]) -> Item:
    if item.block is None or item.block.id not in by:
        return item
    return Item(item.kept, by.pop(item.block.id))


def _new(block: AnyBlock) -> Kept:
    return Kept(LAST, LAST, str(block.__struct_config__.tag), b"")


def numbered(found: Sequence[Item], session: str, at: int) -> list[tuple[str, Kept]]:
    """The blocks, given by `pos`, as those of `session`, numbered 1, 2, 3 ...; what names places
    names the new ones. `at`: the time of those that have none."""
    places = [item.kept.pos for item in found]
    return [_placed(item, n, session, at, places) for n, item in enumerate(found, 1)]


def _placed(
    item: Item, place: int, session: str, at: int, places: Sequence[int]
) -> tuple[str, Kept]:
    if (block := item.block) is None:
        fields = _JSON.decode(item.kept.json)
        fields |= {"session": session, "pos": place, "seq": place}
        return fields["id"], Kept(place, place, item.kept.type, encode(fields))
    if isinstance(block, Message) and block.heard:
        block = structs.replace(block, heard=bisect_right(places, block.heard))
    elif isinstance(block, Summary):
        first, last = block.replaces
        replaced = (bisect_left(places, first) + 1, bisect_right(places, last))
        block = structs.replace(block, replaces=replaced)
    block = structs.replace(block, session=session, pos=place, seq=place, at=block.at or at)
    return block.id, Kept(place, place, item.kept.type, encode(block))

"""What a session says, looked through: words found in its blocks, and the user's messages."""

import re
from collections.abc import Iterable, Sequence

import msgspec

from shipmate.database.store import Kept
from shipmate.database.texts import texts
from shipmate.protocol import AnyBlock, User, decode_kept

AROUND = 60
"""Characters of an excerpt on each side of what was found."""
LINE = 160
"""Characters of a message in the outline."""


class Hit(msgspec.Struct, frozen=True):
    """A block that has the words."""

    block: str
    pos: int
    type: str
    count: int
    """How often."""
    before: str
    """The words around the first place, on one line."""
    match: str
    after: str


class Said(msgspec.Struct, frozen=True):
    """A message of the user, in the outline."""

    block: str
    pos: int
    at: int
    text: str
    """Its beginning, on one line."""


def find(kept: Iterable[Kept], words: str) -> list[Hit]:
    """The blocks that have `words`, upper and lower case alike, by `pos`. For a worker thread
    when there are many."""
    pattern = re.compile(re.escape(words), re.IGNORECASE)
    in_json = _quick(words)
    hits: list[Hit] = []
    for one in kept:
        if in_json and not in_json.search(one.json):
            continue
        block = decode_kept(one.json)
        if block is not None and (hit := _hit(block, one.type, pattern)):
            hits.append(hit)
    return hits


def _quick(words: str) -> re.Pattern[bytes] | None:
    """Finds every block that has the words, and some more; None where JSON writes them otherwise,
    or bytes do not tell upper from lower case."""
    plain = words.isascii() and words.isprintable() and not set(words) & {'"', "\\"}
    return re.compile(re.escape(words.encode()), re.IGNORECASE) if plain else None


def _hit(block: AnyBlock, kind: str, pattern: re.Pattern[str]) -> Hit | None:
    found = [(text, match) for text in texts(block) for match in pattern.finditer(text)]
    if not found:
        return None
    text, first = found[0]
    start, end = first.span()
    return Hit(
        block=block.id,
        pos=block.pos,
        type=kind,
        count=len(found),
        before=_line(text[max(0, start - AROUND) : start]),
        match=_line(text[start:end]),
        after=_line(text[end : end + AROUND]),
    )


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def outline(kept: Sequence[Kept]) -> list[Said]:
    """The messages of the user, those to sub-agents left out."""
    blocks = (decode_kept(one.json) for one in kept)
    return [
        Said(block.id, block.pos, block.at, _line(block.text[: 2 * LINE]).strip()[:LINE])
        for block in blocks
        if isinstance(block, User) and not block.parent
    ]

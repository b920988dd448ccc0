"""Reads a session that was exported as JSON, by any version, or by hand."""

import asyncio
import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec import structs

from shipmate.agent.closing import EXPORTED
from shipmate.agent.strangers import IMPORTED
from shipmate.database.rows import now
from shipmate.database.store import Kept
from shipmate.errors import ShipmateError
from shipmate.llm.tokens import estimate_tokens
from shipmate.protocol import AnyBlock, Message, SessionRow, System, decode_kept, encode, new_id
from shipmate.session.copies import LAST, Item, closed, numbered
from shipmate.session.executor import Executor
from shipmate.session.exports import FORMAT, image_type

_ID_CHARS = 200
_MOST_TOKENS = 2**53
_FIELDS = msgspec.json.Decoder(dict[str, Any])
_KNOWN = frozenset(kind.__struct_config__.tag for kind in get_args(AnyBlock))


class Document(msgspec.Struct, kw_only=True):
    """A session as JSON. Blocks of types that the reader does not know are kept and shown raw."""

    shipmate: int
    """Number of the format: 1."""
    session: dict[str, Any] = {}
    """The row; only what is known of it is taken."""
    blocks: list[msgspec.Raw]
    files: dict[str, bytes] = {}
    """Pictures by their id, in base64."""


def imported(document: Document, project: str, at: int) -> tuple[SessionRow, list[Any]]:
    """The row and the blocks of the new session, numbered in their order; tokens that are not
    there are estimated; what was open is closed. `ShipmateError` names the block that is none."""
    if document.shipmate != FORMAT:
        raise ShipmateError(
            f"The file has format {document.shipmate}; this shipmate reads format {FORMAT}. "
            "Import it with a newer one."
        )
    head, found = document.session, _items(document.blocks)
    tokens, created = _number(head, "tokens"), _number(head, "created_at")
    row = SessionRow(
        id=new_id(),
        agent=_word(head, "agent") or "assistant",
        provider=_word(head, "provider"),
        project=project or _word(head, "project"),
        title=_word(head, "title")[:300],
        tokens=min(tokens, _MOST_TOKENS),
        created_at=min(created, at),
        untrusted=True,
    )
    note = System(text="Imported from a file.", code=IMPORTED)
    return row, numbered(closed(found, EXPORTED, note), row.id, at)


def _word(head: Mapping[str, Any], name: str) -> str:
    value = head.get(name)
    return value if isinstance(value, str) else ""


def _number(head: Mapping[str, Any], name: str) -> int:
    value = head.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def _items(blocks: Sequence[msgspec.Raw]) -> list[Item]:
    """By `pos`; those with the same one, or with none, in the order of the file."""
    seen: set[str] = set()
    found: list[Item] = []
    for number, raw in enumerate(blocks, 1):
        before = found[-1].kept.pos if found else 0
        found.append(_item(_fields(raw, number), before, seen))
    return sorted(found, key=lambda item: item.kept.pos)


def _fields(raw: msgspec.Raw, number: int) -> dict[str, Any]:
    try:
        fields = _FIELDS.decode(raw)
    except msgspec.DecodeError as error:
        raise ShipmateError(f"Block {number} of the file is no object: {error}.") from error
    kind = fields.get("type")
    if not isinstance(kind, str) or not kind:
        raise ShipmateError(f"Block {number} of the file has no `type`.")
    return fields


def _item(fields: dict[str, Any], before: int, seen: set[str]) -> Item:
    kind, name, pos = fields["type"], fields.get("id"), fields.get("pos")
    if not isinstance(name, str) or not 0 < len(name) <= _ID_CHARS or name in seen:
        fields["id"] = name = new_id()
    seen.add(name)
    place = pos if isinstance(pos, int) and 0 < pos < LAST else before
    block = decode_kept(encode(fields))
    if block is None:
        if kind in _KNOWN:  # shown raw, as what it is: no message, for example
            kind = fields["type"] = f"{kind} (unreadable)"
        return Item(Kept(place, place, kind[:100], encode(fields)), None)
    return Item(Kept(place, place, kind, b""), _counted(block))


def _counted(block: AnyBlock) -> AnyBlock:
    if not isinstance(block, Message) or block.tokens > 0:
        return block
    tokens = estimate_tokens(block.text + block.reasoning)
    return structs.replace(block, tokens=tokens, tokens_source="estimate")


async def bring_in(
    executor: Executor, document: Document, project: str, files: Path, *, owner: str = ""
) -> SessionRow:
    """Make the session of a document. `project`: the one it is to belong to, or empty; `files`:
    where pictures are stored."""
    row, blocks = await asyncio.to_thread(imported, document, project, now())
    row = structs.replace(row, owner=owner)
    await asyncio.to_thread(_store_pictures, files, document)
    row = await executor.store.fill_session(row, blocks)
    executor.door.tell_row(row)
    return row


def _store_pictures(folder: Path, document: Document) -> None:
    """Those that are what they say: they are named by their content. A disk that is full loses
    only pictures."""
    for name, content in document.files.items():
        if image_type(content) and hashlib.sha256(content).hexdigest()[:24] == name:
            with contextlib.suppress(OSError):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                part = folder / f"{name}.{new_id()}"
                part.write_bytes(content)
                part.replace(folder / name)

"""A branch: a new session that begins as another one did, up to one of its blocks."""

import asyncio
import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import structs

from shipmate.agent.closing import BRANCHED
from shipmate.agent.strangers import IMPORTED
from shipmate.database.rows import now
from shipmate.database.store import Kept
from shipmate.errors import NotFoundError, ShipmateError
from shipmate.protocol import (
    AnyBlock,
    ApprovalRequest,
    AskUser,
    Attachment,
    Message,
    SessionRow,
    System,
    Todo,
    TodoItem,
    ToolCall,
    ToolResult,
    User,
    encode,
    new_id,
)
from shipmate.session.copies import Item, closed, items, numbered, wary
from shipmate.session.executor import Executor, new_session_id
from shipmate.session.queue import check_said
from shipmate.tools.contents import OF_SESSION

MARK = " (branch)"
ALL = 10_000_000


async def branch(  # noqa: PLR0913 - what it is made of, where it is put, whose it is
    executor: Executor,
    session: str,
    block: str,
    files: Path,
    *,
    text: str = "",
    client_id: str = "",
    owner: str = "",
) -> SessionRow:
    """A new session of whole units up to `block`, which is in it. With a `text`, `block` is a
    message of the user: the branch ends before it, and `text` is sent in its place, with what
    was attached to it. `files`: where whole outputs, and contents of files, are stored.
    With a `client_id` it is made once."""
    made = new_session_id(client_id, owner)
    if client_id and (known := await _made_before(executor, made, client_id if text else "")):
        return known
    view = await executor.store.view(session, limit=ALL)
    row, found = view.row, items(view.blocks)
    target = _target(found, block, session)
    given = _edited(found, target) if text else []
    if text:
        check_said(text, given)
    cut = min([target.kept.pos, *(one.pos for one in given)]) - (1 if text else 0)
    note = System(text=f"A branch of “{row.title or session}”.", code="branch")
    taken = [*_up_to(found, cut), *_brought(found, cut)]
    row = structs.replace(
        row,
        id=made,
        title=row.title.removesuffix(MARK) + MARK if row.title and taken else "",
        bypass_approval=False,
        untrusted=wary(taken),
        archived=False,
        tokens=0,
        created_at=0,
        owner=owner,
        readers=(),
    )
    blocks = numbered(closed(taken, BRANCHED, note), made, now())
    row = await executor.store.fill_session(row, blocks)
    await asyncio.to_thread(_copy_stored, files, session, made)
    executor.door.tell_row(row)
    if text:
        again = [structs.replace(a, id=new_id(), pos=0, seq=0, at=0) for a in given]
        await executor.send(made, text, attachments=again, client_id=client_id)
        row = await executor.store.session(made)
    return row


def _brought(found: Sequence[Item], cut: int) -> list[Item]:
    """The notice of an import after `cut`: what stands before it came from a file, there too."""
    return [
        item
        for item in found
        if isinstance(item.block, System) and item.block.code == IMPORTED and item.kept.pos > cut
    ]


async def _made_before(executor: Executor, made: str, sent: str) -> SessionRow | None:
    """The branch, where it stands already, and in it the message with the `client_id` that is
    `sent`: a server may have died between the two."""
    with contextlib.suppress(NotFoundError):
        row = await executor.store.session(made)
        if not sent or sent in (await executor.door.transcript(made)).users:
            return row
    return None


def _target(found: Sequence[Item], block: str, session: str) -> Item:
    for item in found:
        if item.block is not None and item.block.id == block:
            return item
    raise NotFoundError(f"There is no {block!r} in session {session!r}.")


def _edited(found: Sequence[Item], target: Item) -> list[Attachment]:
    """What was attached to the message of the user that is written anew."""
    if not isinstance(target.block, User):
        raise ShipmateError("Only a message of yours can be written anew; name its block.")
    given: list[Attachment] = []
    for item in reversed(found[: found.index(target)]):
        if not isinstance(item.block, Attachment):
            break
        given.append(item.block)
    return given[::-1]


def _up_to(found: Sequence[Item], cut: int) -> list[Item]:
    """Whole units: what stands up to `cut`, and all that belongs to a reply that does."""
    calls: set[str] = set()
    messages: set[str] = set()
    taken: list[Item] = []
    for item in found:
        if _is_taken(item, cut, messages, calls):
            taken.append(item)
            if isinstance(item.block, Message):
                messages.add(item.block.id)
            elif isinstance(item.block, ToolCall):
                calls.add(item.block.id)
    return _with_todo_of_then(taken)


def _is_taken(item: Item, cut: int, messages: set[str], calls: set[str]) -> bool:
    block = item.block
    if block is not None and block.parent:
        return block.parent in calls
    match block:
        case ToolCall(message=message):
            return message in messages
        case ToolResult(call=call) | ApprovalRequest(call=call) | AskUser(call=call):
            return call in calls
        case Todo():
            return True
        case _:
            return item.kept.pos <= cut


def _with_todo_of_then(taken: Sequence[Item]) -> list[Item]:
    """The todo list is one block that changes: in a branch it stands as it did then."""
    others = [item for item in taken if not _is_main_todo(item)]
    last = max((item.kept.seq for item in others), default=0)
    result: list[Item] = []
    for item in taken:
        if not _is_main_todo(item) or item.kept.seq <= last:
            result.append(item)
        elif (todo := _todo_of_then(others)) is not None:
            kept = Kept(item.kept.pos, item.kept.seq, item.kept.type, encode(todo))
            result.append(Item(kept, todo))
    return result


def _is_main_todo(item: Item) -> bool:
    return isinstance(item.block, Todo) and not item.block.parent


def _todo_of_then(others: Sequence[Item]) -> Todo | None:
    """From the last call that wrote it."""
    for item in reversed(others):
        written = _written(item.block)
        if written is not None:
            return Todo(id="todo", items=written)
    return None


def _written(block: AnyBlock | None) -> tuple[TodoItem, ...] | None:
    if not isinstance(block, ToolCall) or block.name != "manage_todo_list" or block.parent:
        return None
    try:
        return msgspec.convert(block.arguments.get("todoList"), tuple[TodoItem, ...])
    except msgspec.ValidationError:
        return None


def _copy_stored(files: Path, session: str, made: str) -> None:
    """`read_file output:<call>` works in the branch, too, and so does its diff. A disk that is
    full loses only that."""
    for folder in OF_SESSION:
        source = files / folder / session
        if source.is_dir():
            with contextlib.suppress(OSError, shutil.Error):
                shutil.copytree(source, files / folder / made, dirs_exist_ok=True)

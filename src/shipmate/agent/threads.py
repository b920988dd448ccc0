"""What marks a block as one of a sub-agent's thread."""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import structs

from shipmate.protocol import AnyBlock, Todo, new_id


def message_id(parent: str) -> str:
    """The id of a new message in the thread of the call `parent`: it names the thread, so that
    text which a killed server leaves finds its place."""
    return f"{parent}-{new_id()}" if parent else new_id()


def parent_of(message: str) -> str:
    """The thread of a message whose id was made by `message_id`."""
    return message.rpartition("-")[0]


def in_thread(record: Callable[..., Awaitable[Any]], parent: str) -> Callable[..., Awaitable[Any]]:
    """`record` for the thread of one call: each block gets its parent, and the todo list of a
    sub-agent does not take the place of the session's."""

    async def recorded(*blocks: AnyBlock, **options: Any) -> Any:
        return await record(*(_placed(block, parent) for block in blocks), **options)

    return recorded


def _placed(block: AnyBlock, parent: str) -> AnyBlock:
    if isinstance(block, Todo):
        return structs.replace(block, id=f"todo-{parent}", parent=parent)
    return structs.replace(block, parent=parent)

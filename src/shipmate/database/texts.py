"""What of a block is read, and so found: its words, and whose they are."""

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from msgspec import UNSET

from shipmate.protocol import (
    AnyBlock,
    ApprovalRequest,
    AskUser,
    Attachment,
    Message,
    Summary,
    System,
    Todo,
    ToolCall,
    ToolResult,
    User,
)

Role: TypeAlias = Literal["user", "assistant", "tool", "system"]


def role(block: AnyBlock) -> Role:
    """Who says it. What an agent tells its sub-agents is no word of the user's."""
    match block:
        case User(parent="") | Attachment():
            return "user"
        case ToolCall() | ToolResult() | ApprovalRequest():
            return "tool"
        case System():
            return "system"
        case _:
            return "assistant"


def texts(block: AnyBlock) -> Iterator[str]:
    match block:
        case User() | Summary() | System() | ToolResult():
            yield block.text
        case Message():
            yield block.text
            yield block.reasoning
        case Attachment():
            yield block.name
            yield block.text
        case ToolCall():
            yield block.name
            yield from _strings(block.arguments)
        case ApprovalRequest():
            yield block.title
            yield block.feedback
        case AskUser():
            yield block.question
            yield from block.options
            yield "" if block.result is UNSET else str(block.result)
        case Todo():
            yield from (item.title for item in block.items)
        case _:
            return


def _strings(value: Any) -> Iterator[str]:
    """Every text in the arguments of a call."""
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():  # pyright: ignore[reportUnknownVariableType] - foreign JSON
                yield from _strings(item)
        case list():
            for item in value:  # pyright: ignore[reportUnknownVariableType] - foreign JSON
                yield from _strings(item)
        case _:
            return

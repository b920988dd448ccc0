"""What a person reads of each block: a heading, and parts in plain text."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET

from shipmate.database.store import Kept
from shipmate.protocol import (
    AnyBlock,
    AnyDetail,
    ApprovalRequest,
    AskUser,
    Attachment,
    CommandDetail,
    DiffDetail,
    ImageDetail,
    Message,
    Summary,
    System,
    Todo,
    ToolCall,
    ToolResult,
    User,
)

Style: TypeAlias = Literal["prose", "code", "note", "image"]
_MARKS = {"completed": "[x]", "in-progress": "[~]", "not-started": "[ ]"}


@dataclass(frozen=True, slots=True)
class Part:
    style: Style
    text: str
    """Of an image: the id of the stored file."""


@dataclass(frozen=True, slots=True)
class Piece:
    kind: str
    """A word of ours: user, message, tool, result, notice, error, raw."""
    heading: str
    parts: tuple[Part, ...]


def pieces(block: AnyBlock | None, kept: Kept) -> Iterator[Piece]:
    """None or one. `block` is None for a type that this version does not know."""
    if block is None:
        yield Piece("raw", f"({kept.type})", (_code(msgspec.json.decode(kept.json)),))
        return
    made = _spoken(block) or _worked(block)
    if made is not None:
        parts = tuple(part for part in made.parts if part.text.strip())
        yield Piece(made.kind, made.heading, parts)


def _spoken(block: AnyBlock) -> Piece | None:
    match block:
        case User():
            return Piece("user", "You", (Part("prose", block.text),))
        case Attachment():
            picture = Part("image", block.file if block.kind == "image" else "")
            return Piece("user", f"Attached {block.name}", (picture, Part("code", block.text)))
        case Message():
            thought = f"Thinking:\n{block.reasoning}" if block.reasoning.strip() else ""
            cut = "(cut off)" if block.partial else ""
            parts = (Part("note", thought), Part("prose", block.text), Part("note", cut))
            who = " · ".join(word for word in (block.agent or "assistant", block.model) if word)
            return Piece("message", who, parts)
        case Summary():
            return Piece("notice", "Summary of what was said before", (Part("prose", block.text),))
        case System():
            kind = "error" if block.level == "error" else "notice"
            return Piece(kind, "Notice", (Part("note", block.text),))
        case _:
            return None


def _worked(block: AnyBlock) -> Piece | None:
    match block:
        case ToolCall():
            shown = Part("code", block.raw) if block.raw else _code(block.arguments)
            return Piece("tool", f"Calls {block.name}", (shown,))
        case ToolResult():
            heading = "Failed" if block.is_error else "Result"
            parts = (Part("code", block.text), *_details(block.details))
            return Piece("error" if block.is_error else "result", heading, parts)
        case ApprovalRequest():
            parts = (*_details(block.details), Part("note", _decided(block)))
            return Piece("tool", f"Approval: {block.title}", parts)
        case AskUser():
            options = "\n".join(f"- {option}" for option in block.options)
            answer = _answered(block)
            parts = (Part("prose", block.question), Part("prose", options), Part("note", answer))
            return Piece("tool", "Question", parts)
        case Todo(items=items) if items:
            lines = [f"{_MARKS[item.status]} {item.title}" for item in items]
            return Piece("tool", "To do", (Part("code", "\n".join(lines)),))
        case _:
            return None


def _decided(block: ApprovalRequest) -> str:
    if block.result is UNSET:
        return "Not decided."
    said = f": {block.feedback}" if block.feedback else ""
    return f"{'Approved' if block.result else 'Not approved'} by {block.decided_by or 'user'}{said}"


def _answered(block: AskUser) -> str:
    if block.result is UNSET:
        return "Not answered."
    return (
        f"Not answered ({block.cancelled.replace('_', ' ')})."
        if block.cancelled
        else f"Answer: {block.result}"
    )


def _details(details: AnyDetail | msgspec.UnsetType) -> tuple[Part, ...]:
    match details:
        case CommandDetail():
            return (Part("code", details.command), Part("note", f"in {details.cwd}"))
        case DiffDetail():
            return tuple(_diff(details))
        case ImageDetail():
            return (Part("image", details.file),)
        case _:
            return ()


def _diff(details: DiffDetail) -> Iterator[Part]:
    for file in details.files:
        yield Part(
            "note", f"{file.path} ({file.change}, +{file.added} -{file.removed}) {file.note}"
        )
        hunks = ["\n".join([f"@@ {h.old_start} {h.new_start} @@", *h.lines]) for h in file.hunks]
        yield Part("code", "\n".join(hunks))


def _code(value: Any) -> Part:
    return Part("code", json.dumps(value, ensure_ascii=False, indent=2) if value else "")

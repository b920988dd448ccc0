"""Blocks and events as an editor is told them (Agent Client Protocol)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import acp
from acp import schema

from shipmate.cli.showing import arguments_in_short
from shipmate.protocol import (
    AnyDetail,
    AnyEvent,
    ApprovalRequest,
    AskUser,
    CommandDetail,
    DiffDetail,
    FileChange,
    Hunk,
    SessionChanged,
    System,
    Todo,
    TodoItem,
    ToolCall,
    ToolResult,
    User,
)
from shipmate.session.hearing import Hearing

Update: TypeAlias = Any
"""One of the SDK's updates."""

_KINDS: dict[str, schema.ToolKind] = {
    "read_only": "read",
    "read_write": "edit",
    "shell": "execute",
    "web": "fetch",
    "todo": "think",
}
"""By tool provider."""
_STATUS: dict[str, schema.PlanEntryStatus] = {
    "not-started": "pending",
    "in-progress": "in_progress",
    "completed": "completed",
}


@dataclass(slots=True)
class Updates:
    """Of one session, each thing once."""

    root: Path
    """The project's folder."""
    hearing: Hearing = field(default_factory=Hearing)
    title: str = ""
    _calls: set[str] = field(default_factory=set[str])

    def of(self, event: AnyEvent, *, replay: bool = False) -> Iterator[Update]:
        """`replay`: what the user said is told, too."""
        if fresh := self.hearing.hear(event):
            if fresh.reasoning:
                yield acp.update_agent_thought_text(fresh.reasoning)
            if fresh.text:
                yield acp.update_agent_message_text(fresh.text)
        elif getattr(event, "parent", ""):
            return  # a sub-agent's thread is on the page
        else:
            yield from self._other(event, replay)

    def _other(self, event: AnyEvent, replay: bool) -> Iterator[Update]:
        match event:
            case User() if replay:
                yield acp.update_user_message_text(event.text)
            case ToolCall():
                yield self._call(event)
            case ToolResult():
                yield self._result(event)
            case AskUser() if not event.result and not event.cancelled:
                yield acp.update_agent_message_text(question_text(event))
            case System() if event.level != "info":
                yield acp.update_agent_message_text(f"\n\n[{event.text}]\n\n")
            case Todo():
                yield acp.update_plan([_entry(item) for item in event.items])
            case SessionChanged() if event.row.title != self.title:
                self.title = event.row.title
                yield schema.SessionInfoUpdate(
                    session_update="session_info_update", title=self.title
                )
            case _:
                pass

    def _call(self, call: ToolCall) -> Update:
        if call.id in self._calls:
            return acp.update_tool_call(call.id, status="in_progress")
        self._calls.add(call.id)
        path = call.arguments.get("path")
        return acp.start_tool_call(
            call.id,
            f"{call.title or call.name}{arguments_in_short(call)}",
            kind=_KINDS.get(call.provider, "other"),
            status="in_progress" if call.started else "pending",
            locations=[schema.ToolCallLocation(path=str(self.root / path))]
            if isinstance(path, str)
            else None,
            raw_input=call.arguments,
        )

    def _result(self, result: ToolResult) -> Update:
        return acp.update_tool_call(
            result.call,
            status="failed" if result.is_error else "completed",
            content=[
                *self.shown(result.details or None),
                acp.tool_content(acp.text_block(result.text)),
            ],
        )

    def shown(self, details: AnyDetail | None) -> Sequence[Any]:
        """What a call would do, whole: a diff for each hunk, a command as text."""
        match details:
            case DiffDetail():
                return [one for file in details.files for one in self._diffs(file)]
            case CommandDetail():
                return [acp.tool_content(acp.text_block(f"```\n{details.command}\n```"))]
            case _:
                return []

    def _diffs(self, file: FileChange) -> Iterator[Any]:
        path = str(self.root / file.path)
        if file.change in ("delete", "rename", "create_directory") or file.note:
            words = f"{file.change} {file.was or ''} {file.path} {file.note}"
            yield acp.tool_content(acp.text_block(" ".join(words.split())))
        for hunk in file.hunks:
            old = None if file.change == "create" else _side(hunk, "-")
            yield acp.tool_diff_content(path, _side(hunk, "+"), old)

    def asked(self, request: ApprovalRequest) -> schema.ToolCallUpdate:
        """The call that a permission is asked for, with all that the person has to know."""
        words = "\n".join(filter(None, (request.title, request.reason)))
        warning = "DANGEROUS. " if request.level == "dangerous" else ""
        return schema.ToolCallUpdate(
            tool_call_id=request.call,
            title=f"{warning}{request.title}",
            status="pending",
            content=[
                acp.tool_content(acp.text_block(warning + words)),
                *self.shown(request.details),
            ],
        )


def question_text(question: AskUser) -> str:
    options = "".join(f"\n- {option}" for option in question.options)
    return f"\n\n{question.question}{options}\n"


def _side(hunk: Hunk, mark: str) -> str:
    return "\n".join(line[1:] for line in hunk.lines if line[:1] in (" ", mark)) + "\n"


def _entry(item: TodoItem) -> schema.PlanEntry:
    return acp.plan_entry(item.title, status=_STATUS[item.status])

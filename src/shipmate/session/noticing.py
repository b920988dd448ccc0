"""What of the happenings in sessions goes to the audit log: decisions, and what runs or
reaches beyond the project: commands, the web, tools of MCP servers."""

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET

from shipmate.agent.approvals import WITHIN
from shipmate.database.store import Written
from shipmate.protocol import AnyBlock, ApprovalRequest, ToolCall
from shipmate.safety.audit import Audit
from shipmate.safety.redaction import redacted

COMMAND = "shell_exec"
SHOWN = 300
"""Characters of a command or of arguments; the hash is of all."""


def noticing(audit: Audit) -> Callable[[Written], None]:
    """To be told of all that is kept."""

    def notice(written: Written) -> None:
        for saved in written.saved:
            told = _decision(saved.block) or _started(saved.block)
            if told:
                event, who, what = told
                audit.tell(event, who=who or written.row.owner, session=written.row.id, what=what)

    return notice


def _decision(block: AnyBlock) -> tuple[str, str, dict[str, Any]] | None:
    if not isinstance(block, ApprovalRequest) or block.result is UNSET:
        return None
    what = {"approved": block.result, "call": block.call, "digest": block.digest}
    return "approval", block.decided_by, what


def _started(block: AnyBlock) -> tuple[str, str, dict[str, Any]] | None:
    if not isinstance(block, ToolCall) or not block.started or block.provider in WITHIN:
        return None
    if block.name == COMMAND:
        text = str(block.arguments.get("command", ""))
        return "command", "", {**_bound(block, text), "command": _shown(text)}
    text = msgspec.json.encode(block.arguments).decode()
    what = {**_bound(block, text), "tool": block.name, "arguments": _shown(text)}
    return "call", "", what


def _bound(block: ToolCall, text: str) -> dict[str, Any]:
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return {"call": block.id, "sha256": digest}


def _shown(text: str) -> str:
    return redacted(text)[:SHOWN]

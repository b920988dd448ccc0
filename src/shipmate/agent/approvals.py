"""Whether a call may run: the judge's verdict, the bypass, and the user's decision.

An approval binds to exactly what was shown. Its digest covers the tool, the arguments, the
call, and all that the judge bound it to (real paths with hashes of their content, the working
folder). The call is judged again when it is to run, and any difference refuses.
"""

import hashlib

import msgspec
from msgspec import UNSET, structs

from shipmate.protocol import (
    ApprovalRequest,
    ArgumentsDetail,
    BlockedDetail,
    ToolCall,
)
from shipmate.safety.verdict import Level, Verdict
from shipmate.tools.tool import ToolError

_canonical = msgspec.json.Encoder(order="deterministic").encode


class BlockedError(ToolError):
    """Refused by a built-in rule; nobody can approve it."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(f"Blocked: {verdict.reason}")
        self.details = BlockedDetail(reason=verdict.reason, rule=verdict.rule)


def digest(call: ToolCall, verdict: Verdict) -> str:
    """SHA-256 over all that was shown."""
    shown = [call.id, call.name, call.arguments, dict(verdict.binds), int(verdict.level)]
    return hashlib.sha256(_canonical(shown)).hexdigest()


def request(call: ToolCall, verdict: Verdict) -> ApprovalRequest:
    """The dialog of a call, made from its arguments only."""
    return ApprovalRequest(
        id=f"{call.id}-approval",
        call=call.id,
        level="dangerous" if verdict.level is Level.DANGER else "normal",
        title=verdict.title or call.name,
        reason=verdict.reason,
        details=verdict.details or ArgumentsDetail(arguments=call.arguments),
        digest=digest(call, verdict),
        agent=call.agent,
    )


def bypassed(call: ToolCall, verdict: Verdict) -> ApprovalRequest:
    """What the bypass approved, kept and shown as if the user had been asked."""
    return structs.replace(request(call, verdict), result=True, decided_by="bypass")


def may_run(
    call: ToolCall, verdict: Verdict, decided: ApprovalRequest | None, *, bypass: bool
) -> bool:
    """True when it may run, false when the user has to decide first.

    Raises `ToolError` when it may not run: blocked, denied, or not what was approved.
    """
    if verdict.level is Level.REFUSE:
        raise BlockedError(verdict)
    if decided is None:
        free = verdict.bypassable and bypass and verdict.level is Level.ASK
        return free or verdict.level is Level.ALLOW
    if decided.result is UNSET:
        return False
    if not decided.result:
        raise ToolError(_denied(decided))
    if decided.digest != digest(call, verdict):
        raise ToolError(
            "Not run: what this call would do has changed since the user approved it. "
            "Look at the current state and make the call again."
        )
    return True


def _denied(decided: ApprovalRequest) -> str:
    if decided.decided_by == "stop":
        return "Not run: stopped by the user."
    if decided.decided_by == "moved_on":
        return "Not run: the user moved on."
    if decided.feedback:
        return f"The user denied this call and said: {decided.feedback}"
    return "The user denied this call. Do not try it again in another way; ask what they want."

"""Whether a call may run: the judge's verdict, the user's rules, the bypass, the decision.

An approval binds to exactly what was shown. Its digest covers the tool, the arguments, the
call, and all that the judge bound it to (real paths with hashes of their content, the working
folder). The call is judged again when it is to run, and any difference refuses.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec import UNSET, structs

from shipmate.protocol import (
    AnyDetail,
    ApprovalRequest,
    ArgumentsDetail,
    BlockedDetail,
    DiffDetail,
    RuleScope,
    ToolCall,
)
from shipmate.safety.redaction import redacted_struct
from shipmate.safety.rules.rule import NONE, Rule, Ruling, ruled, suggested
from shipmate.safety.verdict import Level, Verdict
from shipmate.tools.tool import ToolError

_canonical = msgspec.json.Encoder(order="deterministic").encode
WITHIN = frozenset({"read_only", "read_write", "todo", "ask", "agents", "history"})
"""Tool providers that stay with the project's files, and with the user."""
OVERRULED = (
    "A rule of yours allows it, but this conversation has read what strangers wrote, so it asks."
)
SCOPES: tuple[RuleScope, ...] = ("once", "session", "project", "everywhere")


class BlockedError(ToolError):
    """Refused by a built-in rule, or by one of the user's."""

    def __init__(self, text: str, reason: str, rule: str) -> None:
        super().__init__(text)
        self.details = BlockedDetail(reason=reason, rule=rule)


@dataclass(frozen=True, slots=True)
class Asked:
    """A call as it is judged now, beside what the user has decided ahead."""

    call: ToolCall
    verdict: Verdict
    ruling: Ruling = NONE
    wary: bool = False
    """The session has read what strangers wrote."""

    @property
    def digest(self) -> str:
        """SHA-256 over all that is shown."""
        call, verdict = self.call, self.verdict
        shown = [call.id, call.name, call.arguments, dict(verdict.binds), int(verdict.level)]
        return hashlib.sha256(_canonical(shown)).hexdigest()

    @property
    def free(self) -> bool:
        """It runs without anybody's leave."""
        return self.verdict.level is Level.ALLOW and self.ruling.effect in ("", "allow")

    def ahead(self, *, bypass: bool) -> str:
        """Who has approved it ahead: `rule`, `bypass`, or nobody."""
        if self.ruling.effect == "allow" and not self.guarded:
            return "rule"
        if self.guarded:
            return ""
        covered = self.verdict.bypassable and self.verdict.level is Level.ASK
        return "bypass" if bypass and covered and not self.ruling.effect else ""

    @property
    def guarded(self) -> bool:
        """It reaches beyond the project's files, in a session that strangers may be steering:
        only a decision on this very call lets it run."""
        return self.wary and self.call.provider not in WITHIN


def asked(call: ToolCall, verdict: Verdict, rules: Sequence[Rule], *, wary: bool) -> Asked:
    return Asked(call, verdict, ruled(rules, call.name, verdict), wary)


def request(asked: Asked) -> ApprovalRequest:
    """The dialog of a call, made from its arguments only."""
    call, verdict = asked.call, asked.verdict
    red = verdict.level is Level.DANGER
    rules = suggested(call.name, verdict)
    asks = asked.ruling.effect == "ask"
    overruled = asked.guarded and asked.ruling.effect == "allow"
    return ApprovalRequest(
        id=f"{call.id}-approval",
        call=call.id,
        level="dangerous" if red else "normal",
        title=verdict.title or call.name,
        reason=verdict.reason or (OVERRULED if overruled else ""),
        details=_shown(asked),
        digest=asked.digest,
        agent=call.agent,
        suggested=rules,
        scopes=SCOPES if rules and not red and not asks and not overruled else ("once",),
        rule=asked.ruling.text if asks else "",
    )


def _shown(asked: Asked) -> AnyDetail:
    """What the arguments do. What of it is found in files (the lines beside a change) shows no
    secrets; the arguments themselves are shown whole."""
    details = asked.verdict.details
    if isinstance(details, DiffDetail):
        return redacted_struct(details, shapes=False)
    return details or ArgumentsDetail(arguments=asked.call.arguments)


def approved_ahead(asked: Asked, by: str) -> ApprovalRequest:
    """What the bypass or a rule approved, kept and shown as if the user had been asked."""
    rule = asked.ruling.text if by == "rule" else ""
    return structs.replace(request(asked), result=True, decided_by=by, rule=rule)


def bound(digest: str, hunks: Sequence[str]) -> str:
    """The digest of a request of which only some hunks were accepted."""
    return hashlib.sha256(_canonical([digest, sorted(hunks)])).hexdigest()


def may_run(asked: Asked, decided: ApprovalRequest | None, *, bypass: bool) -> bool:
    """True when it may run, false when the user has to decide first.

    Raises `ToolError` when it may not run: blocked, denied, or not what was approved.
    """
    if decided is not None and decided.result is False:
        raise ToolError(_denied(decided))
    _check_not_forbidden(asked)
    if decided is None:
        return asked.free or bool(asked.ahead(bypass=bypass))
    if decided.result is UNSET:
        return False
    digest = asked.digest
    if decided.digest != (digest if decided.hunks is UNSET else bound(digest, decided.hunks)):
        raise ToolError(
            "Not run: what this call would do has changed since the user approved it. "
            "Look at the current state and make the call again."
        )
    return True


def _check_not_forbidden(asked: Asked) -> None:
    verdict, ruling = asked.verdict, asked.ruling
    if verdict.level is Level.REFUSE:
        raise BlockedError(f"Blocked: {verdict.reason}", verdict.reason, verdict.rule)
    if ruling.effect == "deny":
        reason = f"The user's rule forbids it: {ruling.text}"
        told = f"Not run. {reason}. Do not try it in another way; ask what they want."
        raise BlockedError(told, reason, ruling.text)


def _denied(decided: ApprovalRequest) -> str:
    if decided.decided_by == "stop":
        return "Not run: stopped by the user."
    if decided.decided_by == "moved_on":
        return "Not run: the user moved on."
    if decided.decided_by == "cut_off":
        return "Not run: what asked for it came to an end before the user decided."
    if decided.feedback:
        return f"The user denied this call and said: {decided.feedback}"
    return "The user denied this call. Do not try it again in another way; ask what they want."

"""A person's decision on an approval: what it makes of the request, and the rules it leaves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET, UnsetType, structs

from shipmate.agent.approvals import Asked, bound, request
from shipmate.errors import ConflictError, ShipmateError
from shipmate.protocol import (
    AnyBlock,
    ApprovalRequest,
    DiffDetail,
    RuleScope,
    SessionRow,
    new_id,
)
from shipmate.safety.rules.rule import Rule


class UnfitError(ShipmateError):
    """A decision that does not fit what was asked. What waits goes on waiting."""

    code = "unfit"
    status = 422


@dataclass(frozen=True, slots=True)
class Decision:
    approved: bool
    feedback: str = ""
    by: str = "user"
    scope: RuleScope = "once"
    arguments: dict[str, Any] | UnsetType = UNSET
    """What is to run in place of what was asked."""
    hunks: tuple[str, ...] | UnsetType = UNSET
    """Ids of the hunks that are accepted."""
    digest: str = ""
    """Of the request as the person saw it; empty where it is not told."""

    def __post_init__(self) -> None:
        changed = self.arguments is not UNSET or self.hunks is not UNSET
        if changed and not self.approved:
            raise UnfitError("`arguments` and `hunks` are for what is approved.")
        if self.arguments is not UNSET and self.hunks is not UNSET:
            raise UnfitError("`arguments` and `hunks` exclude each other.")
        if self.arguments is not UNSET and self.scope != "once":
            raise UnfitError(
                "The rule was suggested for the arguments as they were: edit, or save."
            )

    def check_seen(self, asked: ApprovalRequest) -> None:
        """What is approved is what was seen: somebody may have edited it in between."""
        if self.approved and self.digest not in ("", asked.digest):
            raise ConflictError("This is not what was shown: look at it again, then decide.")

    def on(self, asked: ApprovalRequest) -> ApprovalRequest:
        """The request, decided."""
        self._check_scope(asked)
        hunks = self._accepted(asked)
        return structs.replace(
            asked,
            result=self.approved,
            feedback=self.feedback,
            decided_by=self.by,
            scope=self.scope,
            hunks=hunks,
            digest=asked.digest if hunks is UNSET else bound(asked.digest, hunks),
        )

    def rules(self, decided: AnyBlock, row: SessionRow) -> Sequence[Rule]:
        """The rules that are kept with the decision: those that were shown, word for word."""
        if self.scope == "once" or not isinstance(decided, ApprovalRequest):
            return ()
        return [
            Rule(
                id=new_id(),
                effect="allow" if self.approved else "deny",
                text=text,
                scope=self.scope,
                project=row.project if self.scope == "project" else "",
                session=row.id if self.scope == "session" else "",
                approval=f"{row.id}:{decided.id}",
            )
            for text in decided.suggested
        ]

    def _check_scope(self, asked: ApprovalRequest) -> None:
        if self.scope == "once":
            return
        if not asked.suggested:
            raise UnfitError("No rule can be made of this call: decide it once.")
        if self.approved and self.scope not in asked.scopes:
            offered = ", ".join(asked.scopes)
            raise UnfitError(f"This can be approved with the scopes {offered}, not {self.scope}.")

    def _accepted(self, asked: ApprovalRequest) -> tuple[str, ...] | UnsetType:
        """The accepted hunks in the order they were shown; UNSET where those are all."""
        if self.hunks is UNSET:
            return UNSET
        if not isinstance(asked.details, DiffDetail):
            raise UnfitError("This approval has no hunks.")
        shown = [hunk.id for file in asked.details.files for hunk in file.hunks]
        if unknown := set(self.hunks) - {one for one in shown if one}:
            raise UnfitError(f"These hunks were not shown: {', '.join(sorted(unknown))}.")
        if not self.hunks:
            raise UnfitError("No hunk is accepted: deny it instead.")
        kept = tuple(one for one in shown if one in self.hunks)
        whole = len(kept) == len(shown) and all(file.hunks for file in asked.details.files)
        return UNSET if whole else kept


def reshown(asked: ApprovalRequest, now: Asked, arguments: dict[str, Any]) -> ApprovalRequest:
    """The request with other arguments: what they would do is shown in place of the first."""
    fresh = request(now)
    return structs.replace(
        asked,
        level=fresh.level,
        title=fresh.title,
        reason=fresh.reason,
        details=fresh.details,
        digest=fresh.digest,
        suggested=fresh.suggested,
        scopes=fresh.scopes,
        rule=fresh.rule,
        arguments=arguments,
    )

"""What a person decides: approve, deny, answer, stop, resume, dismiss."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from shipmate.handlers.reach import check_rules_of, wanted
from shipmate.handlers.route import Answer, Call, Input, endpoint
from shipmate.protocol import ApprovalRequest, AskUser, Pending, RuleScope, SessionRow


class Decide(Input, frozen=True, kw_only=True):
    session: str
    approved: bool
    id: str = ""
    """Of the approval request; may be left out when only one waits."""
    scope: RuleScope = "once"
    """With others than `once` the rules that the request suggests are saved with the decision:
    to allow, or to deny. One of the request's `scopes`; for a denial any."""
    feedback: Annotated[str, Meta(max_length=20_000)] = ""
    """What the model is told."""
    arguments: dict[str, Any] | UnsetType = UNSET
    """What is to run instead: all arguments of the call."""
    hunks: tuple[str, ...] | UnsetType = UNSET
    """Of a change of files: the ids of the hunks that are accepted, where not all are."""
    digest: Annotated[str, Meta(max_length=100)] = ""
    """Of the request as it was seen: 409 where it is another by now, and nothing is approved."""


class Reply(Input, frozen=True, kw_only=True):
    session: str
    answer: Annotated[str, Meta(max_length=100_000)]
    id: str = ""
    """Of the question; may be left out when only one waits."""


class OfSession(Input, frozen=True, kw_only=True):
    session: str


class Stop(Input, frozen=True, kw_only=True):
    session: str
    call: str = ""
    """Of the `call_agent` call whose sub-agent alone is stopped."""


@endpoint("POST", "/api/agent/approval", scope="approve", body=Decide, answer=ApprovalRequest)
async def approval(call: Call[Decide]) -> Answer:
    """Approve or deny what waits. The first decision wins: the second gets 409 with the block
    that stands. 404: no such request in this session; 409 without `id`: none or several wait.
    422: the decision does not fit what was asked, or the edited arguments cannot run; it waits on.
    Where the answer has no `result` the edited arguments do more than what was shown: the request
    shows that now, and waits for a decision on it. A rule for `everywhere` needs `admin`."""
    asked = call.given
    if asked.scope == "everywhere":
        call.caller.must("admin")
    if asked.scope == "project":
        row = await call.house.executor.store.session(asked.session)
        check_rules_of(call, row.project)
    return await call.house.executor.decide(
        asked.session,
        asked.approved,
        block=asked.id,
        feedback=asked.feedback,
        by=call.caller.name,
        scope=asked.scope,
        arguments=asked.arguments,
        hunks=asked.hunks,
        digest=asked.digest,
    )


class Whose(Input, frozen=True, kw_only=True):
    owner: str = ""
    """Empty: one's own sessions; an admin may name a user, or say `all`."""


class Waiting(msgspec.Struct, frozen=True):
    """What waits in one session."""

    session: SessionRow
    items: list[Pending]
    """The oldest first; `agent` and `parent` say who asks, `at` since when."""


class WaitingList(msgspec.Struct, frozen=True):
    waiting: list[Waiting]
    """What has waited longest first."""


@endpoint("GET", "/api/agent/pending", scope="read", query=Whose, answer=WaitingList)
async def pending(call: Call[Whose]) -> Answer:
    """All approvals and questions that wait for the caller, over all sessions. The stream of
    `events?rows=true` tells each change as a `pending` event of the session."""
    found = await call.house.executor.store.pending()
    asked = wanted(call.caller, call.given.owner)
    own = (one for one in found if call.caller.owns(one[0]) and asked(one[0]))
    return WaitingList([Waiting(row, items) for row, items in own])


@endpoint("POST", "/api/agent/answer", scope="approve", body=Reply, answer=AskUser)
async def answer(call: Call[Reply]) -> Answer:
    """Answer a question of the agent. The first answer wins: the second gets 409 with it. 422:
    it is none of the options, and the question takes nothing else; it waits on."""
    asked = call.given
    return await call.house.executor.answer(asked.session, asked.answer, block=asked.id)


@endpoint("POST", "/api/agent/stop", scope="run", body=Stop)
async def stop(call: Call[Stop]) -> None:
    """End what runs and close what waits; what was said so far is kept. With `call` only the
    sub-agent of that call ends, and the round goes on. 404: no agent works for it."""
    asked, executor = call.given, call.house.executor
    if asked.call:
        await executor.stop_agent(asked.session, asked.call)
    else:
        await executor.stop(asked.session)


@endpoint("POST", "/api/agent/resume", scope="run", body=OfSession)
async def resume(call: Call[OfSession]) -> None:
    """Go on with a round that was interrupted or failed. 409: there is none."""
    await call.house.executor.resume(call.given.session)


@endpoint("POST", "/api/agent/dismiss", scope="run", body=OfSession)
async def dismiss(call: Call[OfSession]) -> None:
    """Leave a round that was interrupted or failed as it is. 409: there is none."""
    await call.house.executor.dismiss(call.given.session)

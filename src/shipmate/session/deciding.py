"""Which block a decision is about, whether it may still be decided, and what follows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec import UNSET, structs

from shipmate.agent.approvals import may_run
from shipmate.agent.calls import Calls, Judged
from shipmate.agent.transcript import Transcript
from shipmate.errors import ConflictError, NotFoundError
from shipmate.faults import point
from shipmate.protocol import AnyBlock, ApprovalRequest, AskUser, Pending, SessionRow, ToolCall
from shipmate.session.decision import Decision, UnfitError, reshown
from shipmate.session.door import Door
from shipmate.session.rounds import Assemble
from shipmate.session.standing import standing
from shipmate.tools.tool import ToolError


class DecidedError(ConflictError):
    """Somebody, or something, decided first; `block` is what stands."""

    code = "decided"

    def __init__(self, block: Pending) -> None:
        super().__init__("This was decided before; the card shows how.")
        self.block = block


@dataclass(slots=True)
class Deciding:
    """Decisions on what waits; the first wins."""

    door: Door
    assemble: Assemble
    go_on: Callable[[str], None]
    """Told of each session in which something was decided."""

    async def decide(self, session: str, decision: Decision, block: str = "") -> ApprovalRequest:
        """Decide a pending approval. With arguments that do more than what was shown, or where
        what was shown is not so any more, the request comes back anew and still waits."""
        async with self.door.turn(session):
            transcript = await self.door.transcript(session)
            block = block or only_one(transcript, ApprovalRequest)
            shown = await self._edited(session, block, decision)

            def revise(kept: AnyBlock) -> AnyBlock:
                asked = undecided(kept, ApprovalRequest)
                decision.check_seen(asked)
                if shown is None:
                    return decision.on(asked)
                again, request = shown
                return request if again else decision.on(request)

            waits = shown is not None and shown[0]
            return await self._settle(session, block, revise, decision, waits=waits)

    async def answer(self, session: str, text: str, block: str = "") -> AskUser:
        """Answer a pending question."""

        def revise(kept: AnyBlock) -> AnyBlock:
            asked = undecided(kept, AskUser)
            if not asked.takes(text):
                options = ", ".join(asked.options)
                raise UnfitError(f"This question takes its options alone: {options}.")
            said = text if asked.allow_freeform else text.strip()
            return structs.replace(asked, result=said)

        async with self.door.turn(session):
            transcript = await self.door.transcript(session)
            block = block or only_one(transcript, AskUser)
            return await self._settle(session, block, revise)

    async def _settle(
        self,
        session: str,
        block: str,
        revise: Callable[[AnyBlock], AnyBlock],
        decision: Decision | None = None,
        *,
        waits: bool = False,
    ) -> Any:
        transcript = await self.door.transcript(session)
        row = None if waits else {**transcript.waiting_fields(but=[block]), "status": "running"}
        rules = partial(decision.rules, row=self.door.row(session)) if decision else None
        written = await self.door.change(session, block, revise, row, None if waits else rules)
        point("decide.recorded")
        if not waits:
            self.go_on(session)
        return written.saved[0].block

    # --- edited arguments -----------------------------------------------------------------

    async def _edited(
        self, session: str, block: str, decision: Decision
    ) -> tuple[bool, ApprovalRequest] | None:
        """What the request becomes with the arguments of the decision, and whether it is to be
        shown again before anything runs; None where they are as they were."""
        if decision.arguments is UNSET:
            return None
        transcript = await self.door.transcript(session)
        found = transcript.asked(block)
        if found is None:
            undecided(await self.door.store.block(session, block), ApprovalRequest)
            raise ConflictError("The call of this approval is closed.")
        thread, call, asked = found
        undecided(asked, ApprovalRequest)
        calls = await self._calls(self.door.row(session), thread, call)
        before = await calls.judge(call)
        now = await _judged(calls, structs.replace(call, arguments=decision.arguments, raw=""))
        stale = not isinstance(before, Judged) or before.asked.digest != asked.digest
        if isinstance(before, Judged) and now.asked.digest == before.asked.digest and not stale:
            return None
        request = reshown(asked, now.asked, decision.arguments)
        worse = request.level == "dangerous" and asked.level == "normal"
        return stale or worse, request

    async def _calls(self, row: SessionRow, thread: Transcript, call: ToolCall) -> Calls:
        """What judges the calls of a thread, with the tools of its agent."""
        agent = await self.assemble(row)
        if thread.parent and agent.team:
            agent = await agent.team.join(call.agent, None)
        return Calls(agent, thread, standing(self.door, row), _nothing)


async def _nothing(*_blocks: AnyBlock, **_fields: Any) -> None:
    """Judging records nothing."""


async def _judged(calls: Calls, call: ToolCall) -> Judged:
    """The edited call as it is judged; `UnfitError` where it cannot run, whoever approves it."""
    judged = await calls.understand(call)
    if not isinstance(judged, Judged):
        raise UnfitError(f"With these arguments it cannot run. {judged.text}")
    try:
        may_run(judged.asked, None, bypass=False)
    except ToolError as error:
        raise UnfitError(f"With these arguments it cannot run. {error}") from error
    return judged


def undecided(kept: AnyBlock, kind: type[Pending]) -> Any:
    if not isinstance(kept, kind):
        raise NotFoundError(f"Nothing waits under {kept.id!r}.")
    if kept.result is not UNSET:
        raise DecidedError(kept)
    return kept


def only_one(transcript: Transcript, kind: type[Pending]) -> str:
    waiting = [block.id for block in transcript.pending() if isinstance(block, kind)]
    if not waiting:
        if decided := transcript.last_decided(kind):
            raise DecidedError(decided)
        raise ConflictError("Nothing waits for a decision in this session.")
    if len(waiting) > 1:
        raise ConflictError(f"Several wait: name one by its id ({', '.join(waiting)}).")
    return waiting[0]

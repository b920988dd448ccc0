"""What is open is closed, truthfully: the words say who or what ended it."""

from dataclasses import dataclass

from msgspec import structs

from shipmate.agent.transcript import Transcript
from shipmate.protocol import (
    AnyBlock,
    ApprovalRequest,
    AskUser,
    Closed,
    Pending,
    ToolCall,
    ToolResult,
)


@dataclass(frozen=True, slots=True)
class Ending:
    """Why something that is open is closed, and what the results tell the model of it."""

    why: Closed
    not_run: str
    """Of a call that has not begun."""
    unknown: str
    """Of a call that had begun."""
    unanswered: str
    """Of a question."""
    cut: str
    """How the result of a sub-agent begins: `after 3 steps` follows."""


STOPPED = Ending(
    "stop",
    not_run="Not run: stopped by the user.",
    unknown="Stopped by the user while it ran; its outcome is unknown.",
    unanswered="The user did not answer this question; they stopped the work.",
    cut="Stopped by the user",
)
MOVED_ON = Ending(
    "moved_on",
    not_run="Not run: the user moved on.",
    unknown="Interrupted: its outcome is unknown. Look before you try again.",
    unanswered="The user did not answer this question; they wrote a message instead.",
    cut="Ended, as the user moved on,",
)
DISMISSED = Ending(
    "cut_off",
    not_run="Not run: the round was interrupted.",
    unknown="Interrupted: its outcome is unknown. Look before you try again.",
    unanswered="The user did not answer this question; the round was interrupted.",
    cut="Interrupted, and not resumed by the user,",
)
CALLER_ENDED = Ending(
    "cut_off",
    not_run="Not run: the agent came to an end before.",
    unknown="The agent came to an end while it ran; its outcome is unknown.",
    unanswered="The user did not answer this question; the agent came to an end before.",
    cut="Ended with the agent that called it",
)
BRANCHED = Ending(
    "cut_off",
    not_run="Not run: this branch was made before it ran.",
    unknown="This branch was made while it ran: its outcome is unknown here. Look before you try "
    "again.",
    unanswered="This branch was made before the user had answered this question.",
    cut="This branch was made",
)
EXPORTED = Ending(
    "cut_off",
    not_run="Not run: the session was exported before it ran.",
    unknown="The session was exported while it ran: its outcome is unknown here. Look before you "
    "try again.",
    unanswered="The session was exported before the user had answered this question.",
    cut="The session was exported",
)


def close_open(transcript: Transcript, ending: Ending, below: str = "") -> list[AnyBlock]:
    """The blocks that close all that is open in a session, innermost first; with `below`, what
    is open in the thread of that call and in those of its sub-agents."""
    threads = transcript.below(below) if below else transcript.threads()
    waiting = [block for thread in threads for block in thread.waiting()]
    pending = {block.call: block for block in waiting}
    return [
        *(unanswered(block, ending.why) for block in waiting if not block.call),
        *(
            block
            for thread in threads
            for call in thread.open_calls()
            for block in _closed(transcript, call, pending.get(call.id), ending)
        ),
    ]


def open_call(transcript: Transcript, call: str) -> ToolCall | None:
    """The call of this id, in whatever thread, while it is open."""
    calls = (c for thread in transcript.threads() for c in thread.open_calls())
    return next((one for one in calls if one.id == call), None)


def close_agent(transcript: Transcript, call: ToolCall) -> list[AnyBlock]:
    """The blocks that end the sub-agent of `call`, which the user stopped alone."""
    inner = close_open(transcript, STOPPED, below=call.id)
    return [*inner, *_closed(transcript, call, None, STOPPED)]


def unanswered(asked: Pending, why: Closed) -> Pending:
    """What waited, closed without an answer."""
    if isinstance(asked, ApprovalRequest):
        return structs.replace(asked, result=False, decided_by=why)
    return structs.replace(asked, result="", cancelled=why)


def _closed(
    transcript: Transcript, call: ToolCall, pending: Pending | None, ending: Ending
) -> list[AnyBlock]:
    """The blocks that close one open call, and what it waits for."""
    made: list[AnyBlock] = []
    if pending is not None:
        made.append(unanswered(pending, ending.why))
    text = ending.unanswered if isinstance(pending, AskUser) else ending.not_run
    if call.started:
        text = ending.unknown
    told = False
    if threads := transcript.below(call.id):
        text, told = cut_short(threads[-1], ending), threads[-1].told_by_strangers
    result = ToolResult(
        id=result_id(call),
        call=call.id,
        text=text,
        is_error=True,
        untrusted=told,
        parent=call.parent,
    )
    return [*made, result]


def result_id(call: ToolCall) -> str:
    """The id of the result of a call that can be closed while it ends by itself: one of both
    stands."""
    return f"{call.id}-result"


def cut_short(thread: Transcript, ending: Ending) -> str:
    """What is told of a sub-agent that did not come to its end."""
    done = f"after {thread.steps} step{'s' * (thread.steps != 1)}"
    told = f"{ending.cut} {done}, before it had an answer. What it did until then is done."
    said = thread.last_message.text.strip() if thread.last_message else ""
    return f"{told} Its last words:\n{said}" if said else told

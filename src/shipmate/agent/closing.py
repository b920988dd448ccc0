"""What is open is closed, truthfully: by Stop, or because the user moved on."""

from typing import Literal, TypeAlias

from msgspec import structs

from shipmate.agent.transcript import Transcript
from shipmate.protocol import AnyBlock, ApprovalRequest, AskUser, Pending, ToolCall, ToolResult

Closed: TypeAlias = Literal["stop", "moved_on"]
"""Why something that was open is closed: Stop, or the user moved on."""

_UNKNOWN = {
    "stop": "Stopped by the user while it ran; its outcome is unknown.",
    "moved_on": "Interrupted: its outcome is unknown. Look before you try again.",
}
_NOT_ANSWERED = {
    "stop": "The user did not answer this question; they stopped the work.",
    "moved_on": "The user did not answer this question; they wrote a message instead.",
}


def close_open(transcript: Transcript, why: Closed, text: str, below: str = "") -> list[AnyBlock]:
    """The blocks that close all that is open in a session, innermost first; with `below`, what
    is open in the thread of that call and in those of its sub-agents. `text` is the result of
    what has not been run."""
    threads = transcript.below(below) if below else transcript.threads()
    waiting = [block for thread in threads for block in thread.waiting()]
    pending = {block.call: block for block in waiting}
    return [
        *(unanswered(block, why) for block in waiting if not block.call),
        *(
            block
            for thread in threads
            for call in thread.open_calls()
            for block in closed(transcript, call, pending.get(call.id), why, text)
        ),
    ]


def open_call(transcript: Transcript, call: str) -> ToolCall | None:
    """The call of this id, in whatever thread, while it is open."""
    calls = (c for thread in transcript.threads() for c in thread.open_calls())
    return next((one for one in calls if one.id == call), None)


def close_agent(transcript: Transcript, call: ToolCall) -> list[AnyBlock]:
    """The blocks that end the sub-agent of `call`, which the user stopped alone."""
    text = "Not run: stopped by the user."
    inner = close_open(transcript, "stop", text, below=call.id)
    return [*inner, *closed(transcript, call, None, "stop", text)]


def unanswered(asked: Pending, why: Closed) -> Pending:
    """What waited, closed without an answer."""
    if isinstance(asked, ApprovalRequest):
        return structs.replace(asked, result=False, decided_by=why)
    return structs.replace(asked, result="", cancelled=why)


def closed(
    transcript: Transcript, call: ToolCall, pending: Pending | None, why: Closed, text: str
) -> list[AnyBlock]:
    """The blocks that close one open call, and what it waits for."""
    made: list[AnyBlock] = []
    if pending is not None:
        made.append(unanswered(pending, why))
    if isinstance(pending, AskUser):
        text = _NOT_ANSWERED[why]
    if call.started:
        text = _UNKNOWN[why]
    told = False
    if threads := transcript.below(call.id):
        text, told = cut_short(threads[-1], why), threads[-1].told_by_strangers
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


def cut_short(thread: Transcript, why: Closed) -> str:
    """What is told of a sub-agent that did not come to its end."""
    by = "Stopped by the user" if why == "stop" else "Ended, as the user moved on,"
    done = f"after {thread.steps} step{'s' * (thread.steps != 1)}"
    told = f"{by} {done}, before it had an answer. What it did until then is done."
    said = thread.last_message.text.strip() if thread.last_message else ""
    return f"{told} Its last words:\n{said}" if said else told

"""What is printed while a round runs: prose for a person, or JSON lines for a program."""

import sys
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

import msgspec
import typer
from msgspec import UNSET

from shipmate.cli.conversation import Told
from shipmate.protocol import (
    AnyEvent,
    ApprovalRequest,
    AskUser,
    Block,
    Delta,
    Done,
    Message,
    Pending,
    Retry,
    StreamStart,
    System,
    Todo,
    ToolCall,
    ToolResult,
)
from shipmate.safety.unseen import visible

_decode = msgspec.json.Decoder(AnyEvent).decode
LONGEST = 100
"""Characters of an argument in a line about a call."""


@dataclass(frozen=True, slots=True)
class Followed:
    """A round, or a part of it, up to its `done`."""

    done: Done
    after: int
    """The last `seq`."""
    pending: list[Pending]


class Show(Protocol):
    async def follow(self, told: Told, after: int) -> Followed: ...
    def end(self, done: Done) -> None: ...


async def _followed(told: Told, after: int, show: "JsonLines | Prose") -> Followed:
    done = Done(finished=False, reason="interrupted", error="The server ended the stream.")
    pending: dict[str, Pending] = {}
    async with aclosing(told):
        async for kind, data in told:
            event = _decode(data)
            if isinstance(event, Block):
                after = max(after, event.seq)
            if isinstance(event, ApprovalRequest | AskUser):
                pending[event.id] = event
            if isinstance(event, Done):
                done = event
            show.event(kind, data, event)
    waiting = [block for block in pending.values() if block.result is UNSET]
    return Followed(done, after, waiting)


class JsonLines:
    """Blocks, changed rows and `done`, a line each; no pieces of text."""

    async def follow(self, told: Told, after: int) -> Followed:
        return await _followed(told, after, self)

    def event(self, kind: str, data: bytes, event: AnyEvent) -> None:
        if isinstance(event, Block) or kind in ("session", "done"):
            sys.stdout.buffer.write(data + b"\n")
            sys.stdout.buffer.flush()

    def end(self, done: Done) -> None:
        pass


class Prose:
    """What the model says on standard output; what it does on standard error."""

    def __init__(self) -> None:
        self._clean = visible if sys.stdout.isatty() else str
        self._said: dict[str, int] = {}
        self._inner: set[str] = set()
        """Messages of sub-agents: only what those do is shown."""
        self._called: set[str] = set()
        self._midline = False

    async def follow(self, told: Told, after: int) -> Followed:
        return await _followed(told, after, self)

    def event(self, _kind: str, _data: bytes, event: AnyEvent) -> None:
        match event:
            case StreamStart() if event.parent:
                self._inner.add(event.id)
            case Delta(text=str(text)) if text and event.id not in self._inner:
                self._say(event.id, text)
            case Message() if not event.parent:
                self._rest(event)
            case Todo() if not event.parent:
                for item in event.items:
                    self._note(f"  {_MARKS[item.status]} {item.title}")
            case _:
                self._act(event)

    def _act(self, event: AnyEvent) -> None:
        """A line for what is not said but done."""
        if isinstance(event, ToolCall):
            if event.id in self._called:
                return  # it was shown when it was made; now it is started
            self._called.add(event.id)
        if note := _note_of(event):
            inside = isinstance(event, Block) and event.parent
            self._note(f"  {note}" if inside else note)

    def end(self, done: Done) -> None:
        self._newline()
        if not done.finished:
            self._note(_ENDS[done.reason].format(error=done.error))

    def _say(self, message: str, text: str) -> None:
        self._said[message] = self._said.get(message, 0) + len(text)
        typer.echo(self._clean(text), nl=False)
        sys.stdout.flush()
        self._midline = not text.endswith("\n")

    def _rest(self, message: Message) -> None:
        """The message is whole: what was not streamed of it, and the end of its line."""
        self._say(message.id, message.text[self._said.get(message.id, 0) :])
        self._midline = bool(message.text) and not message.text.endswith("\n")
        self._newline()

    def _newline(self) -> None:
        if self._midline:
            typer.echo()
            self._midline = False

    def _note(self, text: str) -> None:
        self._newline()
        typer.secho(visible(text), err=True, dim=True)


_MARKS = {"not-started": "[ ]", "in-progress": "[~]", "completed": "[x]"}
_ENDS = {
    "": "",
    "waiting_approval": "Waiting for an approval: give it on the page, or run with --approve.",
    "waiting_answer": "Waiting for an answer: give it on the page, or run with --answer.",
    "stopped": "Stopped.",
    "limit": "The limit of steps is reached.",
    "budget": "The budget is used up.",
    "error": "Failed: {error}",
    "interrupted": "Interrupted: {error}",
}


def _note_of(event: AnyEvent) -> str:
    match event:
        case ToolCall():
            return f"> {event.title or event.name}{arguments_in_short(event)}"
        case ToolResult() if event.is_error:
            return f"! {event.text.strip().partition(chr(10))[0]}"
        case System():
            return f"[{event.text}]"
        case Retry():
            return f"[{event.reason} Again in {event.wait:.0f} s.]"
        case _:
            return ""


def arguments_in_short(call: ToolCall) -> str:
    """The first argument, in short."""
    for value in call.arguments.values():
        text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        line = text.partition("\n")[0]
        return f" {line[:LONGEST]}{'…' if len(text) > min(LONGEST, len(line)) else ''}"
    return ""

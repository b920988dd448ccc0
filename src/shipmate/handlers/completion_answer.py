"""A round as an answer of Chat Completions: one object, or pieces."""

import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from shipmate.handlers.errors import HttpError
from shipmate.handlers.house import House
from shipmate.handlers.stream import Frames
from shipmate.protocol import (
    AnyEvent,
    ApprovalRequest,
    AskUser,
    CommandDetail,
    DiffDetail,
    Done,
    Message,
    ToolCall,
)
from shipmate.session.hearing import Hearing
from shipmate.session.hub import Frame

NOBODY = "Nobody is there to approve this, so it was denied."
"""What the model is told where `completions.approvals` is `deny`."""

Finish: TypeAlias = Literal["stop", "length"]
_decode = msgspec.json.Decoder(AnyEvent).decode
_ENDS = {
    "stopped": "Stopped.",
    "limit": "The limit of steps is reached; say something to go on.",
    "budget": "The budget is used up.",
    "interrupted": "Interrupted: the server ended. Resume it on the page.",
}


class Model(msgspec.Struct, frozen=True):
    id: str
    created: int
    object: str = "model"
    owned_by: str = "shipmate"


class ModelList(msgspec.Struct, frozen=True):
    data: list[Model]
    object: str = "list"


class Tokens(msgspec.Struct, frozen=True):
    """Of all requests of the round."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


class Said(msgspec.Struct, frozen=True, omit_defaults=True):
    role: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    reasoning_content: str | UnsetType = UNSET
    """Thinking, and what the agent does."""


class Choice(msgspec.Struct, frozen=True):
    message: Said
    finish_reason: Finish
    index: int = 0


class Completion(msgspec.Struct, frozen=True):
    id: str
    created: int
    model: str
    choices: list[Choice]
    usage: Tokens
    session: str
    """Id of the session, for `metadata.session`."""
    object: str = "chat.completion"


class ChunkChoice(msgspec.Struct, frozen=True):
    delta: Said
    finish_reason: Finish | None = None
    index: int = 0


class Chunk(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    created: int
    model: str
    choices: list[ChunkChoice]
    object: str
    session: str
    usage: Tokens | UnsetType = UNSET


@dataclass
class Answering:
    """One answer. `waits`: where somebody has to decide, it goes on after that."""

    house: House
    session: str
    model: str
    usage: bool
    waits: bool
    finish: Finish = "stop"
    error: str = ""
    tokens: Tokens = field(default_factory=Tokens)
    created: int = field(default_factory=lambda: int(time.time()))
    _hearing: Hearing = field(default_factory=Hearing)
    _asked: dict[str, ApprovalRequest | AskUser] = field(
        default_factory=dict[str, "ApprovalRequest | AskUser"]
    )
    _counted: set[str] = field(default_factory=set[str])
    _shown: set[str] = field(default_factory=set[str])
    _spoke: str = ""
    """The message whose text was told last; the next one begins a paragraph."""
    _seq: int = 0
    _done: Done = field(default_factory=lambda: Done(finished=True))

    async def chunks(self, frames: Frames) -> AsyncGenerator[list[Frame]]:
        """The pieces as JSON, then `[DONE]`. Closed early, it stops what runs."""
        executor = self.house.executor
        try:
            yield [self._chunk(Said("assistant", ""))]
            async with aclosing(self.pieces(frames)) as pieces:
                async for said in pieces:
                    yield [self._chunk(said)]
            yield [self._raw(self._failed())] if self.error else self._end()
        finally:
            if executor.runs(self.session):
                await executor.stop(self.session)

    async def pieces(self, frames: Frames) -> AsyncGenerator[Said]:
        """What is said, up to the end of the round; over its decisions, where it waits."""
        while True:
            async with aclosing(self._heard(frames)) as heard:
                async for said in heard:
                    yield said
            if not self._done.reason or not self._waiting():
                for said in self._ended(self._done):
                    yield said
                return
            if not await self._deny():
                yield self._link()
                if not self.waits:
                    return
                await self._decided()
            frames = self.house.executor.until_done(self.session, self._seq)

    async def _heard(self, frames: Frames) -> AsyncGenerator[Said]:
        async with aclosing(frames):
            async for batch in frames:
                for item in batch:
                    event = _decode(item.data)
                    self._seq = max(self._seq, item.seq or 0)
                    for said in self._said(event):
                        yield said
                    if isinstance(event, Done):
                        self._done = event

    def _said(self, event: AnyEvent) -> Iterator[Said]:
        if fresh := self._hearing.hear(event):
            if fresh.reasoning:
                yield Said(reasoning_content=fresh.reasoning)
            if fresh.text:
                ident = getattr(event, "id", "")
                gap = "\n\n" if self._spoke not in ("", ident) else ""
                self._spoke = ident
                yield Said(content=gap + fresh.text)
        match event:
            case Message() if event.usage and event.id not in self._counted:
                self._counted.add(event.id)
                self._count(event)
            case ToolCall() if event.id not in self._shown:
                self._shown.add(event.id)
                yield Said(reasoning_content=f"\n> {event.title or event.name}\n")
            case ApprovalRequest() | AskUser():
                self._asked[event.id] = event
            case _:
                pass

    def _count(self, message: Message) -> None:
        if message.usage:
            prompt = self.tokens.prompt_tokens + message.usage.prompt
            completion = self.tokens.completion_tokens + message.usage.completion
            self.tokens = Tokens(prompt, completion, prompt + completion)

    def _ended(self, done: Done) -> Iterator[Said]:
        if done.reason == "error":
            self.error = done.error or "The model provider failed."
        elif done.reason:
            self.finish = "length" if done.reason in ("limit", "budget") else "stop"
            yield Said(content=f"\n\n[{_ENDS.get(done.reason, done.reason)}]")

    async def _deny(self) -> bool:
        """Where nobody is to be asked: deny what waits. False when there is something else."""
        if self.house.config.settings.completions.approvals != "deny":
            return False
        waiting = self._waiting()
        approvals = [one for one in waiting if isinstance(one, ApprovalRequest)]
        for one in approvals:
            await self.house.executor.decide(
                self.session,
                False,
                block=one.id,
                feedback=NOBODY,
                by="completions",
                digest=one.digest,
            )
            self._asked.pop(one.id)
        return bool(approvals) and len(approvals) == len(waiting)

    def _waiting(self) -> list[ApprovalRequest | AskUser]:
        return [one for one in self._asked.values() if one.result is UNSET]

    def _link(self) -> Said:
        """What waits, whole enough to know it again, and where it is decided."""
        lines = [line for one in self._waiting() for line in _lines(one)]
        url = f"{self.house.place.url}/#/s/{self.session}"
        return Said(content="\n\n" + "\n".join([*lines, f"Decide it here: {url}", ""]) + "\n")

    async def _decided(self) -> None:
        """Until the session waits no longer."""
        async with aclosing(self.house.executor.follow({self.session: self._seq})) as batches:
            async for batch in batches:
                for item in batch:
                    if item.type == "session_deleted":
                        return
                    if item.row and not item.row.status.startswith("waiting"):
                        return

    # --- the wire -----------------------------------------------------------------------

    def _chunk(self, said: Said) -> Frame:
        return self._raw(self._made([ChunkChoice(said)]))

    def _end(self) -> list[Frame]:
        last = [self._raw(self._made([ChunkChoice(Said(), self.finish)]))]
        if self.usage:
            last.append(self._raw(self._made([], self.tokens)))
        return [*last, Frame("chunk", self.session, b"[DONE]")]

    def _made(self, choices: list[ChunkChoice], usage: Tokens | UnsetType = UNSET) -> Chunk:
        name, kind = f"chatcmpl-{self.session}", "chat.completion.chunk"
        return Chunk(name, self.created, self.model, choices, kind, self.session, usage)

    def _failed(self) -> dict[str, dict[str, str]]:
        return {"error": {"message": self.error, "type": "server_error", "code": "model_error"}}

    def _raw(self, value: object) -> Frame:
        return Frame("chunk", self.session, msgspec.json.encode(value))


async def completion(answering: Answering, frames: Frames) -> Completion:
    """The answer as one object; 502 when the model provider failed."""
    text, reasoning = "", ""
    async for said in answering.pieces(frames):
        text += said.content or ""
        reasoning += said.reasoning_content or ""
    if answering.error:
        raise HttpError(502, "model_error", answering.error)
    said = Said("assistant", text.strip(), reasoning.strip() or UNSET)
    choice = Choice(said, answering.finish)
    return Completion(
        f"chatcmpl-{answering.session}",
        answering.created,
        answering.model,
        [choice],
        answering.tokens,
        answering.session,
    )


def _lines(one: ApprovalRequest | AskUser) -> Iterator[str]:
    """What waits, as Markdown."""
    if isinstance(one, AskUser):
        yield f"**A question for you:** {one.question}"
        yield from (f"- {option}" for option in one.options)
        return
    level = "This is dangerous, and waits" if one.level == "dangerous" else "Waits"
    yield f"**{level} for your approval:** {one.title}"
    if one.reason:
        yield one.reason
    match one.details:
        case CommandDetail():
            yield f"```\n{one.details.command}\n```"
        case DiffDetail():
            for file in one.details.files:
                yield f"- {file.change} `{file.path}` +{file.added} -{file.removed}"
        case _:
            pass

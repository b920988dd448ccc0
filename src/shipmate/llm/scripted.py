"""A model that plays a script: for tests, the demo and the browser suite."""

import asyncio
import inspect
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from shipmate.llm.model import (
    ChatMessage,
    FunctionCall,
    ModelError,
    ModelInfo,
    Part,
    Reply,
    StreamItem,
    ToolSpec,
)
from shipmate.protocol import Usage

Played: TypeAlias = Reply | ModelError
Step: TypeAlias = (
    Played
    | Callable[
        [Sequence[ChatMessage], Sequence[ToolSpec]],
        Played | Awaitable[Played] | AsyncGenerator[StreamItem],
    ]
)
"""A reply, a failure, or a function of what was sent that gives one of them (at once or later),
or streams by itself."""

DEMO = ModelInfo("scripted/demo", context_length=128_000, context_source="table")


@dataclass(frozen=True, slots=True)
class Request:
    """What a scripted model was sent."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[ToolSpec, ...]


class ScriptedModel:
    """Plays `steps` in turn, each request one step, and remembers what it was sent.

    Text and thinking are streamed in pieces of `chunk` characters, `pause` seconds apart.
    """

    def __init__(
        self,
        steps: Iterable[Step],
        *,
        chunk: int = 12,
        pause: float = 0,
        info: ModelInfo = DEMO,
    ) -> None:
        self.steps = deque(steps)
        self.chunk = chunk
        self.pause = pause
        self.info = info
        self.requests: list[Request] = []

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[StreamItem]:
        self.requests.append(Request(tuple(messages), tuple(tools)))
        if not self.steps:
            raise ModelError(f"The script has no step left for request {len(self.requests)}.")
        step = self.steps.popleft()
        played = step(messages, tools) if callable(step) else step
        if isinstance(played, AsyncGenerator):
            async with aclosing(played) as items:
                async for item in items:
                    yield item
            return
        if inspect.isawaitable(played):
            played = await played
        reply = played.partial or Reply() if isinstance(played, ModelError) else played
        async for part in self._parts(reply):
            yield part
        if isinstance(played, ModelError):
            raise played
        yield reply

    async def _parts(self, reply: Reply) -> AsyncIterator[Part]:
        for at in range(0, len(reply.reasoning), self.chunk):
            await asyncio.sleep(self.pause)
            yield Part(reasoning=reply.reasoning[at : at + self.chunk])
        for at in range(0, len(reply.text), self.chunk):
            await asyncio.sleep(self.pause)
            yield Part(text=reply.text[at : at + self.chunk])


def say(text: str, *, reasoning: str = "", usage: Usage | None = None) -> Reply:
    """A final answer."""
    return Reply(text=text, reasoning=reasoning, usage=usage)


def call(name: str, /, **arguments: Any) -> Reply:
    """A reply that calls one tool, with the arguments as the model spells them."""
    return Reply(calls=(FunctionCall(name, arguments),), finish="tool_calls")


def together(*replies: Reply) -> Reply:
    """One reply out of several: the texts joined, the calls in order."""
    first, *rest = replies
    for reply in rest:
        first = replace(
            first,
            text=first.text + reply.text,
            reasoning=first.reasoning + reply.reasoning,
            calls=first.calls + reply.calls,
            usage=reply.usage or first.usage,
        )
    return replace(first, finish="tool_calls" if first.calls else "stop")

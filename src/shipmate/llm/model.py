"""The port to every language model: one method, `stream`."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from shipmate.errors import ShipmateError
from shipmate.protocol import Signed, Usage
from shipmate.safety.redaction import redacted


@dataclass(frozen=True, slots=True)
class Image:
    media_type: str
    data: bytes
    name: str


@dataclass(frozen=True, slots=True)
class CallPart:
    """A tool call in the history; `arguments` is the JSON text of an object."""

    id: str
    name: str
    arguments: str


@dataclass(slots=True, eq=False, weakref_slot=True)
class ChatMessage:
    """One message of a request, never changed once it was sent. The same object is sent again
    at the next step, so that a dialect may keep what it made of it in `encoded` and only join
    bytes."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    reasoning: str = ""
    calls: tuple[CallPart, ...] = ()
    call: str = ""
    """For role `tool`: the id of the call it answers."""
    images: tuple[Image, ...] = ()
    model: str = ""
    """For role `assistant`: `provider/model` that said it."""
    signed: tuple[Signed, ...] = ()
    """For role `assistant`: how its provider signed the reply."""
    encoded: dict[str, bytes] = field(default_factory=dict[str, bytes])
    size: int = 0
    """About how many tokens it takes; kept by `llm.tokens.Meter`."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    name: str
    description: str
    parameters: Mapping[str, Any]
    """A JSON schema of an object."""


@dataclass(frozen=True, slots=True)
class Part:
    """More text or more thinking; a dialect joins what one read from the network brought."""

    text: str = ""
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Retrying:
    """The request failed in a way that can pass and is sent again after `wait` seconds.
    What was streamed of it before is void."""

    attempt: int
    of: int
    wait: float
    reason: str


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call as the model made it."""

    name: str
    arguments: Mapping[str, Any] | None
    """The object the model wrote, or None when it wrote no JSON object."""
    raw: str = ""
    rescued: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What one request gave, whole; the last thing a stream yields."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[FunctionCall, ...] = ()
    usage: Usage | None = None
    finish: str = "stop"
    """How it ended. `tool_calls`: there are calls. `length`: the text was cut at the output
    limit. `cut_call`: a call was cut off, so none of the reply's calls may run; `bad_call`: a
    call without a name was all there was (in both cases the context tells the model, who may
    be asked again, at most twice). `content_filter`, or the provider's own word: an end."""
    notes: tuple[str, ...] = ()
    """What the user should be told: a call that was cut off, a field put aside."""
    signed: tuple[Signed, ...] = ()
    """What the provider wants back with the reply; empty where it signs nothing."""


StreamItem: TypeAlias = Part | Retrying | Reply


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known of a model."""

    id: str
    """`provider/model`."""
    context_length: int = 128_000
    context_source: Literal["config", "table", "server", "default"] = "default"
    vision: bool = False
    thinking: bool = False
    max_output: int = 0
    """Tokens of a reply that are asked for; 0: the provider's own limit."""
    price: Mapping[str, float] = field(default_factory=dict[str, float])
    """Per million tokens: input, cached, output. Empty: not known."""


ErrorKind: TypeAlias = Literal[
    "auth",
    "quota",
    "rate_limit",
    "too_long",
    "refused",
    "unreachable",
    "overloaded",
    "truncated",
    "provider",
]
"""`too_long`: the prompt does not fit the model's window. `refused`: the request itself is
wrong. `unreachable`: no connection, or silence. `truncated`: the connection ended in mid-reply.
`provider`: anything else."""


class ModelError(ShipmateError):
    """The provider failed, in words a person can act on. `partial` is what was said before."""

    status = 502
    code = "provider"

    def __init__(
        self,
        message: str,
        *,
        kind: ErrorKind = "provider",
        partial: Reply | None = None,
        retry_after: float | None = None,
        reply_too_long: bool = False,
    ) -> None:
        super().__init__(redacted(message))  # providers quote keys and headers
        self.kind: ErrorKind = kind
        self.partial = partial
        self.retry_after = retry_after
        """Seconds the provider asked to wait."""
        self.reply_too_long = reply_too_long
        """A longer reply was asked for than the model gives (`refused`)."""


class Model(Protocol):
    """A language model. `stream` yields parts and ends with exactly one `Reply`, or raises
    `ModelError`; closing the generator closes the connection at once."""

    @property
    def info(self) -> ModelInfo: ...

    def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[StreamItem]: ...


async def asked(model: Model, text: str) -> Reply | None:
    """The reply to one text, without tools; None where the model fails."""
    try:
        async with aclosing(model.stream([ChatMessage("user", text)], ())) as stream:
            async for item in stream:
                if isinstance(item, Reply):
                    return item
    except ModelError:
        return None
    return None

"""The two kinds of unit a request is made of: what the user said, and a turn of the model."""

import json
import re
from dataclasses import dataclass, field

import msgspec

from shipmate.agent.strangers import marked
from shipmate.llm.model import CallPart, ChatMessage, Image
from shipmate.protocol import AskUser, Message, ToolCall, ToolResult, clean

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
_encode = msgspec.json.Encoder().encode

UNKNOWN = (
    "Outcome unknown: the work was cut off while this ran. It may have been done in part or "
    "whole; look before doing it again."
)
MOVED_ON = "Not run: the user moved on and wrote a new message instead."
CUT_OFF = "Not run: the work was cut off before this call."
NO_ANSWER = "Not answered: the user wrote a message instead, or stopped."
NO_OUTPUT = "(no output)"


@dataclass(frozen=True, slots=True)
class Part:
    """A unit as a compaction sees it: never taken apart."""

    places: tuple[int, ...]
    """`pos` of its blocks; of a summary, the first and last place it replaces."""
    open: bool
    """A call in it has no result yet."""
    messages: tuple[ChatMessage, ...]


@dataclass(slots=True, eq=False)
class Said:
    """What was said to the model in a row, as one message: roles alternate, as some chat
    templates demand. Keys are ids of blocks."""

    at: int = 0
    texts: dict[str, str] = field(default_factory=dict[str, str])
    images: dict[str, Image] = field(default_factory=dict[str, Image])
    chat: ChatMessage | None = None

    @property
    def empty(self) -> bool:
        return not self.texts

    def put(self, key: str, text: str, image: Image | None = None) -> None:
        self.texts[key] = clean(text)
        if image is not None:
            self.images[key] = image
        self.chat = None

    def hand_over(self, key: str, other: "Said") -> None:
        """Say `key` in `other`, not here."""
        other.put(key, self.texts.pop(key), self.images.pop(key, None))
        self.chat = None

    def render(self) -> list[ChatMessage]:
        if self.empty:
            return []
        if self.chat is None:
            text = "\n\n".join(t for t in self.texts.values() if t.strip()) or "(empty message)"
            self.chat = ChatMessage("user", text, images=tuple(self.images.values()))
        return [self.chat]


@dataclass(slots=True, eq=False)
class Turn:
    """One reply of the model and the results of its calls."""

    at: int = 0
    message: Message | None = None
    calls: dict[str, ToolCall] = field(default_factory=dict[str, ToolCall])
    results: dict[str, ChatMessage] = field(default_factory=dict[str, ChatMessage])
    questions: dict[str, AskUser] = field(default_factory=dict[str, AskUser])
    moved_on: bool = False
    """The user wrote while calls were open."""
    chat: ChatMessage | None = None

    @property
    def empty(self) -> bool:
        """There is nothing in it that a provider would accept."""
        return not self.calls and not (self.message and self.message.text.strip())

    @property
    def open(self) -> bool:
        return len(self.results) < len(self.calls)

    def say(self, message: Message) -> None:
        self.message = message
        self.chat = None

    def call(self, call: ToolCall) -> None:
        known = self.calls.get(call.id)
        self.calls[call.id] = call
        if known is None or known.arguments != call.arguments or known.name != call.name:
            self.chat = None

    def answer(self, block: ToolResult | AskUser) -> None:
        """Take in a result or a question of one of the calls."""
        if isinstance(block, AskUser):
            self.questions[block.call] = block
        else:
            text = clean(block.text) if block.text.strip() else NO_OUTPUT
            text = marked(text) if block.untrusted else text
            self.results[block.call] = ChatMessage("tool", text, call=block.call)

    def render(self) -> list[ChatMessage]:
        if self.empty:
            return []
        if self.chat is None:
            self.chat = self._assistant()
        return [
            self.chat,
            *(self.results.get(c.id) or self._missing(c) for c in self.calls.values()),
        ]

    def _assistant(self) -> ChatMessage:
        message = self.message or Message()
        return ChatMessage(
            "assistant",
            clean(message.text),
            clean(message.reasoning),
            tuple(_part(call) for call in self.calls.values()),
            model=message.model,
            signed=message.signed,
        )

    def _missing(self, call: ToolCall) -> ChatMessage:
        return ChatMessage("tool", self._why(call), call=call.id)

    def _why(self, call: ToolCall) -> str:
        """What became of a call that has no result of its own."""
        question = self.questions.get(call.id)
        if question is not None:
            answered = isinstance(question.result, str) and not question.cancelled
            return clean(str(question.result)) or NO_OUTPUT if answered else NO_ANSWER
        if call.started:
            return UNKNOWN
        return MOVED_ON if self.moved_on else CUT_OFF


def _part(call: ToolCall) -> CallPart:
    """The call as it is sent again: a name providers accept, an object as arguments."""
    name = _NOT_IN_A_NAME.sub("_", call.name)[:64] or "unnamed"
    try:
        arguments = _encode(call.arguments).decode()
    except UnicodeEncodeError:
        arguments = clean(json.dumps(call.arguments, ensure_ascii=False))
    return CallPart(call.id, name, arguments)

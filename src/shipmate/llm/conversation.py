"""Conversations held to the rules that all dialects share, each message looked at once."""

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from shipmate.llm.invariants import MessageRules
from shipmate.llm.model import ChatMessage, ModelError

T = TypeVar("T")


@dataclass(slots=True)
class _Checked:
    rules: MessageRules
    messages: list[ChatMessage] = field(default_factory=list[ChatMessage])
    """All but the first."""


class Checked:
    """Holds conversations to the rules that all dialects share, each message once; kept as long
    as the first message is."""

    def __init__(self) -> None:
        self._known: weakref.WeakKeyDictionary[ChatMessage, _Checked] = weakref.WeakKeyDictionary()

    def check(self, messages: Sequence[ChatMessage]) -> None:
        """Raises `ModelError` when a rule is broken."""
        if not messages:
            raise broken(["there are no messages"])
        first, rest = messages[0], list(messages[1:])
        known = self._known.get(first)
        if known is None or rest[: len(known.messages)] != known.messages:
            known = self._known[first] = _Checked(MessageRules())
            known.rules.add(_plain(first))
        for message in rest[len(known.messages) :]:
            known.messages.append(message)
            known.rules.add(_plain(message))
        if rules := known.rules.broken():
            raise broken(rules)


def _plain(message: ChatMessage) -> dict[str, Any]:
    """The message as the rules read it; pictures stand for themselves."""
    content = message.text or ("(pictures)" if message.images else "")
    wire: dict[str, Any] = {"role": message.role, "content": content}
    if message.role == "tool":
        wire |= {"tool_call_id": message.call, "content": content or "(no output)"}
    if message.calls:
        wire["tool_calls"] = [
            {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    return wire


class Kept(Generic[T]):
    """What was made last of a value, as long as it is asked for with an equal one."""

    def __init__(self, make: Callable[[T], bytes]) -> None:
        self._make = make
        self._last: tuple[T, bytes] | None = None

    def of(self, value: T) -> bytes:
        if self._last is None or self._last[0] != value:
            self._last = value, self._make(value)
        return self._last[1]


def broken(rules: Sequence[str]) -> ModelError:
    """The request would break rules: it is not sent."""
    return ModelError(
        "The request was not sent, as a provider would refuse it: "
        f"{'; '.join(rules[:5])}. This is an error in shipmate; please report it.",
        kind="refused",
    )

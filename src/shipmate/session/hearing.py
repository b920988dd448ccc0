"""What the main thread says, for who wants each word once: pieces as they come, then the block.

A reader that joins late, or looks again, is given text it has had; that is left out here.
"""

from dataclasses import dataclass, field

from shipmate.protocol import AnyEvent, Delta, Message, StreamStart
from shipmate.session.live import length


@dataclass(frozen=True, slots=True)
class Fresh:
    """Text that was not told before."""

    text: str = ""
    reasoning: str = ""


@dataclass(slots=True)
class _Told:
    text: str = ""
    reasoning: str = ""


@dataclass(slots=True)
class Hearing:
    _messages: dict[str, _Told] = field(default_factory=dict[str, _Told])

    def hear(self, event: AnyEvent) -> Fresh | None:
        """What is new in it; None for what is no speech of the main thread."""
        match event:
            case StreamStart() if not event.parent:
                self._messages.setdefault(event.id, _Told())
                return None
            case Delta() if told := self._messages.get(event.id):
                return Fresh(
                    _piece(told, "text", event.offset, event.text),
                    _piece(told, "reasoning", event.offset, event.reasoning),
                )
            case Message() if not event.parent:
                told = self._messages.setdefault(event.id, _Told())
                return Fresh(
                    _rest(told, "text", event.text), _rest(told, "reasoning", event.reasoning)
                )
            case _:
                return None


def _piece(told: _Told, name: str, offset: int, text: str) -> str:
    """A piece that begins where what was told ends. Of one from further back only the rest is
    new; one from further on is left to the block, which has all."""
    known: str = getattr(told, name)
    units = length(known)
    if not text or offset > units:
        return ""
    fresh = _cut(text, units - offset)
    setattr(told, name, known + fresh)
    return fresh


def _rest(told: _Told, name: str, text: str) -> str:
    known: str = getattr(told, name)
    setattr(told, name, text)
    return text.removeprefix(known) if text.startswith(known) else ""


def _cut(text: str, units: int) -> str:
    if not units or text.isascii():
        return text[units:]
    return text.encode("utf-16-le", "surrogatepass")[2 * units :].decode("utf-16-le", "replace")

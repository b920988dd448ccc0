"""Who speaks, and where it is heard."""

from dataclasses import dataclass
from typing import Protocol

from shipmate.llm.model import Retrying


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who says a message: the agent, its model, and the call that a sub-agent works for."""

    agent: str
    model: str
    parent: str


class Voice(Protocol):
    """Where messages are heard while they are being said; the session's side of streaming."""

    def begin(self, message: str, speaker: Speaker) -> None: ...
    def say(self, message: str, text: str, reasoning: str) -> None: ...
    def retry(self, message: str, retrying: Retrying) -> None:
        """What was said of the message is void; it begins anew."""
        ...

    def progress(self, call: str, text: str, done: float, total: float | None) -> None:
        """How far a call is."""
        ...

    def end(self, message: str) -> None: ...
    def so_far(self, message: str) -> tuple[str, str]:
        """Text and reasoning said so far."""
        ...

    def thought(self, message: str) -> float:
        """Seconds it thought before its first word."""
        ...

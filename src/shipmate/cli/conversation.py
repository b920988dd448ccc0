"""Talking with a session: the same words whether the system is in this process or in a server."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from shipmate.protocol import ApprovalRequest

Told: TypeAlias = AsyncGenerator[tuple[str, bytes]]
"""Type and JSON of each event."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """A new session and what is said first."""

    text: str
    agent: str
    model: str
    """Empty: the one that is used unless another is named."""
    project: str
    """Id or name; or a folder, which becomes a project."""
    bypass: bool


class Conversation(Protocol):
    async def begin(self, beginning: Beginning) -> str:
        """Make the session and say the task; its id."""
        ...

    def follow(self, session: str, after: int) -> Told:
        """Every event from `after` to `done`."""
        ...

    async def decide(
        self, session: str, block: ApprovalRequest, *, approved: bool, feedback: str = ""
    ) -> None: ...
    async def answer(self, session: str, block: str, text: str) -> None: ...
    async def stop(self, session: str) -> None: ...

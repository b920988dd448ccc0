"""Which block a decision is about, and whether it may still be decided."""

from typing import Any

from msgspec import UNSET

from shipmate.agent.transcript import Transcript
from shipmate.errors import ConflictError, NotFoundError
from shipmate.protocol import AnyBlock, Pending


class DecidedError(ConflictError):
    """Somebody, or something, decided first; `block` is what stands."""

    code = "decided"

    def __init__(self, block: Pending) -> None:
        super().__init__("This was decided before; the card shows how.")
        self.block = block


def undecided(kept: AnyBlock, kind: type[Pending]) -> Any:
    if not isinstance(kept, kind):
        raise NotFoundError(f"Nothing waits under {kept.id!r}.")
    if kept.result is not UNSET:
        raise DecidedError(kept)
    return kept


def only_one(transcript: Transcript, kind: type[Pending]) -> str:
    waiting = [block.id for block in transcript.pending() if isinstance(block, kind)]
    if not waiting:
        if decided := transcript.last_decided(kind):
            raise DecidedError(decided)
        raise ConflictError("Nothing waits for a decision in this session.")
    if len(waiting) > 1:
        raise ConflictError(f"Several wait: name one by its id ({', '.join(waiting)}).")
    return waiting[0]

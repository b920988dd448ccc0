"""What the threads of a session share beside its blocks."""

from dataclasses import dataclass, field
from functools import partial

from shipmate.agent.transcript import Transcript
from shipmate.agent.upkeep import Ledger
from shipmate.llm.windows import Windows
from shipmate.session.beside import Beside
from shipmate.session.door import Door


@dataclass(frozen=True, slots=True)
class Ledgers:
    door: Door
    beside: Beside
    windows: Windows = field(default_factory=Windows)

    def of(self, session: str, transcript: Transcript) -> Ledger:
        return Ledger(
            transcript.spending,
            self.windows,
            partial(self.door.store.costs, session),
            partial(self.beside.start, session),
        )

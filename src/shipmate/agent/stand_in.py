"""Another model goes on when the agent's fails, and what a model cannot see is told."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from shipmate.agent.profile import Agent
from shipmate.agent.transcript import Transcript
from shipmate.agent.voice import Voice
from shipmate.llm.chain import PATIENCE, Chain
from shipmate.llm.model import ChatMessage, ModelError, Retrying
from shipmate.protocol import System

NO_PICTURES = "no_pictures"
UNSEEN = (
    "{model} sees no pictures: it is told their names only. Choose a model that sees, or describe "
    "them."
)


@dataclass(slots=True)
class StandIn:
    """Looks after which model answers one thread of a round."""

    agent: Agent
    transcript: Transcript
    record: Callable[..., Awaitable[Any]]
    voice: Voice

    @property
    def chain(self) -> Chain | None:
        return self.agent.model if isinstance(self.agent.model, Chain) else None

    async def begin(self) -> None:
        """Before a request: where the model is known to be failing, another one answers."""
        if self.chain and (told := self.chain.begin()):
            await self._tell(told)

    def check_patience(self, retrying: Retrying) -> None:
        """Raise the failure where another model answers sooner than this one."""
        if self.chain and self.chain.can_change and retrying.wait > PATIENCE:
            raise ModelError(retrying.reason, kind="rate_limit")

    async def takes_over(self, message: str, failure: ModelError) -> bool:
        """Whether another model goes on. Never once text was shown; thinking that was shown is
        void. The message ends, and the next one is that of the other model."""
        said, thought = self.voice.so_far(message)
        if said or not self.chain or not (told := self.chain.stand_in(failure)):
            return False
        if thought:
            self.voice.retry(message, Retrying(1, 1, 0.0, str(failure)))
        self.voice.end(message)
        await self._tell(told)
        return True

    async def pictures(self, new: Sequence[ChatMessage]) -> None:
        """Tell once a session and model that pictures among the `new` messages are not seen."""
        info = self.agent.model.info
        if info.vision or not any(message.images for message in new):
            return
        text = UNSEEN.format(model=info.id)
        known = (b for b in self.transcript.context.blocks if isinstance(b, System))
        if not any(block.code == NO_PICTURES and block.text == text for block in known):
            await self.record(System(text=text, level="warning", code=NO_PICTURES))

    async def _tell(self, text: str) -> None:
        await self.record(System(text=text, level="warning", code="fallback"))

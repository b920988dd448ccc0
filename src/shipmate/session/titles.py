"""Titles of sessions: the task's first line at once, the model's own words later."""

import logging
import re
import unicodedata
from dataclasses import dataclass

from shipmate.agent.profile import Agent
from shipmate.agent.transcript import Transcript
from shipmate.errors import ShipmateError
from shipmate.faults import point
from shipmate.llm.model import Reply, asked
from shipmate.llm.prices import Spent, spent, taken
from shipmate.protocol import SessionRow
from shipmate.safety.redaction import redacted
from shipmate.session.background import Background
from shipmate.session.door import Door

log = logging.getLogger(__name__)

MAX_TITLE = 80
_ASK = (
    "Give this conversation a title of at most six words, in the user's language. "
    "Answer with the title only, without quotation marks.\n\n"
)


def provisional(text: str) -> str:
    """The first line of the task without secrets, cut between characters that belong together."""
    line = next((line.strip() for line in redacted(text).split("\n") if line.strip()), "")
    return line if len(line) <= MAX_TITLE else _cut(line, MAX_TITLE - 1) + "…"


def _cut(line: str, end: int) -> str:
    """At most `end` characters, without taking an accent or a joined emoji apart."""
    while end > 0 and (
        unicodedata.combining(line[end]) or line[end] in "\u200d\ufe0f" or line[end - 1] == "\u200d"
    ):
        end -= 1
    return line[:end].rstrip()


async def ask_title(agent: Agent, task: str, answer: str) -> tuple[str, Spent | None]:
    """The model's title and what it took; empty where it gave none: the first line of the task
    stays."""
    text = f"{_ASK}User: {task[:2000]}\n\nAssistant: {answer[:1000]}"
    reply = await asked(agent.model, text) or Reply()
    point("title.asked")
    title = provisional(re.sub(r"[\"“”«»#*`]+", "", reply.text))
    return title, spent(agent.model.info, reply.usage)


@dataclass(frozen=True, slots=True)
class Titles:
    """Asks for the title of a session after its first final answer, beside everything else."""

    door: Door
    tasks: Background

    def finished(self, row: SessionRow, agent: Agent, transcript: Transcript) -> None:
        """A round came to its final answer."""
        began = [user for user in transcript.users.values() if not user.steers]
        if not agent.titles or len(began) != 1 or not transcript.last_message:
            return
        task = began[0].text
        if row.title == provisional(task):
            answer = transcript.last_message.text
            title = self._title(row, agent, task, answer)
            self.tasks.start(title, f"the title of session {row.id}")

    async def _title(self, row: SessionRow, agent: Agent, task: str, answer: str) -> None:
        title, used = await ask_title(agent, task, answer)
        try:
            async with self.door.turn(row.id):
                fields = taken(used)
                if title and (await self.door.store.session(row.id)).title == row.title:
                    fields["title"] = title
                if fields:
                    point("title.before_record")
                    await self.door.record(row.id, row=fields)
                    point("title.recorded")
        except ShipmateError as error:  # deleted, or nothing can be kept: the title stays
            log.info("the title of session %s was not kept: %s", row.id, error)

"""Titles of sessions: the task's first line at once, the model's own words later."""

import re
import unicodedata
from contextlib import aclosing

from shipmate.agent.profile import Agent
from shipmate.faults import point
from shipmate.llm.model import ChatMessage, ModelError, Reply

MAX_TITLE = 80
_ASK = (
    "Give this conversation a title of at most six words, in the user's language. "
    "Answer with the title only, without quotation marks.\n\n"
)


def provisional(text: str) -> str:
    """The first line of the task, cut between characters that belong together."""
    line = next((line.strip() for line in text.split("\n") if line.strip()), "")
    return line if len(line) <= MAX_TITLE else _cut(line, MAX_TITLE - 1) + "…"


def _cut(line: str, end: int) -> str:
    """At most `end` characters, without taking an accent or a joined emoji apart."""
    while end > 0 and (
        unicodedata.combining(line[end]) or line[end] in "\u200d\ufe0f" or line[end - 1] == "\u200d"
    ):
        end -= 1
    return line[:end].rstrip()


async def ask_title(agent: Agent, task: str, answer: str) -> tuple[str, int]:
    """The model's title and the tokens it took; empty where it gave none."""
    text = f"{_ASK}User: {task[:2000]}\n\nAssistant: {answer[:1000]}"
    reply = Reply()
    try:
        async with aclosing(agent.model.stream([ChatMessage("user", text)], [])) as stream:
            async for item in stream:
                if isinstance(item, Reply):
                    reply = item
    except ModelError:  # a title is a courtesy: the first line of the task stays
        return "", 0
    point("title.asked")
    used = reply.usage.prompt + reply.usage.completion if reply.usage else 0
    return provisional(re.sub(r"[\"“”«»#*`]+", "", reply.text)), used

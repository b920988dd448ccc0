"""A provider that plays one story by what it is sent, so that the story goes on after any crash."""

import json
from typing import Any

from shipmate.agent.compaction import ASK
from shipmate.agent.summaries import SUMMARY
from tests.provider import Answer, Provider, call_reply, text_reply

CONTENT = "first line\nsecond line\n" * 200
QUESTION = "Which colour?"
TASK = "Look into a.txt and note that you did."
STEPS = (
    (("read_file", {"path": "a.txt"}), ("read_file", {"path": "b.txt"})),
    (("write_file", {"path": "out.txt", "content": CONTENT}),),
    (("shell_exec", {"command": "echo ran >> log.txt"}),),
    (("call_agent", {"agent": "assistant", "task": TASK}),),
    (("ask_user", {"question": QUESTION}),),
)
"""The calls of each reply; after them comes text."""
BELOW = (
    (("read_file", {"path": "a.txt"}),),
    (("shell_exec", {"command": "echo ran >> below.txt"}),),
)
"""Those of the sub-agent."""
CALLS = sum(len(step) for step in (*STEPS, *BELOW))
WORDS = 60


class Director(Provider):
    """Reply n is made by how many replies with calls are in the request; titles are given, and
    summaries."""

    def take(self, raw: bytes) -> Answer:
        body = json.loads(raw)
        messages = body["messages"]
        if not body.get("tools"):
            asked = str(messages[-1]["content"])
            return Answer(text_reply("Summed up." if asked.startswith(ASK) else "A title"))
        below = any(message["content"] == TASK for message in messages)
        steps = BELOW if below else STEPS
        made = sum(1 for message in messages if message.get("tool_calls"))
        if made < len(steps) and SUMMARY not in str(messages):
            return Answer(call_reply(*steps[made], text="I look at it. " * 5))
        words = ["It is noted."] if below else final(messages)
        return Answer(text_reply(*words), split=180, delay=0.01)


def final(messages: list[dict[str, Any]]) -> list[str]:
    """The words of the last answer."""
    said = sum(1 for message in messages if message["role"] == "user")
    return [f"Answer {said}: ", *("wörd " for _ in range(WORDS))]

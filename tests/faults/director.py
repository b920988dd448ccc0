"""A provider that plays one story by what it is sent, so that the story goes on after any crash."""

import json
from typing import Any

from tests.provider import Answer, Provider, call_reply, text_reply

CONTENT = "first line\nsecond line\n" * 200
QUESTION = "Which colour?"
STEPS = (
    (("read_file", {"path": "a.txt"}), ("read_file", {"path": "b.txt"})),
    (("write_file", {"path": "out.txt", "content": CONTENT}),),
    (("shell_exec", {"command": "echo ran >> log.txt"}),),
    (("ask_user", {"question": QUESTION}),),
)
"""The calls of each reply; after them comes text."""
WORDS = 60


class Director(Provider):
    """Reply n is made by how many replies with calls are in the request; titles are given."""

    def take(self, raw: bytes) -> Answer:
        body = json.loads(raw)
        if not body.get("tools"):
            return Answer(text_reply("A title"))
        made = sum(1 for message in body["messages"] if message.get("tool_calls"))
        if made < len(STEPS):
            return Answer(call_reply(*STEPS[made], text="I look at it. " * 5))
        return Answer(text_reply(*final(body["messages"])), split=180, delay=0.01)


def final(messages: list[dict[str, Any]]) -> list[str]:
    """The words of the last answer."""
    said = sum(1 for message in messages if message["role"] == "user")
    return [f"Answer {said}: ", *("wörd " for _ in range(WORDS))]

"""The scripted demo: a tour through the real loop, without any model, and it says so.

It decides its next step from the messages it is sent, so it goes on after a pause or a restart.
"""

import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import msgspec

from shipmate.llm.demo_words import CHINESE, ENGLISH, Words
from shipmate.llm.model import ChatMessage, FunctionCall, ModelInfo, Reply, StreamItem, ToolSpec
from shipmate.llm.scripted import DEMO, ScriptedModel

DEMO_TITLE = "Scripted demo (no AI)"
DEMO_FILE = "shipmate-demo.md"

_DEMO_FILES = re.compile(r"shipmate-demo(-\d+)?\.md")
_CJK = re.compile(r"[\u3400-\u9fff]")
_READABLE = re.compile(r"^(?!.*/$)[^\s].*\.(md|txt|rst|py|js|ts|toml|json|c|go|rs|java|html|css)$")


@dataclass(frozen=True, slots=True)
class Seen:
    """What has happened in the session so far, as the messages tell it."""

    words: Words
    task: str
    """The user's last words."""
    results: Mapping[str, list[str]]
    """By tool, what its calls gave."""
    fresh: bool
    """The user has just spoken."""

    def last(self, tool: str) -> str:
        return (self.results.get(tool) or [""])[-1]

    def count(self, tool: str) -> int:
        return len(self.results.get(tool, ()))


class DemoModel:
    """`scripted/demo`. `pause` is the time between two pieces of text, in seconds."""

    info: ModelInfo = DEMO

    def __init__(self, pause: float = 0.012) -> None:
        self.pause = pause

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[StreamItem]:
        reply = next_step(messages, {tool.name for tool in tools})
        playing = ScriptedModel([reply], chunk=8, pause=self.pause)
        async with aclosing(playing.stream(messages, tools)) as items:
            async for item in items:
                yield item


SUMMED = "earlier part of a conversation"
"""Stands in a request for a summary, which offers no tools (`agent.compaction`)."""
SUMMARY = "The scripted demo looked around in the project, read a file and wrote one of its own."


def next_step(messages: Sequence[ChatMessage], tools: set[str]) -> Reply:
    """The next step of the tour: the first that was not made yet and whose tool is offered."""
    seen = look(messages)
    if not tools:
        return Reply(SUMMARY if len(messages) == 1 and SUMMED in seen.task else DEMO_TITLE)
    for tool, times, make in STEPS:
        if tool in tools and seen.count(tool) < times:
            made = make(seen)
            if made is not None:
                text, arguments = made
                raw = msgspec.json.encode(arguments).decode()
                return Reply(seen.words.label + text, calls=(FunctionCall(tool, arguments, raw),))
    if seen.fresh:
        return Reply(seen.words.label + seen.words.follow_up.format(task=_short(seen.task)))
    return Reply(seen.words.label + _farewell(seen))


def look(messages: Sequence[ChatMessage]) -> Seen:
    said = [m.text for m in messages if m.role == "user"]
    task = said[-1] if said else ""
    names = {call.id: call.name for m in messages for call in m.calls}
    results: dict[str, list[str]] = {}
    for message in messages:
        if message.role == "tool":
            results.setdefault(names.get(message.call, ""), []).append(message.text)
    words = CHINESE if _CJK.search(task) else ENGLISH
    return Seen(words, task, results, bool(messages) and messages[-1].role == "user")


Step = tuple[str, dict[str, Any]]


def _list(seen: Seen) -> Step | None:
    return seen.words.greeting, {"path": "."}


def _read(seen: Seen) -> Step | None:
    file = readable(seen.last("list_files"))
    return (seen.words.reading.format(file=file), {"path": file}) if file else None


def _plan(seen: Seen) -> Step | None:
    return seen.words.planning, _todo(seen.words, 1)


def _write(seen: Seen) -> Step | None:
    file = readable(seen.last("list_files"))
    read = seen.last("read_file")
    found = seen.words.found.format(file=file, count=read.count("\n") + 1) if file else ""
    content = seen.words.content.format(found=found)
    return seen.words.writing, {"path": proposed(seen), "content": content}


def _progress(seen: Seen) -> Step | None:
    return seen.words.written, _todo(seen.words, 2)


def _question(seen: Seen) -> Step | None:
    return seen.words.asking, {"question": seen.words.question, "options": list(seen.words.options)}


def _close(seen: Seen) -> Step | None:
    return seen.words.closing, _todo(seen.words, len(seen.words.todo) + 1)


STEPS: tuple[tuple[str, int, Callable[[Seen], Step | None]], ...] = (
    ("list_files", 1, _list),
    ("read_file", 1, _read),
    ("manage_todo_list", 1, _plan),
    ("write_file", 1, _write),
    ("manage_todo_list", 2, _progress),
    ("ask_user", 1, _question),
    ("manage_todo_list", 3, _close),
)


def _todo(words: Words, current: int) -> dict[str, Any]:
    """The list with the items before `current` done."""
    state = {True: "completed", False: "not-started"}
    items = [
        {"id": n, "title": title, "status": "in-progress" if n == current else state[n < current]}
        for n, title in enumerate(words.todo, 1)
    ]
    return {"todoList": items}


def proposed(seen: Seen) -> str:
    """A file that is not there yet: to write what a file holds already needs no approval, and
    the tour is about approvals."""
    names = {line.strip() for line in seen.last("list_files").split("\n")}
    name, number = DEMO_FILE, 1
    while name in names:
        number += 1
        name = f"shipmate-demo-{number}.md"
    return name


def readable(listing: str) -> str:
    """A file of the listing that is worth reading: a README first, else the first text file."""
    names = [line.strip() for line in listing.split("\n")]
    files = [name for name in names if _READABLE.match(name) and not _DEMO_FILES.fullmatch(name)]
    readmes = [name for name in files if name.lower().startswith("readme")]
    return next(iter(readmes or files), "")


def _farewell(seen: Seen) -> str:
    answer = seen.last("ask_user").strip()
    return seen.words.farewell.format(answer=_short(answer) or "…", file=proposed(seen))


def _short(text: str) -> str:
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= 80 else line[:79] + "…"

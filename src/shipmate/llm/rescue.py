"""Recovers tool calls that a model wrote as text instead of making them.

Seen with small models and with servers whose template or parser does not fit: the reply is a
bare or fenced JSON object, or stands in <tools> or <tool_call>. Only the names of offered tools
are accepted, and the arguments must fit that tool's parameters, so that prose that merely shows
JSON stays prose.
"""

import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, cast

from shipmate.llm.directions import directions
from shipmate.llm.model import (
    ChatMessage,
    FunctionCall,
    Model,
    ModelError,
    ModelInfo,
    Part,
    Reply,
    Retrying,
    StreamItem,
    ToolSpec,
)
from shipmate.llm.refusals import takes_no_tools

TAGS = re.compile(r"<(tool_call|tools|function_call)>\s*(.*?)\s*(?:</\1>|(?=<\1>)|\Z)", re.DOTALL)
FENCES = re.compile(r"```(?:json|tool_call|tool_code|xml)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
MARKS = (
    *("<tool_call>", "<tools>", "<function_call>", "\nCALL: "),
    *("```\n", "```json\n", "```tool_call\n", "```tool_code\n", "```xml\n"),
)
"""Where a written call may begin, apart from a reply that begins with one of `FIRST`."""
FIRST = ("{", "CALL: ")
SUSPECT = re.compile("|".join(map(re.escape, MARKS)))
LONGEST = max(map(len, MARKS))

NOTE = "The model wrote its tool call as text; it was recovered."


def rescue(text: str, tools: Sequence[ToolSpec]) -> tuple[tuple[FunctionCall, ...], str]:
    """The calls written in the text, and the text without them. No calls: nothing in it is
    certainly one, and the text is given back as it was."""
    offered = {tool.name: tool.parameters for tool in tools}
    for pattern, group in ((TAGS, 2), (FENCES, 1)):
        calls: list[FunctionCall] = []
        rest: list[str] = []
        end = 0
        for match in pattern.finditer(text):
            found = [c for item in _objects(match.group(group)) if (c := _call(item, offered))]
            calls += found
            if found:
                rest.append(text[end : match.start()])
                end = match.end()
        if calls:
            return tuple(calls), ("".join(rest) + text[end:]).strip()
    if text.lstrip().startswith("{"):
        calls = [c for item in _objects(text) if (c := _call(item, offered))]
        if calls:
            return tuple(calls), ""
    return _directed(text, tools)


def _directed(text: str, tools: Sequence[ToolSpec]) -> tuple[tuple[FunctionCall, ...], str]:
    """`CALL: <agent> <task>`, where a tool is offered that takes just these, with the agents
    there are."""
    for tool in tools:
        properties = cast("dict[str, Any]", tool.parameters.get("properties", {}))
        if set(properties) == {"agent", "task"} and "enum" in properties["agent"]:
            found = directions(text, properties["agent"]["enum"])
            given = [{"agent": one.agent, "task": one.task} for one in found]
            calls = [
                FunctionCall(tool.name, one, json.dumps(one, ensure_ascii=False), rescued=True)
                for one in given
            ]
            if calls:
                return tuple(calls), text[: found[0].start].strip()
    return (), text


def _objects(text: str) -> Iterator[Any]:
    """The JSON objects in the text, outermost ones, in order."""
    decoder = json.JSONDecoder(strict=False)
    at = 0
    while (at := text.find("{", at)) >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except ValueError:
            at += 1
            continue
        except RecursionError:
            return
        yield value
        at = end


def _call(value: Any, offered: Mapping[str, Mapping[str, Any]]) -> FunctionCall | None:
    """The object as a call, in one of the spellings seen, if it fits an offered tool."""
    if not isinstance(value, dict):
        return None
    item = cast("dict[str, Any]", value)
    if isinstance(item.get("function"), dict):
        item = cast("dict[str, Any]", item["function"])
    name = next((item[k] for k in ("name", "tool", "tool_name") if k in item), None)
    arguments = next((item[k] for k in ("arguments", "parameters", "args") if k in item), None)
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    if not isinstance(name, str) or name not in offered or not isinstance(arguments, dict):
        return None
    given = cast("dict[str, Any]", arguments)
    if not _fits(given, offered[name]):
        return None
    return FunctionCall(name, given, json.dumps(given, ensure_ascii=False), rescued=True)


def _fits(arguments: Mapping[str, Any], parameters: Mapping[str, Any]) -> bool:
    required, known = parameters.get("required", ()), parameters.get("properties", {})
    return set(required) <= set(arguments) <= set(known)


OPENING = re.compile(r"```[^`\n]{0,40}\n")
"""Of a block of code, whatever its language."""
ENDING = re.compile(r"```[^`\n]{0,40}\Z")
"""Of what has come, where a block of code may be about to open."""


@dataclass(slots=True)
class Held:
    """Text on its way to the user, held back from where a written call may begin until it is
    clear that it is none."""

    tools: Sequence[ToolSpec] = ()
    pending: str = ""
    begun: bool = False
    """Something other than white space was let through."""
    holding: str = ""
    """The mark from which text is held; the pending text begins with it."""
    inside: bool = False
    """In a block of code that is no call."""

    def add(self, text: str) -> str:
        """What may be shown now."""
        self.pending += text
        shown: list[str] = []
        while (piece := self._next()) is not None:
            shown.append(piece)
        return "".join(shown)

    def _next(self) -> str | None:
        """One more piece that may be shown; None when what is pending has to wait."""
        if self.holding:
            return self._released()
        if not self.begun and self.pending.lstrip().startswith(FIRST):
            self.holding = self.pending.lstrip()[0]
            return None
        if self.inside:
            return self._code()
        suspect, opening = SUSPECT.search(self.pending), OPENING.search(self.pending)
        if suspect and (opening is None or suspect.start() <= opening.start()):
            self.holding = suspect[0]
            return self._let(suspect.start())
        if opening:
            self.inside = True
            return self._let(opening.end())
        return self._let(self._sure()) or None

    def _released(self) -> str | None:
        """A block of code, or a tag, that is whole and turned out not to be a call."""
        mark = self.holding
        close = "```" if mark.startswith("```") else mark.replace("<", "</")
        end = self.pending.find(close, len(mark)) if close != mark else -1
        if end < 0 or rescue(self.pending[: end + len(close)], self.tools)[0]:
            return None
        self.holding = ""
        return self._let(end + len(close))

    def _code(self) -> str | None:
        end = self.pending.find("```")
        if end >= 0:
            self.inside = False
            return self._let(end + 3)
        return self._let(len(self.pending.rstrip("`"))) or None

    def _sure(self) -> int:
        """How much of the pending text cannot be the beginning of something suspect."""
        if not self.begun and any(mark.startswith(self.pending.lstrip()) for mark in FIRST):
            return 0
        if ending := ENDING.search(self.pending):
            return ending.start()
        for start in range(max(0, len(self.pending) - LONGEST), len(self.pending)):
            end = self.pending[start:]
            if any(mark.startswith(end) for mark in MARKS):
                return start
        return len(self.pending) if self.begun or self.pending.strip() else 0

    def _let(self, end: int) -> str:
        shown, self.pending = self.pending[:end], self.pending[end:]
        self.begun = self.begun or bool(shown.strip())
        return shown


class RescueModel:
    """A model whose written calls are recovered. After `patience` rescues, or where its server
    says that it takes no tools, it goes on with `instead`, if there is one: a mode in which it
    cannot write them wrongly."""

    def __init__(self, model: Model, instead: Model | None = None, patience: int = 2) -> None:
        self.model = model
        self.instead = instead
        self.patience = patience
        self.rescued = 0

    @property
    def info(self) -> ModelInfo:
        return self.model.info

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[StreamItem]:
        if self.instead is None or self.rescued < self.patience:
            try:
                async with aclosing(self._natively(messages, tools)) as items:
                    async for item in items:
                        yield item
            except ModelError as refusal:
                if self.instead is None or not takes_no_tools(refusal):
                    raise
                self.rescued = self.patience
            else:
                return
        async with aclosing(self.instead.stream(messages, tools)) as items:
            async for item in items:
                yield item

    async def _natively(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec]
    ) -> AsyncGenerator[StreamItem]:
        held = Held(tools)
        async with aclosing(self.model.stream(messages, tools)) as items:
            async for item in items:
                for shown in self._pass(item, held, tools):
                    yield shown

    def _pass(
        self, item: StreamItem, held: Held, tools: Sequence[ToolSpec]
    ) -> Iterator[StreamItem]:
        match item:
            case Part():
                shown = held.add(item.text) if tools else item.text
                if shown or item.reasoning:
                    yield Part(shown, item.reasoning)
            case Retrying():
                held.pending, held.holding = "", ""
                held.begun = held.inside = False
                yield item
            case Reply():
                reply = self._rescued(item, tools)
                if reply is item and held.pending:
                    yield Part(held.pending)
                yield reply

    def _rescued(self, reply: Reply, tools: Sequence[ToolSpec]) -> Reply:
        if reply.calls or not tools or reply.finish == "length":
            return reply
        calls, rest = rescue(reply.text, tools)
        if not calls:
            return reply
        self.rescued += 1
        return replace(reply, text=rest, calls=calls, notes=(*reply.notes, NOTE))

"""The rules every request obeys, whoever built it: what strict providers refuse is never sent."""

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Names of tools that every provider accepts."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_DATA_URL = re.compile(r"data:([\w/+.-]+);base64,(.*)", re.DOTALL)
_MAGIC = {
    "image/png": b"\x89PNG",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}


def check_request(
    body: dict[str, Any],
    *,
    vision: bool = True,
    deepseek_thinking: bool = False,
    alternate: bool = False,
) -> list[str]:
    """The rules a Chat Completions request breaks, each in words; none: it is fine.

    `vision`: the model sees pictures. `deepseek_thinking`: beside calls, `reasoning_content`
    must stand. `alternate`: two user messages in a row are refused, as some templates do.
    """
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["there are no messages"]
    check = MessageRules(vision, deepseek_thinking, alternate)
    for message in cast("list[Any]", messages):
        check.add(message)
    return [*_surrogates(body), *check_tools(body), *check.broken()]


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, inner in cast("dict[Any, Any]", value).items():
                yield from _strings(key)
                yield from _strings(inner)
        case list():
            for inner in cast("list[Any]", value):
                yield from _strings(inner)
        case _:
            pass


def _surrogates(body: dict[str, Any]) -> list[str]:
    found = any(_SURROGATE.search(text) for text in _strings(body))
    return ["a text holds a lone surrogate"] if found else []


def is_picture(media_type: str, data: bytes) -> bool:
    """Whether data begins as pictures of a kind that providers take begin."""
    magic = _MAGIC.get(media_type)
    return magic is not None and data.startswith(magic)


def check_tools(body: dict[str, Any]) -> list[str]:
    """The rules that the tools of a request break."""
    tools = body.get("tools")
    bad = ["tool_choice without tools"] if "tool_choice" in body and not tools else []
    if "tools" in body and not tools:
        return [*bad, "the list of tools is empty; leave it out"]
    names: set[str] = set()
    for tool in tools or ():
        bad += _tool(_object(_object(tool).get("function")), names)
    return bad


def _tool(function: dict[str, Any], names: set[str]) -> list[str]:
    name, schema = str(function.get("name") or ""), _object(function.get("parameters"))
    bad = [f"two tools are named {name!r}"] if name in names else []
    names.add(name)
    if not NAME.fullmatch(name):
        bad.append(f"the tool name {name!r} is not 1 to 64 of A-Z, a-z, 0-9, _ and -")
    if schema.get("type") != "object" or not isinstance(schema.get("properties"), dict):
        bad.append(f"the parameters of {name!r} are not an object schema with properties")
    return bad


@dataclass(slots=True)
class MessageRules:
    """The rules on messages, one after the other: adding one costs the same however many
    came before."""

    vision: bool = True
    deepseek_thinking: bool = False
    alternate: bool = False
    at: int = 0
    bad: list[str] = field(default_factory=list[str])
    open: list[str] = field(default_factory=list[str])
    """Ids of calls whose results are still to come."""
    seen: set[str] = field(default_factory=set[str])
    before: str = ""
    """Role of the message before."""

    def add(self, message: Any) -> None:
        message = _object(message)
        role = message.get("role")
        if self.open and role != "tool":
            self._say(f"({role}) stands before the results of {', '.join(self.open)}")
            self.open.clear()
        match role:
            case "system":
                if self.at:
                    self._say("is a system message and not the first")
            case "user":
                self._user(message)
            case "assistant":
                self._assistant(message)
            case "tool":
                self._result(message)
            case _:
                self._say(f"has the role {role!r}")
        self._images(message.get("content"))
        self.before, self.at = str(role), self.at + 1

    def broken(self) -> list[str]:
        """The rules broken if the request ended here."""
        broken = list(self.bad)
        if self.open:
            broken.append(f"results are missing at the end for {', '.join(self.open)}")
        if self.before == "assistant":
            broken.append("the last message is the assistant's")
        return broken

    def _say(self, what: str) -> None:
        self.bad.append(f"message {self.at} {what}")

    def _user(self, message: dict[str, Any]) -> None:
        if not message.get("content"):
            self._say("(user) is empty")
        if self.alternate and self.before == "user":
            self._say("is the second user message in a row")

    def _assistant(self, message: dict[str, Any]) -> None:
        calls, content = message.get("tool_calls"), message.get("content")
        if calls == []:
            self._say("has an empty list of calls")
        if not calls and not (content.strip() if isinstance(content, str) else content):
            self._say("(assistant) has neither text nor calls")
        for call in calls or ():
            self._call(_object(call))
        if calls and self.deepseek_thinking and "reasoning_content" not in message:
            self._say("has calls without reasoning_content beside them")

    def _call(self, call: dict[str, Any]) -> None:
        name, function = str(call.get("id") or ""), _object(call.get("function"))
        if not name or len(name) > 64:
            self._say(f"has a call whose id is not 1 to 64 characters long: {name!r}")
        elif name in self.seen:
            self._say(f"uses the id {name} a second time")
        self.seen.add(name)
        self.open.append(name)
        if not NAME.fullmatch(str(function.get("name") or "")):
            self._say(f"calls {function.get('name')!r}, which is not the name of a tool")
        if not is_object(function.get("arguments")):
            self._say(f"has arguments of {name} that are not a JSON object in a string")

    def _result(self, message: dict[str, Any]) -> None:
        call = str(message.get("tool_call_id"))
        if call in self.open:
            self.open.remove(call)
        else:
            self._say(f"is a result of {call}, which is not open")
        if not message.get("content"):
            self._say("(tool) is empty")

    def _images(self, content: Any) -> None:
        parts = cast("list[Any]", content) if isinstance(content, list) else []
        for part in map(_object, parts):
            if part.get("type") == "image_url":
                if not self.vision:
                    self._say("holds a picture for a model that sees none")
                self._image(str(_object(part.get("image_url")).get("url")))

    def _image(self, url: str) -> None:
        data = _DATA_URL.fullmatch(url)
        magic = _MAGIC.get(data[1]) if data else None
        if data and magic and not base64.b64decode(data[2][:64]).startswith(magic):
            self._say(f"holds a picture whose bytes are not {data[1]}")


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def is_object(text: Any) -> bool:
    """Whether `text` is the JSON text of an object."""
    try:
        return isinstance(text, str) and isinstance(msgspec.json.decode(text), dict)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return False

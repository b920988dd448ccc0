"""What a server asks for while a call runs: folders, an answer of the user, a reply of the model.

Each goes to the call it belongs to. Where none runs, or nobody can tell which, it is declined.
"""

import asyncio
import re
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import mcp_types as types
import msgspec

from shipmate.llm.model import ChatMessage
from shipmate.mcp.foreign import as_list, as_object, as_text
from shipmate.protocol import ApprovalRequest, ArgumentsDetail, AskUser
from shipmate.tools.tool import Desk

ACCEPT, DECLINE = "Accept", "Decline"
PROGRESS = 20
"""Words of progress that are shown in one second."""
MOST_ASKED = 20
"""Questions to the user and requests to the model that one call may make."""
_SHOWN = 4_000
"""Characters of what a server wants to ask that are shown in a question."""
_FIELD = 500
"""Characters of what it says of one field, and of each choice."""
_MOST_CHOICES = 100
_LINE = re.compile(r"[\n\r\v\f\x85\u2028\u2029]+")


@dataclass(slots=True, eq=False)
class Running:
    """A call that runs."""

    id: str
    root: Path
    desk: Desk | None
    agent: str
    clock: asyncio.Timeout | None = None
    limit: float = 60.0
    asked: int = 0
    waiting: int = 0
    """Of those, what waits for a person now."""
    refused: str = ""
    """Why nobody signed in, where the call wanted more rights."""
    second: float = 0.0
    """When the second began in which `told` counts."""
    told: int = 0

    def tells(self) -> bool:
        """Whether progress may be shown again: a flood of it is thinned out."""
        now = asyncio.get_running_loop().time()
        if now - self.second > 1:
            self.second, self.told = now, 0
        self.told += 1
        return self.told <= PROGRESS

    def may_ask(self) -> bool:
        """Whether the call may ask once more: a flood of questions is not passed on."""
        self.asked += 1
        return self.asked <= MOST_ASKED

    def pause(self) -> None:
        """A person is asked: that takes as long as it takes."""
        self.waiting += 1
        if self.clock is not None:
            self.clock.reschedule(None)

    def go_on(self) -> None:
        self.waiting -= 1
        if self.clock is not None and not self.waiting:
            self.clock.reschedule(asyncio.get_running_loop().time() + self.limit)


current: ContextVar[Running | None] = ContextVar("current", default=None)


async def elicit(
    server: str, running: Running | None, params: types.ElicitRequestParams
) -> types.ElicitResult:
    """Ask the user, field by field."""
    if running is None or running.desk is None:
        return types.ElicitResult(action="decline")
    if isinstance(params, types.ElicitRequestURLParams):
        if not params.url.startswith(("https://", "http://")):
            return types.ElicitResult(action="decline")
        said = f"{params.message[:_SHOWN]}\n{params.url[:_SHOWN]}"
        text = f"{_quoted(server, said)}\nOpen the address yourself, if you know where it leads."
        return await _agreed(running, text, None)
    fields = _fields(params.requested_schema)
    if not fields:
        return await _agreed(running, _quoted(server, params.message[:_SHOWN]), {})
    content: dict[str, Any] = {}
    for one in fields:
        answer = await _ask_field(server, running, params.message, one)
        value = _value(answer, one.schema) if answer is not None else None
        if answer in (None, DECLINE) or (value is None and one.required):
            return types.ElicitResult(action="cancel" if answer is None else "decline")
        if value is not None:
            content[one.name] = value
    return types.ElicitResult(action="accept", content=content)


def _quoted(server: str, words: str) -> str:
    """A server's words, each line marked as such: they can say nothing in shipmate's name."""
    head = f"{server}, an MCP server, asks. It is sent what you answer: no passwords, no keys."
    return "\n".join([head, *(f"> {line}" for line in _LINE.split(words))])


async def _agreed(
    running: Running, text: str, content: dict[str, Any] | None
) -> types.ElicitResult:
    answer = await _ask(running, text, (ACCEPT, DECLINE))
    if answer == ACCEPT:
        return types.ElicitResult(action="accept", content=content)
    return types.ElicitResult(action="cancel" if answer is None else "decline")


async def _ask_field(server: str, running: Running, message: str, one: "_Field") -> str | None:
    about = as_text(one.schema.get("description")) or as_text(one.schema.get("title"))
    optional = "" if one.required else " (optional)"
    kind = as_text(one.schema.get("type")) or "string"
    field = f"{one.name[:_FIELD]}{optional}: {about[:_FIELD]} [{kind[:_FIELD]}]"
    text = _quoted(server, f"{message[:_SHOWN]}\n{field}")
    choices = _choices(one.schema)
    usual = _usual(one.schema)
    if usual:
        choices = tuple(dict.fromkeys((usual, *choices)))
    if kind == "array":
        return await _ask(running, text, choices, multiple=True)
    return await _ask(running, text, (*choices, DECLINE), freeform=not _choices(one.schema))


async def _ask(
    running: Running,
    text: str,
    options: tuple[str, ...],
    *,
    freeform: bool = False,
    multiple: bool = False,
) -> str | None:
    """The answer; None when it was closed without one."""
    assert running.desk is not None  # noqa: S101 - looked at before
    if not running.may_ask():
        return None
    question = AskUser(
        id=f"{running.id}-asked-{running.asked}",
        call=running.id,
        question=text,
        options=options,
        multiple=multiple,
        allow_freeform=freeform,
        agent=running.agent,
    )
    running.pause()
    try:
        answered = await running.desk.ask(question)
    finally:
        running.go_on()
    if not isinstance(answered, AskUser) or answered.cancelled:
        return None
    return answered.result if isinstance(answered.result, str) else None


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    schema: dict[str, Any]
    required: bool


def _fields(schema: Any) -> list[_Field]:
    found = as_object(schema)
    required = as_list(found.get("required"))
    properties = as_object(found.get("properties"))
    return [_Field(name, as_object(one), name in required) for name, one in properties.items()]


def _usual(schema: dict[str, Any]) -> str:
    """What the server would take where the user has no wish of their own; the first choice."""
    value = schema.get("default")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else ""


def _choices(schema: dict[str, Any]) -> tuple[str, ...]:
    """The values one can choose of: an enumeration, in any of the forms the protocol has."""
    if schema.get("type") == "boolean":
        return ("true", "false")
    found = as_object(schema.get("items")) if schema.get("type") == "array" else schema
    titled = as_list(found.get("oneOf")) or as_list(found.get("anyOf"))
    values = as_list(found.get("enum")) or [as_object(one).get("const") for one in titled]
    texts = (value for value in values if isinstance(value, str) and len(value) <= _FIELD)
    return tuple(islice(texts, _MOST_CHOICES))


def _value(answer: str, schema: dict[str, Any]) -> Any:
    """What an answer says as the field wants it; None when it does not."""
    text = answer.strip()
    match schema.get("type"):
        case "boolean":
            return {"true": True, "yes": True, "false": False, "no": False}.get(text.lower())
        case "integer" | "number" as kind:
            try:
                number = msgspec.json.decode(text.encode(), type=float)
            except msgspec.DecodeError:
                return None
            return int(number) if kind == "integer" or number.is_integer() else number
        case "array":
            chosen = [part.strip() for part in text.replace("\n", ",").split(",")]
            return [part for part in chosen if part]
        case _:
            return text or None


async def sample(
    server: str, running: Running | None, params: types.CreateMessageRequestParams
) -> types.CreateMessageResult | types.ErrorData:
    """Have the session's model answer a server, if the user says so."""
    if running is None or running.desk is None:
        return types.ErrorData(code=types.INVALID_REQUEST, message="No call runs to sample for.")
    if not running.may_ask():
        return types.ErrorData(code=-1, message=f"One call may ask {MOST_ASKED} times.")
    messages = _messages(params)
    shown = {
        "server": server,
        "system_prompt": params.system_prompt or "",
        "messages": [f"{m.role}: {m.text}" for m in messages],
        "max_tokens": params.max_tokens,
    }
    request = ApprovalRequest(
        id=f"{running.id}-asked-{running.asked}",
        call=running.id,
        title=f"{server} wants the model to answer",
        reason="The server sends text of its own to the model, at your cost, and reads the answer.",
        details=ArgumentsDetail(arguments=shown),
        digest="",
        agent=running.agent,
    )
    running.pause()
    try:
        decided = await running.desk.ask(request)
        if not isinstance(decided, ApprovalRequest) or decided.result is not True:
            return types.ErrorData(code=-1, message="The user rejected the request.")
        text, model = await running.desk.sample(params.system_prompt or "", messages)
    finally:
        running.go_on()
    return types.CreateMessageResult(
        role="assistant",
        content=types.TextContent(type="text", text=text),
        model=model,
        stop_reason="endTurn",
    )


def _messages(params: types.CreateMessageRequestParams) -> list[ChatMessage]:
    made: list[ChatMessage] = []
    for message in params.messages:
        texts = [
            part.text if isinstance(part, types.TextContent) else f"[{part.type}, left out]"
            for part in message.content_as_list
        ]
        made.append(ChatMessage(message.role, "\n".join(texts)))
    return made

"""An Anthropic for tests: answers 400 where the real one does, in its words, signs what it thinks,
and counts what its cache would hit.

Its rules, as its documentation and its refusals tell them.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from tests.deepseek import Thought
from tests.provider import Answer, Provider, error_reply

FIELDS = {
    "model", "max_tokens", "stream", "system", "messages", "tools", "thinking", "output_config",
    "tool_choice", "metadata", "stop_sequences", "temperature", "top_p", "top_k",
}  # fmt: skip
MOST = 64_000
"""Tokens of a reply."""
ID = re.compile(r"[a-zA-Z0-9_-]+")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
THINKING = ("thinking", "redacted_thinking")


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def start(**usage: int | None) -> bytes:
    counted = {"input_tokens": 10, "output_tokens": 1, **usage}
    empty: list[Any] = []
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": empty}
    return event("message_start", message={**message, "stop_reason": None, "usage": counted})


def block(at: int, content: Mapping[str, Any], *deltas: Mapping[str, Any]) -> bytes:
    """A block with its pieces."""
    pieces = [event("content_block_delta", index=at, delta=delta) for delta in deltas]
    begun = event("content_block_start", index=at, content_block=content)
    return begun + b"".join(pieces) + event("content_block_stop", index=at)


def text(at: int, *texts: str) -> bytes:
    pieces = [{"type": "text_delta", "text": one} for one in texts]
    return block(at, {"type": "text", "text": ""}, *pieces)


def call(at: int, name: str, *pieces: str, id: str = "") -> bytes:
    """A call whose arguments come in pieces of JSON."""
    empty: dict[str, Any] = {}
    begun = {"type": "tool_use", "id": id or f"toolu_{at}", "name": name, "input": empty}
    return block(at, begun, *({"type": "input_json_delta", "partial_json": p} for p in pieces))


def thinking(at: int, thought: str, signature: str) -> bytes:
    return block(
        at,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": thought},
        {"type": "signature_delta", "signature": signature},
    )


def end(reason: str = "end_turn", **usage: int) -> bytes:
    counted = {"output_tokens": 5, **usage}
    told = event("message_delta", delta={"stop_reason": reason}, usage=counted)
    return told + event("message_stop")


def text_reply(*texts: str) -> bytes:
    return start() + event("ping") + text(0, *texts) + end()


def call_reply(*calls: tuple[str, Mapping[str, Any]], said: str = "") -> bytes:
    made = [call(at, name, json.dumps(given)) for at, (name, given) in enumerate(calls, 1)]
    return start() + (text(0, said) if said else b"") + b"".join(made) + end("tool_use")


def signature(thought: str) -> str:
    return "sig-" + hashlib.sha256(thought.encode()).hexdigest()[:12]


class Anthropic(Provider):
    """Plays `script`, and then says "ok"; `refused` are its own refusals. `binds`: a thought is
    taken back only after what was before it."""

    def __init__(self, *script: Thought, binds: bool = False) -> None:
        super().__init__()
        self.models = {
            "data": [
                {"type": "model", "id": "m", "display_name": "M", "max_input_tokens": 200_000}
            ],
            "has_more": False,
        }
        self.script = list(script)
        self.refused: list[str] = []
        self.binds = binds
        self._bound: dict[str, str] = {}
        """What was before a thought, by its signature."""
        self._cached: set[str] = set()

    def check(self, body: dict[str, Any]) -> list[str]:
        return list(broken(body))

    def ok(self) -> bytes:
        return text_reply("ok")

    def take(self, raw: bytes) -> Answer:
        body = json.loads(raw)
        with self.lock:
            for at, answer in enumerate(self.queued):
                if answer.when.encode() in raw:
                    return self.queued.pop(at)
            reason = next(broken(body), "") or self._signed(body)
            if reason:
                self.refused.append(reason)
                return refusal(reason)
            fits = (at for at, one in enumerate(self.script) if one.when.encode() in raw)
            at = next(fits, None)
            said = Thought(text="ok") if at is None else self.script.pop(at)
            return Answer(self._answer(body, said))

    def _signed(self, body: Mapping[str, Any]) -> str:
        """Thoughts come back as they were given."""
        for at, message in enumerate(body["messages"]):
            for place, one in enumerate(message["content"]):
                if one["type"] != "thinking":
                    continue
                where = f"messages.{at}.content.{place}"
                if one["signature"] != signature(one["thinking"]):
                    return f"{where}: Invalid `signature` in `thinking` block"
                before = self._bound.get(one["signature"])
                if self.binds and before != _shape({**body, "messages": body["messages"][:at]}):
                    return (
                        f"{where}: this `thinking` block does not follow what it was made after; "
                        "set thinking.block_binding.prefix_mismatch_behavior"
                    )
        return ""

    def _answer(self, body: Mapping[str, Any], said: Thought) -> bytes:
        made: list[bytes] = []
        if said.reasoning and body.get("thinking", {}).get("type") in ("enabled", "adaptive"):
            mark = signature(said.reasoning)
            self._bound[mark] = _shape(body)
            made.append(thinking(0, said.reasoning, mark))
            made.append(block(1, {"type": "redacted_thinking", "data": "hidden"}))
        if said.text:
            made.append(text(len(made), said.text))
        made += [call(n, *_made(one)) for n, one in enumerate(said.calls, len(made))]
        return (
            start(**self._counted(body))
            + b"".join(made)
            + end("tool_use" if said.calls else "end_turn")
        )

    def _counted(self, body: Mapping[str, Any]) -> dict[str, int]:
        """What the cache gives and takes: prefixes that end where it was told to keep."""
        prefixes = [json.dumps(one) for one in _kept(body)]
        total = len(json.dumps([body.get("tools"), body.get("system"), body["messages"]])) // 4
        read = max((len(p) // 4 for p in prefixes if p in self._cached), default=0)
        most = max((len(p) // 4 for p in prefixes), default=0)
        self._cached |= set(prefixes)
        written = max(0, most - read)
        return {
            "input_tokens": max(0, total - read - written),
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
        }


def refusal(reason: str, status: int = 400, kind: str = "invalid_request_error") -> Answer:
    body = {"type": "error", "error": {"type": kind, "message": reason}, "request_id": "req_1"}
    return Answer(json.dumps(body).encode(), status, "application/json")


def error(status: int, message: str = "no", **options: Any) -> Answer:
    answer = error_reply(status, message, **options)
    kinds = {429: "rate_limit_error", 529: "overloaded_error", 500: "api_error"}
    kind = kinds.get(status, "invalid_request_error")
    return Answer(refusal(message, status, kind).body, status, "application/json", answer.headers)


def broken(body: Mapping[str, Any]) -> Iterator[str]:
    """The rules that a request breaks, in the words of the API; the first is what it answers."""
    yield from (f"{name}: Extra inputs are not permitted" for name in body if name not in FIELDS)
    if not isinstance(body.get("max_tokens"), int):
        yield "max_tokens: Field required"
        return
    if body["max_tokens"] > MOST:
        yield (
            f"max_tokens: {body['max_tokens']} > {MOST}, which is the maximum allowed number of "
            f"output tokens for {body['model']}"
        )
    yield from _tools(body.get("tools"))
    yield from _system(body.get("system", []))
    yield from _thinks(body)
    yield from _messages(body.get("messages") or [])
    marked = json.dumps(body).count('"cache_control"')
    if marked > 4:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {marked}."


def _tools(tools: Any) -> Iterator[str]:
    if tools == []:
        yield "tools: List should have at least 1 item"
    names = [tool["name"] for tool in tools or ()]
    if len(set(names)) < len(names):
        yield "tools: Tool names must be unique."
    for at, tool in enumerate(tools or ()):
        if not NAME.fullmatch(tool["name"]):
            yield f"tools.{at}.custom.name: String should match pattern '{NAME.pattern}'"
        schema = tool.get("input_schema", {})
        if schema.get("type") != "object":
            yield f"tools.{at}.custom.input_schema.type: Field required"
        if {"anyOf", "oneOf", "allOf"} & set(schema):
            yield (
                f"tools.{at}.custom.input_schema: input_schema does not support oneOf, allOf, or "
                "anyOf at the top level"
            )


def _system(blocks: Any) -> Iterator[str]:
    if any(not one["text"].strip() for one in blocks):
        yield "system: text content blocks must be non-empty"


def _thinks(body: Mapping[str, Any]) -> Iterator[str]:
    asked = body.get("thinking", {"type": "disabled"})
    if asked["type"] == "enabled":
        if asked.get("budget_tokens", 0) < 1024:
            yield "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
        if asked.get("budget_tokens", 0) >= body["max_tokens"]:
            yield "`max_tokens` must be greater than `thinking.budget_tokens`"
        said = [m for m in body.get("messages", ()) if m["role"] == "assistant"]
        first = said[-1]["content"][0]["type"] if said else "thinking"
        goes_on = body["messages"][-1]["content"][0]["type"] == "tool_result"
        if goes_on and first not in THINKING:
            yield (
                f"messages.{len(body['messages']) - 2}.content.0.type: Expected `thinking` or "
                f"`redacted_thinking`, but found `{first}`. When `thinking` is enabled, a final "
                "`assistant` message must start with a thinking block"
            )
    elif asked["type"] not in ("adaptive", "disabled", "between_tools"):
        yield f"thinking: Input tag '{asked['type']}' does not match any of the expected tags"


def _messages(messages: Any) -> Iterator[str]:
    if not messages:
        yield "messages: at least one message is required"
        return
    if messages[0]["role"] != "user":
        yield 'messages: first message must use the "user" role'
    if messages[-1]["role"] == "assistant":
        yield (
            "This model does not support assistant message prefill. "
            "The conversation must end with a user message."
        )
    seen: set[str] = set()
    opened: list[str] = []
    before = ""
    for at, message in enumerate(messages):
        if message["role"] not in ("user", "assistant"):
            yield f'messages: Unexpected role "{message["role"]}"'
        if message["role"] == before:
            yield (
                'messages: roles must alternate between "user" and "assistant", but found multiple '
                f'"{before}" roles in a row'
            )
        before = message["role"]
        yield from _content(at, message["content"])
        yield from _results(at, message["content"], opened)
        opened = [one["id"] for one in message["content"] if one["type"] == "tool_use"]
        if seen & set(opened) or len(set(opened)) < len(opened):
            yield f"messages.{at}.content: `tool_use` ids must be unique"
        seen |= set(opened)


def _results(at: int, content: Any, opened: list[str]) -> Iterator[str]:
    """Results stand first, for all calls of the message before."""
    given = [one["tool_use_id"] for one in content if one["type"] == "tool_result"]
    first = [one.get("tool_use_id") for one in content[: len(given)]]
    missing = [one for one in opened if one not in first]
    if missing:
        yield (
            f"messages.{at - 1}: `tool_use` ids were found without `tool_result` blocks "
            f"immediately after: {', '.join(missing)}. Each `tool_use` block must have a "
            "corresponding `tool_result` block in the next message."
        )
    for one in given:
        if one not in opened or given.count(one) > 1:
            yield f"messages.{at}.content: unexpected `tool_use_id` found in `tool_result`: {one}"


def _content(at: int, content: Any) -> Iterator[str]:
    if not content:
        yield (
            f"messages.{at}: all messages must have non-empty content except for the optional "
            "final assistant message"
        )
    for place, one in enumerate(content):
        where = f"messages.{at}.content.{place}"
        match one["type"]:
            case "text":
                yield from _text(one["text"])
            case "tool_use":
                yield from _use(f"{where}.tool_use", one)
            case "thinking" | "redacted_thinking":
                if "cache_control" in one:
                    yield f"{where}.thinking.cache_control: Extra inputs are not permitted"
            case "image" | "tool_result":
                pass
            case _:
                yield f"{where}: Input tag '{one['type']}' found"


def _text(said: str) -> Iterator[str]:
    if not said:
        yield "messages: text content blocks must be non-empty"
    elif not said.strip():
        yield "messages: text content blocks must contain non-whitespace text"


def _use(where: str, one: Mapping[str, Any]) -> Iterator[str]:
    if not ID.fullmatch(one["id"]):
        yield f"{where}.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
    if not isinstance(one["input"], dict):
        yield f"{where}.input: Input should be a valid dictionary"
    if not NAME.fullmatch(one["name"]):
        yield f"{where}.name: String should match pattern '{NAME.pattern}'"


def _made(one: tuple[str, Mapping[str, Any]]) -> tuple[str, str]:
    return one[0], json.dumps(one[1])


def _plain(value: Any) -> Any:
    """A value without the marks for the cache."""
    if isinstance(value, list):
        return [_plain(one) for one in cast("list[Any]", value)]
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {k: _plain(v) for k, v in fields.items() if k != "cache_control"}
    return value


def _shape(body: Mapping[str, Any]) -> str:
    return json.dumps(_plain([body.get("tools"), body.get("system"), body["messages"]]))


def _kept(body: Mapping[str, Any]) -> Iterator[Any]:
    """What stands before each mark."""
    flat: list[Any] = [*(body.get("tools") or ()), *(body.get("system") or ())]
    flat += [[m["role"], one] for m in body["messages"] for one in m["content"]]
    for at, one in enumerate(flat, 1):
        if "cache_control" in (one if isinstance(one, dict) else one[1]):
            yield _plain(flat[:at])

"""A Gemini for tests: answers 400 where the real one does, in its words, and signs its calls.

Its rules, as its documentation and its refusals tell them.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.anthropic import signature
from tests.deepseek import Thought
from tests.provider import Answer, Provider, error_reply

FIELDS = {"contents", "systemInstruction", "tools", "generationConfig", "safetySettings"}
CONFIG = {"maxOutputTokens", "thinkingConfig", "temperature", "topP", "topK", "stopSequences"}
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
UNSIGNED = "skip_thought_signature_validator"


def chunk(*parts: Mapping[str, Any], finish: str = "", **usage: int) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": list(parts)}}
    if finish:
        candidate["finishReason"] = finish
    counted = {"promptTokenCount": 10, "candidatesTokenCount": 1, **usage}
    return {"candidates": [candidate], "usageMetadata": counted, "modelVersion": "m"}


def stream(*chunks: Mapping[str, Any]) -> bytes:
    return b"".join(b"data: " + json.dumps(one).encode() + b"\r\n\r\n" for one in chunks)


def made(name: str, given: Any, mark: str = "") -> dict[str, Any]:
    """A part that is a call."""
    return {"functionCall": {"name": name, "args": given}} | (
        {"thoughtSignature": mark} if mark else {}
    )


def text_reply(*texts: str) -> bytes:
    return stream(*(chunk({"text": one}) for one in texts), chunk({"text": ""}, finish="STOP"))


def call_reply(*calls: tuple[str, Mapping[str, Any]], said: str = "") -> bytes:
    spoken = [chunk({"text": said})] if said else []
    parts = [made(name, given) for name, given in calls]
    return stream(*spoken, chunk(*parts, finish="STOP"))


class Gemini(Provider):
    """Plays `script`, and then says "ok"; `refused` are its own refusals."""

    def __init__(self, *script: Thought) -> None:
        super().__init__()
        self.models = {
            "models": [
                {
                    "name": "models/m",
                    "displayName": "M",
                    "inputTokenLimit": 1_048_576,
                    "supportedGenerationMethods": ["generateContent", "countTokens"],
                },
                {"name": "models/e", "supportedGenerationMethods": ["embedContent"]},
            ]
        }
        self.script = list(script)
        self.refused: list[str] = []
        self.given: set[str] = {UNSIGNED}
        """Every signature it ever gave."""

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
                return error(400, reason)
            fits = (at for at, one in enumerate(self.script) if one.when.encode() in raw)
            at = next(fits, None)
            said = Thought(text="ok") if at is None else self.script.pop(at)
            return Answer(self._answer(len(raw) // 4, said))

    def _signed(self, body: Mapping[str, Any]) -> str:
        for at, part in _parts(body):
            if part.get("thoughtSignature", UNSIGNED) not in self.given:
                return f"Corrupted thought signature in content block {at}"
        return ""

    def _answer(self, tokens: int, said: Thought) -> bytes:
        mark = signature(said.reasoning or said.text or "x")
        self.given.add(mark)
        chunks: list[dict[str, Any]] = []
        if said.reasoning:
            chunks.append(chunk({"text": said.reasoning, "thought": True}, thoughtsTokenCount=7))
        if said.text:
            chunks.append(chunk({"text": said.text}))
        for n, (name, given) in enumerate(said.calls):
            chunks.append(chunk(made(name, given, "" if n else mark)))
        last = {} if said.calls else {"thoughtSignature": mark}
        counted = {"promptTokenCount": tokens, "cachedContentTokenCount": 4}
        end = chunk({"text": "", **last}, finish="STOP", **counted)
        return stream(*chunks, end)


def error(status: int, message: str = "no", **options: Any) -> Answer:
    words = {400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 429: "RESOURCE_EXHAUSTED"}
    said = {"code": status, "message": message, "status": words.get(status, "UNAVAILABLE")}
    headers = error_reply(status, message, **options).headers
    return Answer(json.dumps({"error": said}).encode(), status, "application/json", headers)


def _parts(body: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for at, content in enumerate(body["contents"]):
        yield from ((at, part) for part in content["parts"])


def broken(body: Mapping[str, Any]) -> Iterator[str]:
    """The rules that a request breaks, in the words of the API; the first is what it answers."""
    for name in (*(set(body) - FIELDS), *(set(body.get("generationConfig", ())) - CONFIG)):
        yield f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
    if not body.get("contents"):
        yield "contents is not specified"
        return
    for tool in body.get("tools", ()):
        yield from _declared(tool["functionDeclarations"])
    yield from _turns(body["contents"])
    yield from _signatures(body["contents"])


def _declared(functions: Any) -> Iterator[str]:
    names = [one["name"] for one in functions]
    for name in names:
        if not NAME.fullmatch(name):
            yield f"Invalid function name {name}. Must start with a letter or an underscore."
        if names.count(name) > 1:
            yield f"Duplicate function declaration found: {name}"


def _turns(contents: Any) -> Iterator[str]:
    """Answers stand directly after their calls, and are as many."""
    if contents[0]["role"] != "user" or _kinds(contents[0], "functionResponse"):
        yield "Please ensure that the conversation begins with a user turn."
    if contents[-1]["role"] == "model":
        yield "Please ensure that the conversation ends with a user turn."
    opened: list[str] = []
    for at, content in enumerate(contents):
        if content["role"] not in ("user", "model"):
            yield "Please use a valid role: user, model."
        yield from _content(f"contents[{at}]", content)
        answers = [one["name"] for one in _kinds(content, "functionResponse")]
        if sorted(answers) != sorted(opened):
            yield (
                "Please ensure that the number of function response parts is equal to the number "
                "of function call parts of the function call turn."
            )
        opened = [one["name"] for one in _kinds(content, "functionCall")]


def _content(where: str, content: Any) -> Iterator[str]:
    if not content["parts"]:
        yield f"{where}.parts must not be empty"
    for part in content["parts"]:
        if not ({"text", "inlineData", "functionCall", "functionResponse"} & set(part)):
            yield f"{where}.parts: required oneof field 'data' must have one initialized field"
    for one in _kinds(content, "functionCall"):
        if not isinstance(one["args"], dict):
            yield f"{where}: Invalid value at 'args'"


def _signatures(contents: Any) -> Iterator[str]:
    """In the turn that goes on, the first call of each step is signed."""
    asked = [
        at
        for at, content in enumerate(contents)
        if content["role"] == "user" and not _kinds(content, "functionResponse")
    ]
    for at, content in enumerate(contents):
        calls = [part for part in content["parts"] if "functionCall" in part]
        if calls and at > (asked or [0])[-1] and not calls[0].get("thoughtSignature"):
            name = calls[0]["functionCall"]["name"]
            yield (
                f"Function call `{name}` in the `{at}.` content block is missing a "
                "`thought_signature`."
            )


def _kinds(content: Mapping[str, Any], kind: str) -> list[Any]:
    return [part[kind] for part in content["parts"] if kind in part]

"""The streams that protocol.md shows are what a server sends."""

import json
import re
import urllib.request
from collections.abc import Iterable, Sequence
from typing import Any, get_args

import msgspec
import pytest

from shipmate.protocol import AnyEvent, Block
from tests.docs.pages import Example, of
from tests.docs.shell import Reader
from tests.provider import Answer, call_reply, chunk, sse, text_reply

FRAME, ASKS, GOES_ON = of("sse")
MODEL = "openai/gpt-4o"
TYPES = {kind.__struct_config__.tag: kind for kind in get_args(AnyEvent)}
Event = dict[str, Any]


def shown(example: Example) -> list[Event]:
    return [json.loads(data) for data in re.findall(r"^data: (.*)$", example.text, re.MULTILINE)]


@pytest.mark.parametrize("example", of("sse"), ids=str)
def test_each_event_that_is_shown_has_the_fields_of_its_type(example: Example) -> None:
    events = shown(example)
    assert events
    for event in events:
        kind = TYPES[event["type"]]
        fields = {f.encode_name: f for f in msgspec.structs.fields(kind)}
        assert set(event) <= {"type", *fields}, event
        for name in set(event) - {"type", "row"}:
            msgspec.convert(event[name], fields[name].type)


def test_a_frame_has_the_lines_that_are_shown(someone: Reader) -> None:
    body = {"project": "my-mod", "provider": MODEL, "task": "Hi"}
    stream = _posted(someone, body)
    [frame] = [f for f in stream.split("\n\n") if "\nevent: user\n" in f]
    for text in (FRAME.text.rstrip("\n"), frame):
        number, name, data = text.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert re.fullmatch(rf"id: [^-\s]+-{event['seq']}", number)
        assert name == f"event: {event['type']}"
        assert {"session", "id", "pos", "seq", "text"} <= set(event)
    kept = set(re.findall(r"^id: .*\nevent: (.*)$", stream, re.MULTILINE))
    assert kept == {"user", "message"}
    assert all(issubclass(TYPES[name], Block) for name in kept)


def test_the_round_that_is_shown_is_one_that_happens(someone: Reader) -> None:
    written = call_reply(("write_file", {"path": "hello.txt", "content": "Hello\n"}))
    said = sse(chunk({"content": "I'll write"}), chunk({"content": " it."}), done=False)
    for answer in (said + written, text_reply("Done.")):
        someone.provider.queue(Answer(answer, when='"tools"'))  # not for the title
    task = shown(ASKS)[1]["text"]
    asked = _events(_posted(someone, {"project": "my-mod", "provider": MODEL, "task": task}))
    names: dict[str, str] = {}
    _match(_told(shown(ASKS)), _told(asked), names)
    _match(_told(shown(GOES_ON)), _told(_approved(someone, asked)), names)


def _posted(someone: Reader, body: Event) -> str:
    bearer = {"Authorization": f"Bearer {someone.server.token}"}
    status, _, content = someone.server.request("POST", "/api/agent/chat/stream", body, **bearer)
    assert status == 200, content
    return content.decode()


def _events(stream: str) -> list[Event]:
    return [json.loads(data) for data in re.findall(r"^data: (.*)$", stream, re.MULTILINE)]


def _approved(someone: Reader, asked: list[Event]) -> list[Event]:
    """What comes after the approval, by a signed-in browser, to a client that follows already;
    without the state that such a stream begins with."""
    session = asked[0]["row"]["id"]
    after = max(event.get("seq", 0) for event in asked)
    halves = _sign_in(someone)
    url = f"{someone.server.url}/api/agent/sessions/{session}/events?after={after}"
    found: list[Event] = []
    with urllib.request.urlopen(urllib.request.Request(url, headers=halves), timeout=20) as stream:
        lines: Iterable[bytes] = stream
        for line in lines:
            if not line.startswith(b"data: "):
                continue
            if not found:
                body = {"session": session, "approved": True}
                status, _, said = someone.server.request(
                    "POST", "/api/agent/approval", body, **halves
                )
                assert status == 200, said
            found.append(json.loads(line.removeprefix(b"data: ")))
            if found[-1].get("finished"):
                break
    return [event for event in found if event["type"] not in {"session", "queue"}]


def _sign_in(someone: Reader) -> dict[str, str]:
    token = someone.server.token_url.partition("#token=")[2]
    _, headers, body = someone.server.request("POST", "/api/auth/exchange", {"token": token})
    cookie = headers["set-cookie"].partition(";")[0]
    return {"Cookie": cookie, "X-Shipmate-Token": json.loads(body)["token"]}


def _told(events: Sequence[Event]) -> list[Event]:
    """Without rows but for one at the beginning, and the pieces of a text as one."""
    told: list[Event] = []
    for event in events:
        if event["type"] == "delta" and told[-1]["type"] == "delta":
            before = told[-1]
            assert event["offset"] == before["offset"] + len(before["text"])
            told[-1] = {**before, "text": before["text"] + event["text"]}
        elif event["type"] != "session" or event is events[0]:
            told.append(event)
    return told


def _match(ours: list[Event], theirs: list[Event], names: dict[str, str]) -> None:
    """The same types in the same order; all that is shown is there, ids by another name."""
    assert [e["type"] for e in ours] == [e["type"] for e in theirs]
    for shown_one, live in zip(ours, theirs, strict=True):
        for name in set(shown_one) - {"row"}:
            if name in {"id", "message", "call"}:
                assert names.setdefault(shown_one[name], live[name]) == live[name]
            else:
                assert shown_one[name] == live[name], (name, shown_one, live)

"""A client that reads server-sent events, frugal enough to follow a hundred sessions."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import msgspec


class Row(msgspec.Struct):
    id: str = ""


class Event(msgspec.Struct):
    type: str
    text: str = ""
    row: Row | None = None
    finished: bool = False
    reason: str = ""
    error: str = ""


decode = msgspec.json.Decoder(Event).decode


@dataclass(slots=True)
class Heard:
    """What one request brought. Times are microseconds of the monotonic clock."""

    posted: int = 0
    first: int = 0
    """When the first `delta` came."""
    ended: int = 0
    session: str = ""
    texts: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    delta_bytes: int = 0
    done: Event | None = None

    @property
    def text(self) -> str:
        return "".join(text for _, text in self.texts)

    def latencies(self) -> list[float]:
        """Milliseconds from the provider's write to here, of tokens that are times."""
        return [(at - int(word)) / 1000 for at, text in self.texts for word in text.split()]


@dataclass(frozen=True, slots=True)
class Target:
    """A server to ask: the relay or the product."""

    url: str
    path: str = "/"
    headers: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    """Of each body."""
    model_field: str = "model"
    model_prefix: str = ""
    new_field: str = "message"
    """The field of a first message."""

    def body(self, model: str, message: str, session: str) -> bytes:
        if session:
            return msgspec.json.encode({"session": session, "message": message})
        fields = {self.model_field: self.model_prefix + model, self.new_field: message}
        return msgspec.json.encode({**dict(self.fields), **fields})


def now() -> int:
    return time.monotonic_ns() // 1000


async def open_to(target: Target) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    url = urlsplit(target.url)
    return await asyncio.open_connection(url.hostname, url.port, limit=1 << 20)


def request(target: Target, method: str, path: str, body: bytes = b"") -> bytes:
    lines = f"{method} {path} HTTP/1.1\r\nHost: {urlsplit(target.url).netloc}\r\n{target.headers}"
    if body:
        lines += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{lines}Connection: close\r\n\r\n".encode() + body


async def get(target: Target, path: str) -> tuple[int, bytes]:
    """Status, and all that was sent after the head."""
    reader, writer = await open_to(target)
    writer.write(request(target, "GET", path))
    head = await reader.readuntil(b"\r\n\r\n")
    body = await reader.read()
    writer.close()
    return int(head.split()[1]), body


async def bodies(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The chunks of a chunked body."""
    while size := int(await reader.readline() or b"0", 16):
        yield await reader.readexactly(size)
        await reader.readexactly(2)


async def listen(target: Target, model: str, session: str = "", message: str = "go") -> Heard:
    """Send a message and follow the answer to `done`."""
    heard = Heard(session=session)
    reader, writer = await open_to(target)
    heard.posted = now()
    writer.write(request(target, "POST", target.path, target.body(model, message, session)))
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in head.partition(b"\r\n")[0]:
        raise SystemExit(f"{target.url}{target.path}: {(head + await reader.read()).decode()}")
    rest = b""
    async for chunk in bodies(reader):
        at = now()
        *events, rest = (rest + chunk).split(b"\n\n")
        for event in events:
            note(heard, event, at)
        if heard.done:
            break
    writer.close()
    if heard.done is None:
        raise SystemExit(f"the stream of {model} ended without `done`")
    if not heard.done.finished:
        raise SystemExit(f"{model} was not finished: {heard.done}")
    return heard


def note(heard: Heard, raw: bytes, at: int) -> None:
    event = decode(raw[raw.index(b"data: ") + 6 :])
    if event.type == "delta":
        heard.first = heard.first or at
        heard.texts.append((at, event.text))
        heard.delta_bytes += len(raw) + 2
    elif event.type == "message":
        rest = event.text[len(heard.text) :]
        if rest:  # it was over before the stream could be joined
            heard.texts.append((at, rest))
            heard.delta_bytes += len(raw) + 2
    elif event.type == "session" and event.row:
        heard.session = event.row.id
    elif event.type == "done":
        heard.done, heard.ended = event, at


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def median(values: list[Any]) -> float:
    return percentile([float(value) for value in values], 0.5)

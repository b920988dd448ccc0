"""Our event stream: what is on the wire, and that its source is always closed."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from shipmate.handlers.stream import BUFFER, PART, EventStream, Frames, place_in, wire
from shipmate.protocol import SessionRow
from shipmate.session.hub import Frame
from tests.handlers.live import serving


def piece(data: bytes = b"{}") -> Frame:
    return Frame("retry", "s1", data)


class Source:
    """Frames from a queue; tells when its generator was closed."""

    def __init__(self) -> None:
        self.frames: asyncio.Queue[Frame | None] = asyncio.Queue()
        self.closed = asyncio.Event()
        self.given = 0

    async def __call__(self) -> AsyncGenerator[list[Frame]]:
        try:
            while (item := await self.frames.get()) is not None:
                self.given += 1
                yield [item]
        finally:
            await asyncio.sleep(0)  # closing may take a turn of the loop
            self.closed.set()


class Sent:
    """What the response sent; `hold` makes `send` wait, as a slow reader does."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.ended = False
        self.flow = asyncio.Event()
        self.flow.set()
        self.news = asyncio.Event()

    async def __call__(self, message: Message) -> None:
        await self.flow.wait()
        if message["type"] == "http.response.body":
            self.bodies.append(message["body"])
            self.ended = not message["more_body"]
            self.news.set()

    async def more(self) -> bytes:
        await self.news.wait()
        self.news.clear()
        return b"".join(self.bodies)


async def never() -> Message:
    return await asyncio.get_running_loop().create_future()


def respond(
    source: Frames, sent: Sent, receive: Receive = never, **options: Any
) -> asyncio.Task[None]:
    stream = EventStream("e1", source, asyncio.Event(), **options)
    return asyncio.ensure_future(stream({}, receive, sent))


def test_a_frame_on_the_wire_has_its_id_only_when_it_is_kept() -> None:
    kept = Frame("user", "s1", b"{}", 7)
    assert list(wire("e1", [kept])) == [b"id: e1.s1-7\nevent: user\ndata: {}\n\n"]
    assert list(wire("e1", [piece()])) == [b"event: retry\ndata: {}\n\n"]


def test_a_large_frame_is_sent_in_parts_and_is_whole() -> None:
    data = b"x" * 1_000_001
    parts = list(wire("e1", [piece(), piece(data), piece()]))
    assert max(map(len, parts)) <= 2 * PART
    small = b"event: retry\ndata: {}\n\n"
    assert b"".join(parts) == small + b"event: retry\ndata: " + data + b"\n\n" + small


@pytest.mark.parametrize(
    ("last_event_id", "after", "place"),
    [
        ("", None, 0),
        ("", 5, 5),
        ("", 10, 10),
        ("", 11, 0),
        ("e1.s1-5", None, 5),
        ("e1.s1-5", 9, 5),
        ("e1.s1-11", None, 0),
        ("e1.s2-5", None, 0),
        ("e0.s1-5", None, 0),
        ("e1.s1--5", None, 0),
        ("e1.s1-٣", None, 0),
        ("e1.s1-" + "9" * 5000, None, 0),
        ("5", None, 0),
        ("garbage", 5, 0),
    ],
)
def test_a_reader_resumes_only_from_a_place_of_this_session(
    last_event_id: str, after: int | None, place: int
) -> None:
    row = SessionRow(id="s1", agent="", provider="", project="", last_seq=10)
    assert place_in("e1", row, last_event_id, after) == place


async def test_what_waits_is_sent_in_one_piece() -> None:
    source, sent = Source(), Sent()
    for _ in range(50):
        source.frames.put_nowait(piece())
    source.frames.put_nowait(None)
    await respond(source(), sent)
    assert sent.bodies == [b"event: retry\ndata: {}\n\n" * 50, b""]
    assert sent.ended
    assert source.closed.is_set()


async def test_silence_is_broken_by_an_event() -> None:
    source, sent = Source(), Sent()
    task = respond(source(), sent, keep_alive=0.01)
    assert b'event: keep_alive\ndata: {"type":"keep_alive"}\n\n' in await sent.more()
    await sent.more()
    source.frames.put_nowait(None)
    await task


async def test_a_slow_reader_holds_a_bounded_amount() -> None:
    source, sent = Source(), Sent()
    task = respond(source(), sent)
    source.frames.put_nowait(piece())
    await sent.more()
    sent.flow.clear()
    for _ in range(1000):
        source.frames.put_nowait(piece(b"x" * 1000))
    size = piece(b"x" * 1000).size
    while source.given < BUFFER // (size + 100):
        await asyncio.sleep(0)
    for _ in range(100):
        await asyncio.sleep(0)
    assert source.given < 2 * BUFFER // size + 10  # what is being sent, and what waits
    source.frames.put_nowait(None)
    sent.flow.set()
    await task
    assert b"".join(sent.bodies).count(b"x" * 1000) == 1000


async def test_a_disconnect_while_everything_waits_closes_the_source() -> None:
    source, sent = Source(), Sent()
    gone = asyncio.Event()

    async def receive() -> Message:
        await gone.wait()
        return {"type": "http.disconnect"}

    task = respond(source(), sent, receive)
    source.frames.put_nowait(piece())
    await sent.more()
    sent.flow.clear()
    for _ in range(3):  # one that is being sent, two that are not even read
        source.frames.put_nowait(piece(b"x" * (BUFFER + 1)))
        for _ in range(10):
            await asyncio.sleep(0)
    assert source.frames.qsize() == 2
    gone.set()
    await task
    assert source.closed.is_set()


async def test_a_source_that_fails_ends_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    async def broken() -> AsyncGenerator[list[Frame]]:
        yield [piece()]
        raise OSError("disk")

    sent = Sent()
    await respond(broken(), sent)
    assert sent.ended
    assert "an event stream broke off" in caplog.text


async def test_a_client_of_a_real_server_that_stops_reading_and_leaves_frees_the_source() -> None:
    source = Source()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await EventStream("e1", source(), asyncio.Event())(scope, receive, send)

    async with serving(app) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"x-accel-buffering: no" in head
        assert b"cache-control: no-store" in head
        for _ in range(20_000):
            source.frames.put_nowait(piece(b"x" * 1000))
        while source.given < 1000:
            await asyncio.sleep(0)
        writer.transport.abort()
        async with asyncio.timeout(10):
            await source.closed.wait()
        assert source.given < 20_000


async def test_a_server_that_ends_ends_its_streams() -> None:
    source, sent, closing = Source(), Sent(), asyncio.Event()
    task = asyncio.ensure_future(EventStream("e1", source(), closing)({}, never, sent))
    source.frames.put_nowait(piece())
    await sent.more()
    closing.set()
    await task
    assert sent.ended
    assert source.closed.is_set()

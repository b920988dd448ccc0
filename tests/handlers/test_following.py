"""The stream through a real server: cuts, wrong places, several sessions, several tabs."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shipmate.llm.scripted import say
from shipmate.protocol import User
from tests.handlers.house import Whole, whole
from tests.handlers.live import serving

FRAME = re.compile(rb"(?:id: ([^\n]*)\n)?event: ([^\n]*)\ndata: ([^\n]*)\n\n")


class Reader:
    """One connection that reads a stream; `marks` are the ids it has seen, whole frames only."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._text = b""
        self.events: list[dict[str, Any]] = []
        self.marks: list[str] = []

    async def until(self, kind: str) -> dict[str, Any]:
        """Read on to the next event of that type."""
        seen = len(self.events)
        while True:
            for event in self.events[seen:]:
                seen += 1
                if event["type"] == kind:
                    return event
            await self.some()

    async def some(self, limit: int = 65536) -> None:
        part = await self._reader.read(limit)
        assert part, "the stream ended"
        # chunked encoding: sizes stand on lines of their own between the chunks
        self._text += re.sub(rb"\r\n[0-9a-f]+\r\n|^[0-9a-f]+\r\n|\r\n$", b"", part)
        end = 0
        for mark, kind, data in FRAME.findall(self._text):
            event = msgspec.json.decode(data)
            assert event["type"] == kind.decode()
            self.events.append(event)
            if mark:
                self.marks.append(mark.decode())
        for frame in FRAME.finditer(self._text):
            end = frame.end()
        self._text = self._text[end:]

    def cut(self) -> None:
        self._writer.transport.abort()


@asynccontextmanager
async def following(house: Whole, port: int, path: str, last: str = "") -> AsyncGenerator[Reader]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    head = (
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:8765\r\nAuthorization: Bearer {house.secret}\r\n"
    )
    head += f"Last-Event-ID: {last}\r\n" if last else ""
    writer.write(f"{head}\r\n".encode())
    answer = await reader.readuntil(b"\r\n\r\n")
    assert b" 200 " in answer.partition(b"\r\n")[0], answer
    made = Reader(reader, writer)
    try:
        yield made
    finally:
        made.cut()


async def make(house: Whole, *texts: str) -> str:
    row = await house.executor.create(agent="assistant", provider="scripted/demo", project="demo")
    for text in texts:
        await house.executor.door.record(row.id, User(text=text))
    return row.id


async def test_a_stream_that_is_cut_again_and_again_has_no_gap_and_no_duplicate(
    tmp_path: Path,
) -> None:
    async with whole(tmp_path) as house, serving(house.gate) as port:
        session = await make(house)
        path = f"/api/agent/sessions/{session}/events"
        seen: list[int] = []
        mark = ""
        for round_ in range(20):
            async with following(house, port, path, mark) as reader:
                await house.executor.door.record(session, User(text=f"{round_} a"))
                await reader.until("user")
                await house.executor.door.record(session, User(text=f"{round_} b"))
                seen += [e["seq"] for e in reader.events if "seq" in e]
                mark = reader.marks[-1]
        async with following(house, port, path, mark) as reader:
            await reader.until("session")
            seen += [e["seq"] for e in reader.events if "seq" in e]
    assert seen == list(range(1, 41))


@pytest.mark.parametrize("last", ["garbage", "x.y-1", "FOREIGN", "FUTURE", "-1", "9" * 5000])
async def test_a_place_that_is_none_replays_this_session_whole(tmp_path: Path, last: str) -> None:
    async with whole(tmp_path) as house, serving(house.gate) as port:
        mine, other = await make(house, "a", "b"), await make(house, "x", "y", "z")
        epoch = house.gate.house.epoch
        last = {"FOREIGN": f"{epoch}.{other}-2", "FUTURE": f"{epoch}.{mine}-99"}.get(last, last)
        path = f"/api/agent/sessions/{mine}/events"
        async with following(house, port, path, last) as reader:
            await reader.until("session")
            assert [e["text"] for e in reader.events if e["type"] == "user"] == ["a", "b"]


async def test_several_sessions_come_on_one_stream_each_from_its_place(tmp_path: Path) -> None:
    async with whole(tmp_path, [say("hello")]) as house, serving(house.gate) as port:
        one, two = await make(house, "a", "b"), await make(house, "c", "d")
        silent = await make(house)
        path = f"/api/agent/events?sessions={one}:1,{two}:0&rows=true"
        async with following(house, port, path) as reader:
            await house.executor.send(two, "go")
            await reader.until("done")
            await house.executor.update(silent, title="seen elsewhere")
            while reader.events[-1].get("row", {}).get("title") != "seen elsewhere":
                await reader.some()
            users = [(e["session"], e["text"]) for e in reader.events if e["type"] == "user"]
    assert users == [(one, "b"), (two, "c"), (two, "d"), (two, "go")]


async def test_ten_tabs_see_the_same(tmp_path: Path) -> None:
    text = "streamed text é 🙂 " * 40
    async with whole(tmp_path, [say(text)], pause=0.001) as house, serving(house.gate) as port:
        session = await make(house)

        async def tab() -> str:
            said = ""
            async with following(house, port, f"/api/agent/sessions/{session}/events") as reader:
                await reader.until("done")
                for event in reader.events:
                    if event["type"] == "delta":
                        units = len(said.encode("utf-16-le")) // 2
                        assert event["offset"] == units
                        said += event["text"]
                assert [e["text"] for e in reader.events if e["type"] == "message"] == [text]
            return said

        tabs = [asyncio.ensure_future(tab()) for _ in range(10)]
        await asyncio.sleep(0)
        await house.executor.send(session, "go")
        assert await asyncio.gather(*tabs) == [text] * 10

"""A scripted OpenAI-compatible provider, fast enough never to be what is measured.

The name of the model says what is answered:

- `quick`: one token, the time the request arrived
- `flat-N`: N tokens as fast as the connection takes them
- `rate-R-N`: N tokens, R a second, each the time it was written
- `plain-R-N`: the same, each of four letters
- `paper-R-N`: N tokens of Markdown with code, R a second
- `tools-N`: N steps with a call of `read_file`, then how long each step took the client

Times are microseconds of the monotonic clock, which all processes of a machine share.
A request without `tools` (a title is asked for) is answered with one word.
"""

import asyncio
import json
import time
from collections.abc import Callable, Coroutine
from typing import Any, cast

import uvloop

HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
    b"Cache-Control: no-cache\r\n\r\n"
)
END_OF_BODY = b"0\r\n\r\n"
WORD = " wor"
WRITE = 512
"""Tokens in one write when going flat out."""


def now() -> int:
    return time.monotonic_ns() // 1000


def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    chunk = {
        "id": "chatcmpl-bench",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "bench",
        "choices": [choice],
    }
    return b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"


def usage(completion: int) -> bytes:
    last = {
        "id": "chatcmpl-bench",
        "object": "chat.completion.chunk",
        "choices": list[Any](),
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": completion,
            "total_tokens": 100 + completion,
        },
    }
    data = json.dumps(last, separators=(",", ":")).encode()
    return b"data: " + data + b"\n\ndata: [DONE]\n\n"


def chunked(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)


PAPER = """## Part {part} of the answer
It has **words** of some weight, `code` within a line, and a [link](https://example.org/page) to
somewhere else. Then it goes on for a while, as models do, and says the same in other words.

- the first of the points that are to be made
- a second one, which is a little longer than the first

| name | value |
|---|---|
| alpha | 1 |
| beta | 2 |

```python
def total(values: list[int]) -> int:
    return sum(value for value in values if value > 0)  # those that count
```

"""
STOP = event({}, "stop")
BEFORE, AFTER = event({"content": "@"}).split(b"@")
TOKEN = event({"content": WORD})


class Connection(asyncio.Protocol):
    """One client; requests on it come one after the other."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.received: list[bytes] = []
        self.missing = 0
        """Bytes of the request that have not come yet, once its head has."""
        self.may_write = asyncio.Event()
        self.may_write.set()
        self.answering: asyncio.Task[None] | None = None
        self.ended_at = 0
        self.gaps: list[int] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.may_write.set()
        if self.answering is not None:
            self.answering.cancel()

    def pause_writing(self) -> None:
        self.may_write.clear()

    def resume_writing(self) -> None:
        self.may_write.set()

    def data_received(self, data: bytes) -> None:
        arrived = now()
        self.received.append(data)
        self.missing -= len(data)
        if self.missing > 0:
            return
        whole = b"".join(self.received)
        head, found, body = whole.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
        self.missing = length - len(body)
        if not found or self.missing > 0:
            self.received = [whole]
            return
        self.received = []
        self.missing = 0
        if head.startswith(b"GET"):
            self.list_models()
        else:
            self.answering = self.loop.create_task(self.answer(body, arrived))

    def list_models(self) -> None:
        body = b'{"object":"list","data":[{"id":"quick","object":"model"}]}'
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        self.transport.write(head % len(body) + body)

    async def answer(self, body: bytes, arrived: int) -> None:
        kind, *numbers = json.loads(body)["model"].split("-")
        if b'"tools"' not in body:
            self.transport.write(HEAD)
            self.end(event({"content": "Title"}) + STOP, 1)
            return
        await ANSWERS[kind](self, body, arrived, *map(int, numbers))

    def end(self, last: bytes, tokens: int) -> None:
        self.transport.write(chunked(last + usage(tokens)) + END_OF_BODY)

    async def quick(self, _body: bytes, arrived: int) -> None:
        self.transport.write(HEAD)
        self.end(event({"role": "assistant", "content": f"{arrived} "}) + STOP, 1)

    async def flat(self, _body: bytes, _arrived: int, tokens: int) -> None:
        self.transport.write(HEAD)
        piece = chunked(TOKEN * WRITE)
        for _ in range(tokens // WRITE):
            await self.may_write.wait()
            self.transport.write(piece)
        self.end(TOKEN * (tokens % WRITE) + STOP, tokens)

    async def rate(self, _body: bytes, _arrived: int, a_second: int, tokens: int) -> None:
        await self.paced(a_second, tokens, lambda _: BEFORE + b"%d " % now() + AFTER)

    async def plain(self, _body: bytes, _arrived: int, a_second: int, tokens: int) -> None:
        await self.paced(a_second, tokens, lambda _: TOKEN)

    async def paper(self, _body: bytes, _arrived: int, a_second: int, tokens: int) -> None:
        text = "".join(PAPER.replace("{part}", str(part)) for part in range(tokens // 100))
        await self.paced(a_second, tokens, lambda at: event({"content": text[4 * at : 4 * at + 4]}))

    async def paced(self, a_second: int, tokens: int, made: Callable[[int], bytes]) -> None:
        self.transport.write(HEAD)
        begun = self.loop.time()
        for number in range(tokens):
            await asyncio.sleep(begun + number / a_second - self.loop.time())
            self.transport.write(chunked(made(number)))
        self.end(STOP, tokens)

    async def tools(self, body: bytes, arrived: int, steps: int) -> None:
        done = body.count(b'"role":"tool"') + body.count(b'"role": "tool"')
        self.gaps = [*self.gaps, arrived - self.ended_at] if done else []
        self.transport.write(HEAD)
        if done >= steps:
            self.end(event({"content": " ".join(map(str, self.gaps))}) + STOP, 1)
            return
        arguments = f'{{"path":"a.txt","endLine":{20 + done}}}'  # never the same call twice
        function = {"name": "read_file", "arguments": arguments}
        call = {"index": 0, "id": f"call_{done}", "type": "function", "function": function}
        self.end(event({"tool_calls": [call]}) + event({}, "tool_calls"), 1)
        self.ended_at = now()


ANSWERS: dict[str, Any] = {
    "quick": Connection.quick,
    "flat": Connection.flat,
    "rate": Connection.rate,
    "plain": Connection.plain,
    "paper": Connection.paper,
    "tools": Connection.tools,
}


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(json.dumps({"url": f"http://127.0.0.1:{port}/v1"}), flush=True)
    await server.serve_forever()


def run(main: Coroutine[Any, Any, None]) -> None:
    try:
        uvloop.run(main)
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    run(serve())

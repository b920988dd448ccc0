"""A bare relay: what is left of a chat server when nothing is kept, asked or shown.

uvicorn + aiohttp + msgspec; it decodes every chunk of the provider and sends on, as one `delta`,
the text that one read brought. Whatever it needs, every server on this stack needs.
"""

import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import aiohttp
import msgspec
import uvicorn

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
PAGE = b"<!doctype html><title>relay</title>"


class Text(msgspec.Struct):
    content: str | None = None


class Choice(msgspec.Struct):
    delta: Text


class Chunk(msgspec.Struct):
    choices: tuple[Choice, ...] = ()


class Delta(msgspec.Struct, tag="delta"):
    text: str


class Ask(msgspec.Struct):
    model: str
    message: str


decode = msgspec.json.Decoder(Chunk).decode
encode = msgspec.json.Encoder().encode
ask = msgspec.json.Decoder(Ask).decode


class Relay:
    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.client: aiohttp.ClientSession | None = None

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["method"] == "GET":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": PAGE})
            return
        body = b""
        while True:
            message = await receive()
            body += message["body"]
            if not message.get("more_body"):
                break
        await self.forward(ask(body), send)

    async def forward(self, asked: Ask, send: Send) -> None:
        self.client = self.client or aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), read_bufsize=1 << 18
        )
        said = [{"role": "user", "content": asked.message}]
        request = {"model": asked.model, "messages": said, "tools": [], "stream": True}
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        rest = b""
        url = f"{self.provider}/chat/completions"
        async with self.client.post(url, data=encode(request)) as answer:
            async for data in answer.content.iter_any():
                *events, rest = (rest + data).split(b"\n\n")
                if text := "".join(text_of(event) for event in events):
                    delta = b"event: delta\ndata: " + encode(Delta(text)) + b"\n\n"
                    await send({"type": "http.response.body", "body": delta, "more_body": True})
        done = b'event: done\ndata: {"type":"done","finished":true}\n\n'
        await send({"type": "http.response.body", "body": done})


def text_of(event: bytes) -> str:
    if not event.startswith(b"data: {"):
        return ""
    return "".join(choice.delta.content or "" for choice in decode(event[6:]).choices)


class Server(uvicorn.Server):
    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        port = self.servers[0].sockets[0].getsockname()[1]
        print(json.dumps({"url": f"http://127.0.0.1:{port}"}), flush=True)


if __name__ == "__main__":
    config = uvicorn.Config(Relay(sys.argv[1]), port=0, log_level="warning", lifespan="off")
    Server(config).run()

"""An OpenAI-compatible provider for tests: a real HTTP server on loopback that plays byte-exact
replies and checks every request with the invariants."""

import json
import select
import socket
import struct
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from shipmate.llm.invariants import check_request


@dataclass(frozen=True)
class Answer:
    """How one request is answered. `split`: bytes a write, 0 all at once; `delay`: seconds
    between writes; `when`: only a request whose body contains this text gets it."""

    body: bytes = b""
    status: int = 200
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    split: int = 0
    delay: float = 0
    after: Literal["close", "hang", "reset"] = "close"
    when: str = ""
    gate: threading.Event | None = None
    """Nothing is sent, not even headers, before this is set."""
    free: int = 0
    """With `split`: the first bytes do not wait for the gate."""


@dataclass
class Seen:
    """A request that arrived."""

    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: dict[str, Any]
    broken: list[str]
    gone: threading.Event = field(default_factory=threading.Event)
    """Set when the answer is over, or the client closed the connection."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]


class Provider:
    """`url` is the base URL (`…/v1`). Replies are taken from the queue; with none left it
    says "ok". Use `queue(...)`, then look at `seen`."""

    def __init__(self, **rules: bool) -> None:
        self.rules = rules
        """Arguments of `check_request`."""
        self.models: Any = {"object": "list", "data": [{"id": "m", "object": "model"}]}
        self.queued: list[Answer] = []
        self.seen: list[Seen] = []
        self.lock = threading.Lock()
        self.closing = False
        self._server = _Server(self)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def broken(self) -> list[str]:
        """Rules broken by any request so far."""
        return [rule for seen in self.seen for rule in seen.broken]

    def queue(self, *answers: Answer | bytes) -> None:
        with self.lock:
            self.queued += [Answer(a) if isinstance(a, bytes) else a for a in answers]

    def take(self, raw: bytes) -> Answer:
        with self.lock:
            for at, answer in enumerate(self.queued):
                if answer.when.encode() in raw:
                    return self.queued.pop(at)
        return Answer(self.ok())

    def ok(self) -> bytes:
        return text_reply("ok")

    def check(self, body: dict[str, Any]) -> list[str]:
        """The rules that a request breaks."""
        return check_request(body, **self.rules)

    def close(self) -> None:
        self.closing = True
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def sse(*chunks: Mapping[str, Any], done: bool = True) -> bytes:
    """Chunks as an event stream."""
    events = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
    return b"".join(events) + (b"data: [DONE]\n\n" if done else b"")


def chunk(delta: Mapping[str, Any] | None = None, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}]}


USAGE = {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11}


def text_reply(*texts: str) -> bytes:
    """A whole answer, one chunk a text."""
    parts = [chunk({"content": text}) for text in texts]
    return sse(*parts, chunk(finish="stop"), {"choices": [], "usage": USAGE})


def call_reply(*calls: tuple[str, Mapping[str, Any]], text: str = "") -> bytes:
    """An answer that calls tools: (name, arguments) each."""
    pieces = [
        {
            "index": index,
            "id": f"call_{index}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for index, (name, arguments) in enumerate(calls)
    ]
    delta: dict[str, Any] = {"tool_calls": pieces} | ({"content": text} if text else {})
    return sse(chunk(delta), chunk(finish="tool_calls"), {"choices": [], "usage": USAGE})


def error_reply(
    status: int, message: str = "no", *, code: str = "", headers: Mapping[str, str] | None = None
) -> Answer:
    body = json.dumps({"error": {"message": message, "code": code or None}}).encode()
    return Answer(body, status, "application/json", headers or {})


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    request_queue_size = 256

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is not an error here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def provider(self) -> Provider:
        assert isinstance(self.server, _Server)
        return self.server.provider

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        body = json.dumps(self.provider.models).encode()
        self._head(Answer(content_type="application/json"))
        self.wfile.write(body)

    def do_POST(self) -> None:
        provider = self.provider
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(raw)
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(self.path, headers, body, provider.check(body))
        with provider.lock:
            provider.seen.append(seen)
        try:
            self._play(provider.take(raw))
        except OSError:
            pass  # the client went away
        finally:
            seen.gone.set()

    def _head(self, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def _play(self, answer: Answer) -> None:
        if answer.gate is not None and not answer.free:
            self._wait(answer.gate)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head(answer)
        step = answer.split or len(answer.body) or 1
        for at in range(0, len(answer.body), step):
            if answer.gate is not None and at >= answer.free:
                self._wait(answer.gate)
            self.wfile.write(answer.body[at : at + step])
            self.wfile.flush()
            time.sleep(answer.delay)
        if answer.after == "hang":
            self._wait(None)
        elif answer.after == "reset":
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()

    def _wait(self, gate: threading.Event | None) -> None:
        """Until the gate opens, the client closes, or the server ends."""
        while not self.provider.closing:
            if gate is not None and gate.is_set():
                return
            readable, _, _ = select.select([self.connection], [], [], 0.01)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise ConnectionAbortedError

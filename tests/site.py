"""A web site for tests: a real HTTP server on loopback, with good and with bad manners.

A route is `{"status": 200, "headers": {…}, "body": "text"}`, or in place of `body` `"hex"`, or
`"generate"`: `gzip_zeros:BYTES`, `repeat:TEXT:BYTES`, `drip:SECONDS:COUNT`. `{B}` in a header is
the site's own address.
"""

import threading
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_BLOCK = 1 << 16


@dataclass(frozen=True)
class Hit:
    """A request that arrived."""

    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


@dataclass
class Site:
    """`url` is where it is; it counts what it is asked."""

    routes: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    address: str = "127.0.0.1"
    port: int = 0
    hits: list[Hit] = field(default_factory=list[Hit])
    closing: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> "Site":
        self._server = _Server(self)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://{self.address}:{self.port}"

    @property
    def paths(self) -> list[str]:
        return [hit.path for hit in self.hits]


def _generated(spec: str, closing: threading.Event) -> Iterator[bytes]:
    kind, rest = spec.split(":", 1)
    if kind == "gzip_zeros":
        left, packed = int(rest), zlib.compressobj(9, zlib.DEFLATED, 31)
        while left > 0:
            if made := packed.compress(bytes(min(left, _BLOCK))):
                yield made
            left -= _BLOCK
        yield packed.flush()
    elif kind == "repeat":
        text, size = rest.rsplit(":", 1)
        unit, left = text.encode().decode("unicode_escape").encode(), int(size)
        block = unit * max(1, _BLOCK // len(unit))
        while left > 0:
            yield block[:left]
            left -= len(block)
    else:
        seconds, count = rest.split(":")
        for _ in range(int(count)):
            yield b"."
            if closing.wait(float(seconds)):
                return


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, site: Site) -> None:
        self.site = site
        super().__init__((site.address, site.port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no news here."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""

    def do_GET(self) -> None:
        site = self.server.site
        size = int(self.headers.get("Content-Length", 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        site.hits.append(Hit(self.command, self.path, headers, self.rfile.read(size)))
        route = site.routes.get(self.path) or site.routes.get(self.path.split("?")[0])
        route = route or {"status": 404, "body": "nothing here"}
        self.send_response(route.get("status", 200))
        body = None if "generate" in route else _body(route)
        for name, value in route.get("headers", {}).items():
            self.send_header(name, value.replace("{B}", site.url))
        if body is not None:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        pieces = _generated(route["generate"], site.closing) if body is None else [body]
        for piece in pieces:
            self.wfile.write(piece)
            self.wfile.flush()

    do_POST = do_GET  # noqa: N815 - the name is the library's


def _body(route: Mapping[str, Any]) -> bytes:
    if "hex" in route:
        return bytes.fromhex(route["hex"])
    body = route.get("body", "")
    return body if isinstance(body, bytes) else body.encode()

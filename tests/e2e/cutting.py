"""A proxy between the browser and the server that can cut the lines that are open."""

import contextlib
import select
import socket
import struct
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Cutter(ThreadingHTTPServer):
    """An HTTP proxy; `cut` resets every event stream that goes through it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.streams: set[socket.socket] = set()
        self.cuts = 0
        self.lock = threading.Condition()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def cut_next(self) -> None:
        """Cut once a stream is open: after an earlier cut the browser needs a moment."""
        with self.lock:
            if not self.lock.wait_for(lambda: self.streams, timeout=60):
                raise AssertionError("no event stream was opened for a minute")
            self.cut()

    def cut(self) -> None:
        with self.lock:
            for stream in self.streams:
                linger = struct.pack("ii", 1, 0)
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                with contextlib.suppress(OSError):  # the browser has gone by itself
                    stream.shutdown(socket.SHUT_RDWR)
                self.cuts += 1
            self.streams.clear()


class _Handler(BaseHTTPRequestHandler):
    def _relay(self) -> None:
        """One request to the server and its whole answer back; then the line is closed."""
        assert isinstance(self.server, Cutter)
        to = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = to.path + (f"?{to.query}" if to.query else "")
        named = [f"{k}: {v}" for k, v in self.headers.items() if "connection" not in k.lower()]
        head = "\r\n".join([f"{self.command} {path} HTTP/1.1", *named, "Connection: close", "", ""])
        with socket.create_connection((to.hostname or "", to.port or 80)) as upstream:
            upstream.sendall(head.encode("latin-1") + body)
            if to.path.endswith("/events"):
                with self.server.lock:
                    self.server.streams.add(self.connection)
                    self.server.lock.notify_all()
            try:
                while part := self._more(upstream):
                    self.wfile.write(part)
            except OSError:
                pass  # cut, or the browser went away
            with self.server.lock:
                self.server.streams.discard(self.connection)

    def _more(self, upstream: socket.socket) -> bytes:
        """The next piece of the answer; nothing at its end, or when the browser has gone."""
        ready, _, _ = select.select([upstream, self.connection], [], [])
        if self.connection in ready and not self.connection.recv(1, socket.MSG_PEEK):
            return b""
        return upstream.recv(65536)

    do_GET = do_POST = do_PATCH = do_DELETE = _relay  # noqa: N815 - the base class names them

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def cutter() -> Generator[Cutter]:
    server = Cutter()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.cut()
        server.shutdown()
        server.server_close()
        thread.join()

"""Commands wait when the server says that they ask too often."""

import json
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from shipmate.cli.patience import LONGEST_S, TRIES, wait_before
from shipmate.cli.server_file import Running, ServerError, ask
from shipmate.cli.there import there


class Busy(HTTPServer):
    """Says 429 to the first request, and what it was told to say from then on."""

    asked = 0
    retry_after = "1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Busy)
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked += 1
        busy = self.server.asked == 1
        body = json.dumps({"code": "too_many", "detail": "Too many."} if busy else {"ok": True})
        self.send_response(429 if busy else 200)
        self.send_header("Retry-After", self.server.retry_after)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def busy() -> Generator[Busy]:
    with Busy(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def running(server: Busy) -> Running:
    return Running(f"http://127.0.0.1:{server.server_port}", "sm_x", 1)


async def test_what_is_asked_too_often_is_asked_again_later(busy: Busy) -> None:
    assert ask(running(busy), "POST", "/x", b"{}") == b'{"ok": true}'
    busy.asked = 0
    async with there(running(busy)) as server:
        await server.stop("s")
    assert busy.asked == 2


async def test_a_wait_that_is_too_long_is_told_instead(busy: Busy) -> None:
    busy.retry_after = str(LONGEST_S + 1)
    with pytest.raises(ServerError, match="Too many"):
        ask(running(busy), "POST", "/x", b"{}")
    busy.asked = 0
    async with there(running(busy)) as server:
        with pytest.raises(ServerError, match="Too many"):
            await server.stop("s")


@pytest.mark.parametrize(
    ("attempt", "status", "asked", "seconds"),
    [
        (1, 429, "3", 3),
        (TRIES, 429, "3", 0),
        (1, 503, "3", 0),
        (1, 429, "soon", 0),
        (1, 429, "", 0),
    ],
)
def test_how_long_is_waited(attempt: int, status: int, asked: str, seconds: int) -> None:
    assert wait_before(attempt, status, asked) == seconds

"""HTTP on the socket, with bounds: how large a request's head may be, and how long it may take.

The parser (llhttp, strict) refuses what two readers could read in two ways; this refuses what costs
memory or a connection without ever becoming a request.
"""

from asyncio import TimerHandle, Transport
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from shipmate.handlers.errors import HttpError, problem
from shipmate.handlers.gate import SECURITY_HEADERS

MAX_URL = 16 * 1024
"""Bytes; the longest of our own is a search."""
MAX_HEAD = 64 * 1024
"""Bytes of the request line with all headers; what a browser sends has one or two thousand."""
MAX_HEADERS = 100
HEAD_S = 20.0
"""From the first byte of a request (or the connection) to the end of its headers."""
BODY_S = 30.0
PACE = 16 * 1024
"""Bytes of a body that must come in each `BODY_S`; a whole body may be smaller."""

ONCE = frozenset(
    {b"host", b"origin", b"authorization", b"content-type", b"content-length", b"x-shipmate-token"}
)
"""Of two of these, we would read one, and a proxy in front perhaps the other."""
NOT_HTTP = HttpError(400, "bad_request", "This is no HTTP/1.1 request that can be read in one way.")


class Wire(HttpToolsProtocol):
    head_seconds = HEAD_S
    body_seconds = BODY_S

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.url = b""
        self._head = 0
        """Bytes of a head that is not whole."""
        self._in_head = True
        self._lately = 0
        """Bytes of the body since the clock was set."""
        self._asked = False
        """There was a request; `cycle` is the last one."""
        self._refusal = NOT_HTTP
        self._timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as uvicorn has it
        super().connection_made(transport)
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._in_head:
            self._arm()
            self._head += len(data)
        super().data_received(data)
        if self._in_head and self._head > MAX_HEAD and not self.transport.is_closing():
            self._refuse(self._too_large())

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head = True, 0
        self._arm()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._disarm()
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if len(self.url) > MAX_URL or size > MAX_HEAD or len(self.headers) > MAX_HEADERS:
            self._refusal = self._too_large()
            raise self._refusal  # the parser ends, and `send_400_response` is called
        if self._ambiguous():
            raise self._refusal
        self._asked = True
        super().on_headers_complete()
        self._arm()

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._lately += len(body)
        if self._lately >= PACE:
            self._disarm()
            self._arm()

    def _ambiguous(self) -> bool:
        names = [name for name, _ in self.headers if name in ONCE]
        if len(names) != len(set(names)):
            return True
        parser = self.parser
        if parser is None or parser.get_http_version() not in {"1.0", "1.1"} or b"#" in self.url:
            return True
        if self.url.startswith(b"/"):
            return False
        authority = self.url.partition(b"://")[2].partition(b"/")[0]
        return authority != dict(self.headers).get(b"host")

    def on_message_complete(self) -> None:
        self._disarm()
        super().on_message_complete()
        self._in_head, self._head = True, 0

    def send_400_response(self, msg: str) -> None:
        self._refuse(self._refusal)

    def _too_large(self) -> HttpError:
        if len(self.url) > MAX_URL:
            return HttpError(414, "uri_too_long", f"The URL is longer than {MAX_URL:,} bytes.")
        return HttpError(
            431,
            "headers_too_large",
            f"The headers are more than {MAX_HEADERS} or have more than {MAX_HEAD:,} bytes.",
        )

    def _arm(self) -> None:
        if self._timer is None:
            self._lately = 0
            seconds = self.head_seconds if self._in_head else self.body_seconds
            self._timer = self.loop.call_later(seconds, self._late)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        if self._in_head:
            self._refuse(HttpError(408, "timeout", "The headers did not come in time."))
        elif self.flow.read_paused:  # it is we who do not read on
            self._arm()
        else:
            self._refuse(HttpError(408, "timeout", "The body did not come in time."))

    def _unanswered(self) -> bool:
        """The body is not whole, and the answer has not begun: then this is the answer, and what
        waits for the body is told that there is nobody any more."""
        if self._in_head or self.cycle.response_started:
            return False
        self.cycle.disconnected = True
        self.cycle.message_event.set()
        return True

    def _refuse(self, error: HttpError) -> None:
        """Answer and close; only close while another answer is being sent."""
        if not self._asked or self.cycle.response_complete or self._unanswered():
            answer = problem(error)
            headers = {
                **{name.decode(): value.decode() for name, value in answer.raw_headers},
                **SECURITY_HEADERS,
                "cache-control": "no-store",
                "connection": "close",
            }
            lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            head = STATUS_LINE[error.status] + lines.encode() + b"\r\n"
            self.transport.write(head + bytes(answer.body))
        self.transport.close()

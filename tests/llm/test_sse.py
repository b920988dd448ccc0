"""Bytes to events."""

import pytest

from shipmate.llm.model import ModelError
from shipmate.llm.sse import EVENT_LIMIT, EventReader

STREAMS: list[tuple[bytes, list[bytes]]] = [
    (b'data: {"a":1}\n\ndata: {"b":2}\n\n', [b'{"a":1}', b'{"b":2}']),
    (b"data:1\r\n\r\ndata: 2\r\n\r\n", [b"1", b"2"]),
    (b"data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", [b"a\nb", b"c"]),
    (b"data:1\r\rdata: 2\r\r", [b"1", b"2"]),
    (b"\xef\xbb\xbfdata: 1\n\n", [b"1"]),
    (b": ping\n\ndata: 1\n\n: ping\n\n\n\n\ndata: 2\n\n", [b"1", b"2"]),
    (b"id: 7\nretry: 10\ndata: a\ndata: b\ndata\n\n", [b"a\nb\n"]),
    (b"data:  two blanks\n\n", [b" two blanks"]),
    (b"data: a\xe2\x80\xa8b\xc2\x85c\x0bd\n\n", [b"a\xe2\x80\xa8b\xc2\x85c\x0bd"]),
    (b"event: error\ndata: no\n\n", [b'{"error":"no"}']),
    (b'event: error\ndata: {"error":1}\n\n', [b'{"error":1}']),
    (b"data: 1\n\ndata: not ended", [b"1", b"not ended"]),
    (b"data: 1\n\ndata: not ended\r", [b"1", b"not ended"]),
    (b"nonsense\n\n\n", []),
]


@pytest.mark.parametrize(("stream", "events"), STREAMS)
def test_where_the_bytes_are_cut_makes_no_difference(stream: bytes, events: list[bytes]) -> None:
    singles = [stream[at : at + 1] for at in range(len(stream))]
    pairs = [[stream[:at], stream[at:]] for at in range(len(stream) + 1)]
    for pieces in (singles, *pairs):
        reader = EventReader()
        found = [event for piece in pieces for event in reader.feed(piece)]
        found += [event for event in reader.end() if event]
        assert found == events, pieces


def test_an_event_without_an_end_is_given_up_at_8_mb() -> None:
    reader = EventReader()
    piece = b"data: " + b"x" * 65_530
    for _ in range(EVENT_LIMIT // len(piece)):
        reader.feed(piece)
    with pytest.raises(ModelError, match="8 MB"):
        reader.feed(piece)

"""Server-sent events: bytes as they come from the network, to the data of events."""

import msgspec

from shipmate.llm.model import ModelError

EVENT_LIMIT = 8 * 1024 * 1024
"""Bytes of one event; more is not an answer of a language model."""
_BOM = b"\xef\xbb\xbf"


class EventReader:
    """Cuts a stream into events and gives the data of each, whole reads at a time.

    Lines end at LF, CR or CRLF and nowhere else. Comments and unknown fields are skipped; an
    event named `error` gives a JSON object with `error` in it. Where the bytes are cut makes no
    difference.
    """

    def __init__(self) -> None:
        self._held: list[bytes] = []
        """Pieces of an event that is not complete."""
        self._size = 0
        self._begun = False
        self._after_cr = False

    def feed(self, data: bytes) -> list[bytes]:
        """The data of the events that are complete with `data`."""
        if not self._begun:
            data = self._without_bom(data)
        if self._after_cr or b"\r" in data:
            data = self._with_lf(data)
        if not data:
            return []
        self._held.append(data)
        self._size += len(data)
        if b"\n" not in data:
            self._check_size()
            return []
        head, end, rest = b"".join(self._held).rpartition(b"\n\n")
        self._held = [rest] if rest else []
        self._size = len(rest)
        self._check_size()
        return _data_of(head) if end else []

    def end(self) -> list[bytes]:
        """What stands after the last blank line: some servers leave that out."""
        rest = b"".join(self._held)
        self._held = []
        return _data_of(rest)

    def _without_bom(self, data: bytes) -> bytes:
        data = b"".join((*self._held, data))
        self._held.clear()
        if len(data) < len(_BOM) and _BOM.startswith(data):
            self._held.append(data)
            return b""
        self._begun = True
        self._size = 0
        return data.removeprefix(_BOM)

    def _with_lf(self, data: bytes) -> bytes:
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
            self._after_cr = False
        if data:
            self._after_cr = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _check_size(self) -> None:
        if self._size > EVENT_LIMIT:
            raise ModelError("The provider sent an event of more than 8 MB; the answer was ended.")


def _data_of(events: bytes) -> list[bytes]:
    """The data of events that are separated by blank lines."""
    count = events.count(b"\n\n") + 1
    plain = events.startswith(b"data: ") and events.count(b"\n\ndata: ") == count - 1
    if plain and events.count(b"\n") == 2 * (count - 1):
        return events[6:].split(b"\n\ndata: ")
    found = map(_parse, events.split(b"\n\n"))
    return [data for data in found if data is not None]


def _parse(event: bytes) -> bytes | None:
    lines: list[bytes] = []
    name = b""
    for line in event.split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"data":
            lines.append(value.removeprefix(b" "))
        elif field == b"event":
            name = value.strip()
    if not lines:
        return None
    data = b"\n".join(lines)
    return _as_error(data) if name == b"error" else data


def _as_error(data: bytes) -> bytes:
    if data.lstrip().startswith(b"{") and b'"error"' in data:
        return data
    return msgspec.json.encode({"error": data.decode(errors="replace")})

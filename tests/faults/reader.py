"""A reader of event streams that is cut anywhere and goes on from its last id."""

import http.client
import json
import socket
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.cli.server import Served

BROKEN = (OSError, http.client.HTTPException)
"""What a connection raises that is cut, or whose server dies."""
Event = dict[str, Any]


def units(text: str) -> int:
    """Length as a browser counts."""
    return len(text.encode("utf-16-le")) // 2


@dataclass
class Reader:
    """What a client knows of one session, over all its connections."""

    session: str = ""
    last: str = ""
    blocks: dict[str, Event] = field(default_factory=dict[str, Event])
    row: Event = field(default_factory=dict[str, Any])
    queue: list[Event] = field(default_factory=list[Event])
    done: Event = field(default_factory=dict[str, Any])
    texts: dict[str, str] = field(default_factory=dict[str, str])
    """Streamed so far, by message."""
    gaps: int = 0
    duplicates: int = 0
    wrong: int = 0
    """Messages whose streamed text is not what was kept."""
    _seqs: set[int] = field(default_factory=set[int])
    _buffer: bytes = b""

    def connected(self) -> None:
        """What was half read is void; a message that is being said is told from its start."""
        self._buffer = b""
        self.texts.clear()

    def feed(self, data: bytes) -> list[Event]:
        """Take in bytes; the whole events in them."""
        *whole, self._buffer = (self._buffer + data).split(b"\n\n")
        return [self._event(raw) for raw in whole]

    def _event(self, raw: bytes) -> Event:
        fields = dict(line.split(b": ", 1) for line in raw.split(b"\n"))
        event = json.loads(fields[b"data"])
        if b"id" in fields:
            self._keep(fields[b"id"].decode(), event)
        match event["type"]:
            case "delta":
                self._delta(event)
            case "stream_start":
                self.texts[event["id"]] = ""
            case "session":
                self.row = event["row"]
            case "queue":
                self.queue = event.get("items", [])
            case "done":
                self.done = event
            case _:
                pass
        return event

    def _keep(self, mark: str, event: Event) -> None:
        seq = int(mark.rpartition("-")[2])
        assert seq == event["seq"]
        self.duplicates += seq in self._seqs
        self.gaps += bool(self._seqs) and seq < max(self._seqs)
        self._seqs.add(seq)
        self.last = mark
        self.blocks[event["id"]] = event
        streamed = self.texts.pop(event["id"], None)
        if event["type"] == "message" and not event.get("partial") and streamed is not None:
            self.wrong += streamed != event.get("text", "")

    def _delta(self, event: Event) -> None:
        if "text" not in event:
            return
        known = units(self.texts.setdefault(event["id"], ""))
        self.gaps += event["offset"] > known
        self.duplicates += event["offset"] < known
        self.texts[event["id"]] += event["text"]

    def follow(
        self, server: Served, enough: int = 1 << 60, *, attach: bool = False
    ) -> Event | None:
        """Read until `done` (which is returned), or until `enough` bytes were read. `attach`:
        to the round, whose end is told at once when it is over."""
        address = urlsplit(server.url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
        headers = {"Authorization": f"Bearer {server.token}"}
        if self.last:
            headers["Last-Event-ID"] = self.last
        try:
            if attach:
                headers["Content-Type"] = "application/json"
                body = json.dumps({"session": self.session})
                connection.request("POST", "/api/agent/chat/stream", body, headers)
            else:
                path = f"/api/agent/sessions/{self.session}/events"
                connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            if answer.status != 200:  # the session is deleted, or the server is ending
                return None
            self.connected()
            while enough > 0 and (data := answer.read1(min(enough, 65536))):
                enough -= len(data)
                for event in self.feed(data):
                    if event["type"] == "done":
                        return event
            return None
        finally:
            if connection.sock:
                connection.sock.shutdown(socket.SHUT_RDWR)
            connection.close()

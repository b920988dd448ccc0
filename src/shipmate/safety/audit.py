"""The audit log: who did what, in `audit.jsonl` of the data directory.

Lines are only added. Each holds the SHA-256 of the line before it, so that none can be changed or
taken out unseen; `audit.head` holds the number and hash of the last one, so that a cut end is seen
as well. A line that a crash has torn stays; the next one says so. Files are put aside when they
are large, and the chain goes on in the next one. Whoever can write to the data directory can write
a whole new chain: keep a copy of the head elsewhere if that matters.
"""

import hashlib
import logging
import os
import queue
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import msgspec

from shipmate.errors import ShipmateError
from shipmate.safety.secrets import write_private

log = logging.getLogger(__name__)

NAME, HEAD = "audit.jsonl", "audit.head"
FIRST = "0" * 64
"""What the first line has for the hash of the one before."""
LARGE = 16 * 1024 * 1024
"""Bytes at which a file is put aside."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    n: int = 0
    """1, 2, 3, ..."""
    at: str = ""
    """UTC, to the millisecond."""
    event: str
    """`sign_in`, `sign_in_failed`, `approval`, `command`, `server_started`, ..."""
    who: str = ""
    """A user or a token; `user`: the person at the machine; empty: nobody is signed in."""
    user: str = ""
    """Whose token it is."""
    address: str = ""
    session: str = ""
    what: dict[str, Any] = {}
    """Never a secret."""
    prev: str = ""


class Head(msgspec.Struct, frozen=True):
    n: int
    hash: str


class Audit:
    """Writes entries in the order in which they are told, on a thread of its own."""

    def __init__(self, data: Path, large: int = LARGE) -> None:
        self.folder = data
        self._file, self._large = data / NAME, large
        self._told: queue.SimpleQueue[tuple[Entry, Future[None]] | None] = queue.SimpleQueue()
        self._lost = 0
        self._head: Head | None = None
        self._thread = threading.Thread(target=self._work, name="audit", daemon=True)
        self._thread.start()

    def tell(self, event: str, **fields: Any) -> Future[None]:
        """Add a line. Done when it is on disk, or when that failed: the log says so, and so does
        the next line that can be written."""
        kept: Future[None] = Future()
        self._told.put((Entry(event=event, at=_now(), **fields), kept))
        return kept

    def close(self) -> None:
        self._told.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (job := self._told.get()) is not None:
            entry, kept = job
            try:
                self._write(entry)
            except (OSError, ShipmateError) as error:
                self._lost += 1
                self._head = None
                log.error("the audit log cannot be written: %s", error)  # noqa: TRY400 - no traceback for a full disk
            kept.set_result(None)

    def _write(self, entry: Entry) -> None:
        if self._head is None:
            self._head = self._found()
        if self._lost:
            lost, self._lost = self._lost, 0
            self._add(Entry(event="lost", at=_now(), what={"lines": lost}))
        self._add(entry)

    def _found(self) -> Head:
        """The end of the file. A torn last line is ended, and told."""
        torn, head = b"", Head(0, FIRST)
        for file in files(self._file.parent)[-2:]:
            *lines, torn = file.read_bytes().split(b"\n")
            head = _last(lines) or head
        if torn:
            with self._file.open("ab") as out:
                out.write(b"\n")
            if (whole := _last([torn])) is not None:  # only its end was cut off
                return whole
            self._head = Head(head.n, _hash(torn))
            self._add(Entry(event="torn", at=_now(), what={"bytes": len(torn)}))
            return self._head
        return head

    def _add(self, entry: Entry) -> None:
        assert self._head is not None  # noqa: S101 - `_write` has read it
        n, prev = self._head.n + 1, self._head.hash
        line = msgspec.json.encode(msgspec.structs.replace(entry, n=n, prev=prev))
        descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "ab") as out:
            out.write(line + b"\n")
            out.flush()
            os.fsync(out.fileno())
            size = out.tell()
        self._head = Head(n, _hash(line))
        write_private(self._file.with_name(HEAD), msgspec.json.encode(self._head))
        if size > self._large:
            self._file.rename(self._file.with_name(f"audit.{n:09}.jsonl"))


def files(data: Path) -> list[Path]:
    """All files of the log, the oldest first."""
    aside = sorted(data.glob("audit.[0-9]*.jsonl"))
    return [*aside, data / NAME] if (data / NAME).exists() else aside


def entries(data: Path) -> Iterator[Entry]:
    """Every line that can be read, the oldest first."""
    for file in files(data):
        for line in file.read_bytes().split(b"\n"):
            try:
                yield msgspec.json.decode(line, type=Entry)
            except msgspec.DecodeError:
                continue


class Verified(msgspec.Struct, frozen=True):
    lines: int
    torn: int
    """Lines that a crash has torn; each was told when the server started again."""
    problem: str = ""
    """The first that is wrong, and where."""


def verify(data: Path) -> Verified:
    """Follow the chain from its first line to the head."""
    head, at_head, count, torn = Head(0, FIRST), False, 0, 0
    wanted = _wanted(data)
    for file in files(data):
        lines = file.read_bytes().split(b"\n")
        for number, line in enumerate(lines, 1):
            if number == len(lines) and not line:
                continue
            entry = _entry(line)
            if entry is None and _is_torn(lines, number, file.name == NAME):
                torn += 1
                head = Head(head.n, _hash(line))
                continue
            if entry is None or (entry.n, entry.prev) != (head.n + 1, head.hash):
                why = "is no line of the log" if entry is None else "does not follow the one before"
                return Verified(count, torn, f"{file.name}, line {number} {why}.")
            head, count = Head(entry.n, _hash(line)), count + 1
            at_head = at_head or head == wanted
    if wanted and not at_head and wanted.n:
        return Verified(count, torn, f"Its end is missing: the head names line {wanted.n}.")
    return Verified(count, torn)


def _is_torn(lines: list[bytes], number: int, newest: bool) -> bool:
    """Whether a line that cannot be read was torn by a crash: it is the very last one, or the
    next one says so and continues from it."""
    if number == len(lines):
        return newest
    following = _entry(lines[number])
    return following is not None and (following.event, following.prev) == (
        "torn",
        _hash(lines[number - 1]),
    )


def _wanted(data: Path) -> Head | None:
    try:
        return msgspec.json.decode((data / HEAD).read_bytes(), type=Head)
    except FileNotFoundError:
        return Head(1, "") if files(data) else None
    except msgspec.DecodeError:
        return Head(1, "")


def _entry(line: bytes) -> Entry | None:
    try:
        return msgspec.json.decode(line, type=Entry)
    except msgspec.DecodeError:
        return None


def _last(lines: list[bytes]) -> Head | None:
    for line in reversed(lines):
        if (entry := _entry(line)) is not None:
            return Head(entry.n, _hash(line))
    return None


def _hash(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()


def _now() -> str:
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03}Z"

"""A window on a text file: some of its lines, within bounds, what is left out named."""

import codecs
import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from shipmate.tools.decode import Text, decode, decode_head, kind_of
from shipmate.tools.files import (
    check_regular,
    file_errors,
    opened,
    read_descriptor,
    real_path,
    sha256,
    stamp_of,
)
from shipmate.tools.output import cut
from shipmate.tools.tool import ToolError, Workspace

LINE_CHARS = 2_000
"""What is shown of a line, unless it alone was asked for."""
_HEAD = 65_536
_WHOLE = 4_000_000
"""Bytes up to which a file is read whole; a larger one is scanned."""
_HASHED = 32_000_000
"""Bytes up to which a scan reads to the end, to count the lines and to know the content."""
_WINDOW = 96_000
"""Bytes of a scanned file that are kept: more than any result may hold."""
_CHUNK = 262_144

_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_PICTURES = {c: 0x2400 + c for c in range(32) if c not in b"\t\n"} | {0x7F: 0x2421}
_ESCAPES = {c: f"\\x{c:02x}" for c in range(0x80, 0xA0)} | {
    c: f"\\u{c:04x}" for c in range(0xD800, 0xE000)
}
_VISIBLE = _PICTURES | _ESCAPES
_IMAGES = {"PNG image", "JPEG image", "GIF image", "WebP image"}


@dataclass(frozen=True, slots=True)
class Span:
    """Lines `start` to `end`, counted from 1; `end` 0 is the end of the file. With `column`,
    only line `start`, from this character on."""

    start: int = 1
    end: int = 0
    column: int = 0

    @classmethod
    def of(cls, start: int, end: int, column: int = 0) -> "Span":
        """Bounds as models write them: clamped, and swapped when reversed."""
        start, end = max(start, 1), max(end, 0)
        if end and end < start:
            start, end = end, start
        return cls(start, start if column > 0 else end, max(column, 0))


@dataclass(frozen=True, slots=True)
class Content:
    """What is at hand of a file: `text` begins with line `first`."""

    name: str
    real: Path
    size: int
    text: str = ""
    first: int = 1
    lines: int | None = None
    """Lines in the file; None where they were not counted."""
    encoding: str = "utf-8"
    broken_off: bool = False
    """The last line of `text` is not whole."""
    instead: str = ""
    """What is said in place of text: it is empty, binary, an image."""
    stamp: str = ""
    """Changes with the content: SHA-256, or size and time of what is too large to hash."""


@dataclass(frozen=True, slots=True)
class Part:
    """What is shown: the lines `first` to `last`."""

    text: str
    first: int
    last: int
    go_on: int = 0
    """The next line, where the room ended before the lines that were asked for."""


@dataclass(slots=True)
class Room:
    """What is left of a budget; `size` 0 is no limit."""

    chars: int
    size: int = 0
    used: int = 0

    def holds(self, line: str) -> bool:
        if len(line) + 1 > self.chars:
            return False
        return not self.size or self.used + len(line.encode()) + 1 <= self.size

    def take(self, line: str) -> None:
        self.chars -= len(line) + 1
        self.used += len(line.encode()) + 1 if self.size else 0


def load(work: Workspace, path: str, span: Span) -> Content:
    """Open and read what `span` needs. Not for the event loop's thread."""
    real, relative = real_path(work, path, "read")
    with file_errors(path), opened(work.root, relative, os.O_RDONLY) as descriptor:
        found = check_regular(descriptor, path)
        return content_of(shown_name(relative), real, descriptor, found, span)


def content_of(
    name: str, real: Path, descriptor: int, found: os.stat_result, span: Span
) -> Content:
    """What `span` needs of an open file; `found` is what fstat says of it."""
    head = read_descriptor(descriptor, _HEAD)
    kind = decode_head(head) if len(head) == _HEAD else decode(head)
    if kind is None or (not kind.text and found.st_size == 0):
        said = _said_instead(name, head, found.st_size)
        return Content(name, real, found.st_size, instead=said)
    if found.st_size <= _WHOLE:
        return _whole(name, real, head + _rest(descriptor, head))
    stamp = stamp_of(found)
    content = Content(name, real, found.st_size, encoding=kind.encoding, stamp=stamp)
    return _scanned(content, kind, descriptor, span)


def _rest(descriptor: int, head: bytes) -> bytes:
    """Bounded, though the file may have grown since it was asked for its size."""
    return read_descriptor(descriptor, _WHOLE) if len(head) == _HEAD else b""


def _whole(name: str, real: Path, data: bytes) -> Content:
    decoded = decode(data)
    if decoded is None or not data:
        return Content(name, real, len(data), instead=_said_instead(name, data, len(data)))
    text = decoded.text
    return Content(
        name,
        real,
        len(data),
        text,
        lines=text.count("\n") + (not text.endswith("\n")),
        encoding=decoded.encoding if decoded.exact else f"{decoded.encoding} with damaged bytes",
        stamp=sha256(data),
    )


def part(content: Content, span: Span, chars: int, size: int = 0) -> Part:
    """The lines of `span` that fit in `chars` characters and (unless 0) `size` bytes of UTF-8;
    at least one, cut if need be."""
    text, number, shown = content.text, span.start, list[str]()
    room = Room(chars, size)
    place = line_place(text, span.start - content.first)
    while place < len(text) and not (span.end and number > span.end):
        stop = text.find("\n", place)
        broken = stop < 0 and content.broken_off
        stop = len(text) if stop < 0 else stop
        line = _line(text, (place, stop, span.column), number, room if not shown else None, broken)
        if shown and (broken or not room.holds(line)):
            return Part("\n".join(shown), span.start, number - 1, go_on=number)
        room.take(line)
        shown.append(line)
        place, number = stop + 1, number + 1
    wanted = not (span.end and number > span.end)
    more = wanted and (content.lines is None or number <= content.lines)
    return Part("\n".join(shown), span.start, number - 1, go_on=number if more else 0)


def line_place(text: str, lines: int) -> int:
    """Where the line after `lines` line ends begins; the length of the text where there are
    fewer. Counts by blocks: a list of a million lines would take 60 MB."""
    place = 0
    while lines > 0:
        block = text.count("\n", place, place + _HEAD)
        if block < lines:
            lines, place = lines - block, place + _HEAD
            if place >= len(text):
                return len(text)
            continue
        for _ in range(lines):
            place = text.index("\n", place) + 1
        lines = 0
    return place


def visible(text: str) -> str:
    """Control characters as their pictures: nothing that a terminal, or the border for results,
    would act upon or take out."""
    return text.translate(_VISIBLE) if _ODD.search(text) else text


def shown_name(name: str) -> str:
    """A name on one line, whatever is in it."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return visible(text).replace("\n", "\u240a").replace("\t", "\u2409")


def size_of(count: int) -> str:
    """Bytes for people."""
    if count < 10_000:
        return f"{count:,} bytes"
    power = min((len(str(count)) - 1) // 3, 3)
    return f"{count / 1000**power:.1f} {('', 'KB', 'MB', 'GB')[power]}"


def _said_instead(name: str, head: bytes, size: int) -> str:
    if not size:
        return f"[{name} is empty: 0 bytes]"
    kind = kind_of(head)
    if kind in _IMAGES:
        return f"[{name} is a {kind}, {size_of(size)}; look at it with view_image]"
    return f"[{name} is not text: {kind}, {size_of(size)}]"


def _line(
    text: str, at: tuple[int, int, int], number: int, room: "Room | None", broken: bool
) -> str:
    """The line from `at[0]` to `at[1]`, cut where it is long; from the column `at[2]` on, if
    that was asked for, and then as far as there is room."""
    place, stop, column = at
    stop -= text[stop - 1 : stop + 1] == "\r\n"
    begin = min(place + max(column - 1, 0), stop)
    most = LINE_CHARS if room is None or not column else room.chars
    most = most if room is None else min(most, room.chars, room.size // 4 or most)
    if stop - begin <= most and not broken:
        return visible(text[begin:stop])
    raw = cut(text[begin : begin + most], max(most - 160, most // 2))
    left = f"{'more than ' if broken else ''}{stop - begin - len(raw):,}"
    return (
        f"{visible(raw)} [... {left} more characters in line {number}; startLine {number} with"
        f" startColumn {begin - place + len(raw) + 1} goes on, grep_search finds a place]"
    )


def _chunks(descriptor: int) -> Iterator[bytes]:
    os.lseek(descriptor, 0, os.SEEK_SET)
    while chunk := os.read(descriptor, _CHUNK):
        yield chunk


def _scanned(content: Content, kind: Text, descriptor: int, span: Span) -> Content:
    """A large file: the window is kept, the rest is only counted, and that not to the end
    where it is very large."""
    if kind.encoding.startswith("utf-") and kind.encoding != "utf-8":
        raise ToolError(f"{content.name} is too large to be read as {kind.encoding}.")
    to_end, digest = content.size <= _HASHED, hashlib.sha256()
    ends, window, last = 0, bytearray(), b""
    for chunk in _chunks(descriptor):
        if to_end:
            digest.update(chunk)
        found = chunk.count(b"\n")
        if window or ends + found >= span.start - 1:
            begin = 0 if window else _after(chunk, span.start - 1 - ends)
            window += chunk[begin : begin + _WINDOW - len(window)]
        if len(window) >= _WINDOW and not to_end:
            break
        ends, last = ends + found, chunk[-1:]
    else:
        stamp = digest.hexdigest() if to_end else content.stamp
        content = replace(content, stamp=stamp)
        return _windowed(content, kind, window, span, ends + (last != b"\n"))
    return _windowed(content, kind, window, span, None)


def _windowed(
    content: Content, kind: Text, window: bytearray, span: Span, lines: int | None
) -> Content:
    data = bytes(window)
    if span.start == 1:
        data = data.removeprefix(kind.bom)
    decoder = codecs.getincrementaldecoder(kind.encoding)("backslashreplace")
    full = len(window) >= _WINDOW
    text = decoder.decode(data, final=not full)
    broken = full and not text.endswith("\n")
    return replace(content, text=text, first=span.start, lines=lines, broken_off=broken)


def _after(chunk: bytes, lines: int) -> int:
    """Where the line after `lines` line ends begins in a chunk that has as many."""
    place = 0
    for _ in range(lines):
        place = chunk.index(b"\n", place) + 1
    return place

"""The border: every result of every tool leaves through it, clean, bounded, without secrets."""

import asyncio
import codecs
import hashlib
import re
import unicodedata
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec

from shipmate.protocol import ImageDetail, new_id
from shipmate.safety.redaction import redacted, redacted_struct
from shipmate.tools.decode import decode_line
from shipmate.tools.tool import ToolOutput, Workspace

NOTHING = "(no output)"
SPILL = "output:"
"""`read_file` reads `output:<call>`: the whole text of an earlier result of this session."""

_LINE_CHARS = 2_000
"""A line of a result that must be cut keeps at least this much."""
_NOTICE_CHARS = 400
"""Room kept for the notice in front."""
MAX_SPILLED = 50_000_000
"""Characters of a whole text that are kept."""
_LINE_BYTES = 65_536
"""A line that is longer is decoded in pieces."""

_CONTROLS = bytes(c for c in range(32) if c not in b"\t\n") + b"\x7f"
_SUSPECT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS
    r"|\x1b[ -/]*[0-~]"  # other escapes
    r"|[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)
_LINE_END = re.compile(r"\r+\n?")
_REPLACED = re.compile(r"[\x00\ud800-\udfff]")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


def clean(text: str) -> str:
    """Text without terminal sequences and control characters; line ends are LF, NUL and
    halves of surrogate pairs are U+FFFD. Tabs stay."""
    if text.isascii():
        raw = text.encode()
        if len(raw.translate(None, _CONTROLS)) == len(raw):
            return text
    elif not _SUSPECT.search(text):
        return text
    text = _LINE_END.sub("\n", _SEQUENCE.sub("", text))
    return _REPLACED.sub("\ufffd", text)


def cut(text: str, limit: int) -> str:
    """The longest beginning within `limit` characters that ends with a line, or, when that
    would lose more than half of it, between two characters as people see them."""
    if len(text) <= limit:
        return text
    line = text.rfind("\n", 0, limit) + 1
    if line * 2 >= limit:
        return text[:line]
    return text[: _border(text, limit)]


def _border(text: str, at: int) -> int:
    """The next place at or before `at` that is not inside a grapheme; steps back 64 at most."""
    for place in range(at, max(at - 64, 0), -1):
        if not _joined(text[place - 1], text[place]):
            return place
    return at


def _joined(before: str, after: str) -> bool:
    """Whether a cut between the two would split a grapheme (the common rules of UAX 29)."""
    if after < "\u0300":
        return before == "\r" and after == "\n"
    flags = "\U0001f1e6" <= after <= "\U0001f1ff" and "\U0001f1e6" <= before <= "\U0001f1ff"
    return (
        before == "\u200d"
        or after == "\u200d"
        or flags
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or "\U000e0020" <= after <= "\U000e007f"
        or unicodedata.category(after) in {"Mn", "Me", "Mc"}
    )


class Decoder:
    """Bytes of a stream to text, line by line: UTF-8, else GB 18030 where a line reads as
    Chinese, else its bad bytes as `\\xNN`. Characters may be cut anywhere between two feeds."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> str:
        """The text of the lines that are complete."""
        data = self._rest + data
        end = data.rfind(b"\n") + 1
        if len(data) - end > _LINE_BYTES:
            end = len(data) - _unfinished(data)
        self._rest = data[end:]
        return _decode_lines(data[:end])

    def end(self) -> str:
        """What was left: a last line without an end."""
        rest, self._rest = self._rest, b""
        return _decode_lines(rest)


def _decode_lines(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "".join(decode_line(line + b"\n") for line in data.split(b"\n"))[:-1]


def _unfinished(data: bytes) -> int:
    """How many bytes at the end begin a UTF-8 character that is not whole."""
    tail = data[-4:]
    decoder = codecs.getincrementaldecoder("utf-8")("ignore")
    decoder.decode(tail)
    return len(decoder.getstate()[0])


class HeadTail:
    """Collects text of any length in bounded memory: its first and its last characters."""

    def __init__(self, head: int = 8_000, tail: int = 8_000) -> None:
        self._room = head
        self._tail_chars = tail
        self._head: list[str] = []
        self._tail: deque[str] = deque()
        self._tailed = 0
        self.chars = 0
        """Characters added, kept or not."""
        self.lines = 0
        """Line ends added, kept or not."""

    def add(self, text: str) -> None:
        self.chars += len(text)
        self.lines += text.count("\n")
        if self._room:
            self._head.append(text[: self._room])
            self._room, text = max(self._room - len(text), 0), text[self._room :]
        if text:
            self._tail.append(text[-self._tail_chars :])
            self._tailed += len(self._tail[-1])
            while self._tailed - len(self._tail[0]) >= self._tail_chars:
                self._tailed -= len(self._tail.popleft())

    @property
    def truncated(self) -> bool:
        return self.chars > sum(map(len, self._head)) + self._tail_chars

    def text(self) -> str:
        """All of it, or head and tail, cut at lines, with the gap named between them."""
        head, tail = "".join(self._head), "".join(self._tail)
        if not self.truncated:
            return head + tail
        tail = tail[-self._tail_chars :]
        head = cut(head, len(head) - 1)
        start = tail.find("\n") + 1
        tail = tail[start if start * 2 <= len(tail) else 0 :]
        gone = self.chars - len(head) - len(tail)
        lines = self.lines - head.count("\n") - tail.count("\n")
        gap = f"[... {gone:,} characters ({lines:,} lines) left out here ...]"
        return f"{head.rstrip(chr(10))}\n{gap}\n{tail}"


def spill_file(work: Workspace, call: str) -> Path | None:
    """Where the whole text of a call's result is kept; None when nothing can be kept."""
    if work.files is None or not _NAME.fullmatch(call):
        return None
    session = work.session if _NAME.fullmatch(work.session) else "_"
    return work.files / "outputs" / session / f"{call}.txt"


async def border(output: ToolOutput | str, work: Workspace, call: str) -> ToolOutput:
    """The result as it is recorded and sent to the model: cleaned, never empty, at most
    `limits.tool_result_chars` with the notice in front; what was longer is kept whole under
    the name `output:<call>`, which `read_file` pages."""
    output = ToolOutput(output) if isinstance(output, str) else output
    if output.images:
        output = await asyncio.to_thread(_with_images, output, work)
    shapes = work.limits.hide_keys
    if output.details is not None:
        output = replace(output, details=redacted_struct(output.details, shapes=shapes))
    text = redacted(clean(output.text), shapes=shapes)
    if not text.strip():
        return replace(output, text=NOTHING)
    limit = work.limits.tool_result_chars
    if len(text) <= limit:
        return output if text == output.text else replace(output, text=text)
    name = await keep_whole(text, work, call)
    room = max(limit - _NOTICE_CHARS, limit // 2)
    shown = cut(_short_lines(text, room), room)
    notice = _notice(text, shown, name)
    return replace(output, text=f"{notice}\n{shown}"[:limit], truncated=True)


async def keep_whole(text: str, work: Workspace, call: str) -> str:
    """Keep the whole text of a result; the name under which `read_file` pages it, or ""."""
    text = redacted(text, shapes=work.limits.hide_keys)
    kept = await asyncio.to_thread(_spill, text, spill_file(work, call))
    return f"{SPILL}{call}" if kept else ""


def _with_images(output: ToolOutput, work: Workspace) -> ToolOutput:
    """The first image is kept under `files/<id>` for the card, its id in the details; a model
    that cannot see is told what it does not see."""
    first, details = output.images[0], output.details
    if details is None or isinstance(details, ImageDetail):
        details = details or ImageDetail(media_type=first.media_type, file="")
        details = msgspec.structs.replace(details, file=_keep(first.data, work))
    if work.vision:
        return replace(output, details=details)
    kinds = ", ".join(f"1 {image.media_type}" for image in output.images)
    text = f"{output.text}\n[{kinds} (not shown to this model)]".lstrip("\n")
    return replace(output, text=text, details=details, images=())


def _keep(data: bytes, work: Workspace) -> str:
    """The id of a stored file; "" when it could not be stored: the card then shows none."""
    if work.files is None:
        return ""
    name = hashlib.sha256(data).hexdigest()[:24]
    path, made = work.files / name, work.files / f"{name}.{new_id()}"
    try:
        work.files.mkdir(parents=True, exist_ok=True, mode=0o700)
        made.write_bytes(data)
        made.replace(path)
    except OSError:
        return ""
    return name


def _spill(text: str, path: Path | None) -> bool:
    """False when it could not be kept (no folder, disk full): the notice then says so."""
    if path is None:
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with path.open("w", encoding="utf-8", newline="") as file:
            file.write(text[:MAX_SPILLED])
    except OSError:
        return False
    return True


def _short_lines(text: str, room: int) -> str:
    """Lines within their even share of the room, so that one of them cannot take it all."""
    share = max(_LINE_CHARS, room // (text.count("\n", 0, -1) + 1))
    return "\n".join(_shortened(text, share, room))


def _shortened(text: str, share: int, room: int) -> Iterator[str]:
    """Only as many lines as can be shown."""
    start = 0
    while start <= len(text) and room >= 0:
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start : min(end, start + share + 64)]
        if end - start > share:
            line = line[: _border(line, share)]
            line = f"{line} [... {end - start - len(line):,} more characters in this line]"
        yield line
        room -= len(line) + 1
        start = end + 1


def _notice(text: str, shown: str, name: str) -> str:
    lines, whole = shown.count("\n"), text.count("\n") + (not text.endswith("\n"))
    line = "line" if whole == 1 else "lines"
    size = f"{lines or 1:,} of {whole:,} {line}, {len(shown):,} of {len(text):,} characters"
    said = f"Cut: this is the beginning ({size})."
    if not name:
        return f"[{said} The rest could not be kept; ask for less, or for a part.]"
    go_on = f', "startLine": {lines + 1}' if lines and lines < whole else ""
    return f'[{said} The whole text: read_file {{"path": "{name}"{go_on}}}]'

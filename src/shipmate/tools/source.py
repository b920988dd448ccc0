"""A text file as bytes, and as the view with LF line ends on which edits are matched."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shipmate.tools.decode import decode, kind_of
from shipmate.tools.tool import ToolError


@dataclass(frozen=True, slots=True)
class Source:
    """`view` is what a model sees; positions in it map to the bytes they came from."""

    data: bytes
    view: str
    text: str
    """As it stands: with its own line ends. It encodes to exactly the bytes after the BOM."""
    encoding: str
    bom: bytes
    returns: tuple[int, ...]
    """Positions in `view` of the line ends that are CR LF in the file."""

    def splice(self, places: Sequence[tuple[int, int, str]]) -> bytes:
        """The file with each `view[start:end]` replaced by a text, in the line ends and the
        encoding that stand there. The places ascend and do not overlap; other bytes stay."""
        parts = [self.bom]
        char, done = 0, len(self.bom)
        for start, end, new in places:
            first = done + self._bytes(char, start)
            parts += self.data[done:first], self.encoded(new, start, end)
            char, done = end, first + self._bytes(start, end)
        return b"".join([*parts, self.data[done:]])

    def encoded(self, new: str, start: int, end: int) -> bytes:
        """`new`, which has LF line ends, as the bytes that belong between `start` and `end`."""
        ends = self._with_ends(new, start, end)
        try:
            return ends.encode(self.encoding)
        except UnicodeEncodeError as error:
            bad = ends[error.start : error.end]
            raise ToolError(
                f"{bad!r} cannot be written in the file's encoding, {self.encoding}. Use other "
                "characters, or write the whole file with write_file (it becomes UTF-8)."
            ) from error

    def lines_of(self, positions: Iterable[int]) -> list[int]:
        """Line numbers, from 1, of ascending positions. Lines end at LF only."""
        lines: list[int] = []
        line, done = 1, 0
        for position in positions:
            line, done = line + self.view.count("\n", done, position), position
            lines.append(line)
        return lines

    def _bytes(self, start: int, end: int) -> int:
        """Bytes of `view[start:end]` in the file."""
        part = self.text[self._in_text(start) : self._in_text(end)]
        return len(part.encode(self.encoding, _errors(self.encoding)))

    def _in_text(self, position: int) -> int:
        return position + bisect_left(self.returns, position)

    def _with_ends(self, new: str, start: int, end: int) -> str:
        """Line by line as before where as many lines are put as are taken, else all alike."""
        taken = self.view.count("\n", start, end)
        if taken != new.count("\n") or not taken:
            return new.replace("\n", "\r\n") if self._returns_near(start, end) else new
        at, parts = start - 1, [""]
        for line in new.split("\n")[:-1]:
            at = self.view.find("\n", at + 1)
            parts += line, "\r\n" if self._is_return(at) else "\n"
        return "".join([*parts, new[new.rfind("\n") + 1 :]])

    def _returns_near(self, start: int, end: int) -> bool:
        """Whether lines end in CR LF here: the first end within, else the next, else the last."""
        near = self.view.find("\n", start, end)
        near = near if near >= 0 else self.view.find("\n", end)
        return self._is_return(near if near >= 0 else self.view.rfind("\n", 0, start))

    def _is_return(self, position: int) -> bool:
        place = bisect_left(self.returns, position)
        return place < len(self.returns) and self.returns[place] == position


def read_source(data: bytes) -> Source:
    """Take a file apart; ToolError where it is no text that could be put together again."""
    found = decode(data)
    if found is None:
        raise ToolError(f"It is {kind_of(data)}, not text, so it cannot be edited.")
    body = data[len(found.bom) :]
    text, encoding = found.text, found.encoding
    if not found.exact and encoding == "utf-8":
        text = body.decode("utf-8", "surrogateescape")
    if text.encode(encoding, _errors(encoding)) != body:
        text, encoding = _byte_for_byte(body, encoding)
    view = text.replace("\r\n", "\n")
    return Source(data, view, text, encoding, found.bom, _returns(text))


def _byte_for_byte(body: bytes, encoding: str) -> tuple[str, str]:
    """Text that its own encoding does not give back: one character a byte, none is lost."""
    if encoding.startswith(("utf-16", "utf-32")):
        raise ToolError(f"Its {encoding} is damaged, so it cannot be edited as text.")
    return body.decode("latin-1"), "latin-1"


def _returns(text: str) -> tuple[int, ...]:
    places: list[int] = []
    at = text.find("\r\n")
    while at >= 0:
        places.append(at - len(places))
        at = text.find("\r\n", at + 2)
    return tuple(places)


def _errors(encoding: str) -> str:
    """Damaged bytes within UTF-8 are kept as lone surrogates; text to write never has any."""
    return "surrogateescape" if encoding == "utf-8" else "strict"


def in_the_style_of(before: bytes | None, content: str) -> bytes:
    """Content written whole over a file keeps its encoding and BOM, and CR LF where all lines
    end so. What its encoding cannot say becomes UTF-8."""
    try:
        plain = content.encode()
    except UnicodeEncodeError as error:
        raise ToolError("The content holds half a character (a lone surrogate).") from error
    found = decode(before) if before else None
    if found is None:
        return plain
    ends = found.text.count("\n")
    if ends and ends == found.text.count("\r\n") and "\r\n" not in content:
        content = content.replace("\n", "\r\n")
    try:
        return found.bom + content.removeprefix("\ufeff" if found.bom else "").encode(
            found.encoding
        )
    except UnicodeEncodeError:
        return content.encode()

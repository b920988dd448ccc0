"""Glob patterns on project-relative paths: `*`, `?`, `[a-z]`, `**` and `{a,b}`."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from shipmate.tools.tool import ToolError

_MOST = 64
"""Alternatives that braces may spell out."""
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_PIECE = re.compile(r"\*+|\?|\[(?:!|\^)?\]?[^\]/]*\]|.", re.DOTALL)
_ESCAPING = re.compile(rf"\\.|{_PIECE.pattern}", re.DOTALL)
_SPECIAL = re.compile(r"[\\\[\]&~|^]")
"""What would mean something to `re` within brackets."""
Segment: TypeAlias = "re.Pattern[str] | None"
"""What one name of a path must match; None stands for any number of names."""


def glob(pattern: str) -> Callable[[str], bool]:
    """A test for relative paths with `/`. A pattern that does not begin with `/` matches in any
    folder. However it is written, matching takes no more than pattern times path."""
    wanted = [_segments(one) for one in spelled_out(pattern)]
    return lambda path: any(fits(one, path.split("/")) for one in wanted)


def fits(wanted: Sequence[Segment], names: Sequence[str]) -> bool:
    """Whether the names are the wanted ones. Where one is not, it is enough to go back to the last
    None: what an earlier one could take more, that one can take as well."""
    at = name = 0
    back, mark = -1, 0
    while name < len(names):
        segment = wanted[at] if at < len(wanted) else _NOTHING
        if segment is None:
            back, mark = at, name
            at += 1
        elif segment.fullmatch(names[name]):
            at, name = at + 1, name + 1
        elif back >= 0:
            mark += 1
            at, name = back + 1, mark
        else:
            return False
    return all(segment is None for segment in wanted[at:])


def spelled_out(pattern: str) -> list[str]:
    """The pattern without braces."""
    pattern = pattern.strip()
    if pattern.count("*") > 20 or len(pattern) > 500:
        raise ToolError("The pattern is too long, or has too many `*`; use a simpler one.")
    found = [pattern]
    while any(_BRACES.search(one) for one in found):
        found = [other for one in found for other in _opened(one)]
        if len(found) > _MOST:
            raise ToolError(f"The braces of {pattern!r} spell out more than {_MOST} patterns.")
    return found


def has_magic(pattern: str) -> bool:
    return any(char in pattern for char in "*?[{")


def names_dot(pattern: str) -> bool:
    """A pattern that names a dot at the beginning of a name wants dot files."""
    return re.search(r"(?:^|[/{,])\.[^./]", pattern) is not None


def fixed_folder(pattern: str) -> str:
    """The folder that all matches of an anchored pattern are in: `src/a` of `/src/a/**/*.py`."""
    if not pattern.startswith("/"):
        return ""
    folders = pattern.strip("/").split("/")[:-1]
    fixed = next((i for i, name in enumerate(folders) if has_magic(name)), len(folders))
    return "/".join(folders[:fixed])


def _opened(pattern: str) -> Iterator[str]:
    found = _BRACES.search(pattern)
    if not found:
        yield pattern
        return
    for word in found[1].split(","):
        yield pattern[: found.start()] + word + pattern[found.end() :]


def _segments(pattern: str) -> list[Segment]:
    anchored = pattern.startswith("/")
    pattern = pattern.removeprefix("./").strip("/") + ("/**" if pattern.endswith("/") else "")
    return [*([] if anchored else [None]), *segments(pattern.split("/"))]


def segments(names: Sequence[str], *, escapes: bool = False) -> list[Segment]:
    """Of the parts of a pattern; `**` at the end stands for at least one name. `escapes`: a
    backslash takes the next character's meaning away."""
    found = [None if name == "**" else segment(name, escapes=escapes) for name in names]
    return [*found, _ANYTHING] if names[-1] == "**" else found


def segment(name: str, *, escapes: bool = False) -> re.Pattern[str]:
    """For one name; matching takes linear time for each `*` (atomic groups, as in `fnmatch`)."""
    return re.compile(_segment((_ESCAPING if escapes else _PIECE).findall(name)), re.DOTALL)


def _segment(pieces: Sequence[str]) -> str:
    """Each `*` but the last one takes as little as leads to the next fixed part, for good."""
    parts = [""]
    for piece in pieces:
        if piece.startswith("*"):
            parts.append("")
        else:
            parts[-1] += _character(piece)
    if len(parts) == 1:
        return parts[0]
    first, *middle, end = parts
    return first + "".join(f"(?>[^/]*?{part})" for part in middle if part) + f"[^/]*{end}"


def _character(piece: str) -> str:
    if piece == "?":
        return "[^/]"
    if piece[0] == "\\" and len(piece) == 2:
        return re.escape(piece[1])
    if len(piece) > 1:
        other = piece[1] in "!^"
        inside = _SPECIAL.sub(r"\\\g<0>", piece[2:-1] if other else piece[1:-1])
        inside = f"^/{inside}" if other else inside
        return _class(f"[{inside}]", piece)
    return re.escape(piece)


def _class(regex: str, piece: str) -> str:
    try:
        re.compile(regex)
    except re.error:
        return re.escape(piece)
    return regex


_NOTHING, _ANYTHING = re.compile(r"(?!)"), re.compile(r".*", re.DOTALL)

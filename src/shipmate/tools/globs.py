"""Glob patterns on project-relative paths: `*`, `?`, `[a-z]`, `**` and `{a,b}`."""

import re
from collections.abc import Callable, Iterator

from shipmate.tools.tool import ToolError

_MOST = 64
"""Alternatives that braces may spell out."""
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_PIECE = re.compile(r"\*+|\?|\[(?:!|\^)?\]?[^\]/]*\]|.", re.DOTALL)


def glob(pattern: str) -> Callable[[str], bool]:
    """A test for relative paths with `/`. A pattern that does not begin with `/` matches in any
    folder. Matching takes linear time in each segment (atomic groups, as in `fnmatch`)."""
    alternatives = "|".join(_translated(one) for one in spelled_out(pattern))
    return lambda path, match=re.compile(alternatives, re.DOTALL).fullmatch: bool(match(path))


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


def _translated(pattern: str) -> str:
    anchored = pattern.startswith("/")
    pattern = pattern.removeprefix("./").strip("/") + ("/**" if pattern.endswith("/") else "")
    segments = pattern.split("/")
    regex = "" if anchored or segments[0] == "**" else r"(?:[^/]+/)*?"
    for place, segment in enumerate(segments):
        last = place == len(segments) - 1
        if segment == "**":
            regex += ".*" if last else r"(?:[^/]+/)*?"
        else:
            regex += _segment(segment) + ("" if last else "/")
    return f"(?:{regex})"


def _segment(segment: str) -> str:
    """Each `*` but the last one takes as little as leads to the next fixed part, for good."""
    parts = [""]
    for piece in _PIECE.findall(segment):
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
    if len(piece) > 1:
        inside = piece[1:-1].replace("\\", r"\\")
        inside = f"^/{inside[1:]}" if inside.startswith(("!", "^")) else inside
        return _class(f"[{inside}]", piece)
    return re.escape(piece)


def _class(regex: str, piece: str) -> str:
    try:
        re.compile(regex)
    except re.error:
        return re.escape(piece)
    return regex

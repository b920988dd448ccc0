"""What a path's spelling alone tells, before the disk is asked. Nothing is ever expanded."""

import re
import unicodedata
from dataclasses import dataclass
from pathlib import PureWindowsPath
from typing import Literal
from urllib.parse import unquote

from shipmate.safety.paths_places import fold

Platform = Literal["linux", "macos", "windows"]
MAX_BYTES = 4096
"""PATH_MAX of Linux; longer paths cannot be opened."""


class SpellingError(Exception):
    """The path cannot be used as it is spelled. `denied`: it aims outside, or hides where."""

    def __init__(self, reason: str, *, denied: bool = False) -> None:
        super().__init__(reason)
        self.denied = denied


@dataclass(frozen=True, slots=True)
class Spelled:
    parts: tuple[str, ...]
    """Without empty parts and `.`; `..` is kept: where it leads is the disk's to say."""
    absolute: bool = False
    folder: bool = False
    """It ended in a separator, so it can only be a folder."""


_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/+[^\\]", re.ASCII)
_VARIABLE = re.compile(
    r"~[^/\\]*(?=[/\\])|~|[A-Za-z]:(?=[/\\])|\$\{?[A-Z_][A-Z0-9_]*\}?|%\w+%", re.ASCII
)
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)( *\..*)?")
_SHORT = re.compile(r"[^.~]{1,6}~\d{1,6}(\.[^.]{0,3})?")


def spell(path: str, root: str, platform: Platform) -> Spelled:
    """Take a path apart by the rules of a platform; SpellingError where that cannot be."""
    _check_text(path)
    if platform == "windows":
        return _windows(path, root)
    parts = tuple(part for part in path.split("/") if part not in {"", "."})
    if platform == "macos" and any(fold(part) == "..namedfork" for part in parts):
        raise SpellingError("A fork of a file is not the file itself.", denied=True)
    ends = path.endswith(("/", "/.")) or path == "."
    return Spelled(parts, absolute=path.startswith("/"), folder=ends)


def looks_expanded(part: str, rest: bool) -> bool:
    """The first part is a drive, or what a shell would expand: `~`, `$HOME`, `%TEMP%`."""
    match = _VARIABLE.match(part + "/" if rest else part)
    return match is not None and part[match.end() : match.end() + 1] in {"", "\\"}


def climbs(part: str) -> bool:
    """Names that are `..` to a reader who decodes, composes or shortens them. (What a backslash
    means is decided elsewhere.)"""
    if "\\" in part:
        return False
    plain = unquote(unquote(part.lower().replace("%c0%af", "/").replace("%c0%ae", ".")))
    pieces = re.split(r"[/\\;]", unicodedata.normalize("NFKC", plain))
    return ".." in pieces or re.fullmatch(r"\.{4,}", part) is not None


def _check_text(path: str) -> None:
    if not path.strip():
        raise SpellingError("The path is empty.")
    if "\0" in path:
        raise SpellingError("The path contains a NUL character.")
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise SpellingError("The path is not valid Unicode.") from None
    if size > MAX_BYTES:
        raise SpellingError(f"The path is longer than {MAX_BYTES} bytes.")
    if _URL.match(path):
        raise SpellingError("This is a URL, not a path of the project.")


def _windows(path: str, root: str) -> Spelled:
    text = path.replace("/", "\\")
    if text.startswith("\\\\"):
        raise SpellingError("Network and device paths are outside the project.", denied=True)
    pure, base = PureWindowsPath(text), PureWindowsPath(root)
    names = [part for part in pure.parts if part != pure.anchor]
    absolute = bool(pure.drive or pure.root)
    if pure.drive and not pure.root:
        raise SpellingError("A path relative to a drive is outside the project.", denied=True)
    inside = [fold(p) for p in pure.parts[: len(base.parts)]] == [fold(p) for p in base.parts]
    if absolute and inside:
        names, absolute = list(pure.parts[len(base.parts) :]), False
    elif pure.drive:
        raise SpellingError("The path is outside the project.", denied=True)
    for name in names:
        _check_windows_name(name)
    return Spelled(tuple(names), absolute=absolute, folder=text.endswith("\\"))


def _check_windows_name(name: str) -> None:
    if name == "..":
        return
    reason = ""
    if _DEVICE.fullmatch(name.casefold()):
        reason = "is the name of a device"
    elif ":" in name:
        reason = "names a stream"
    elif name.endswith((".", " ")):
        reason = "ends in a dot or a blank, which Windows drops"
    elif _SHORT.fullmatch(name):
        reason = "is a short name that hides the real one"
    elif re.search(r'[<>"|?*\x00-\x1f]', name):
        reason = "has characters that Windows does not allow in a name"
    if reason:
        raise SpellingError(f"{name!r} {reason}.", denied=True)

"""Which files a search looks at: a glob, a folder or a file, as models write it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import takewhile

from shipmate.safety.paths_places import secret_of
from shipmate.safety.verdict import ALLOW, Verdict
from shipmate.tools.files import decide, path_verdict
from shipmate.tools.globs import fixed_folder, glob, has_magic, spelled_out
from shipmate.tools.reading import shown_name
from shipmate.tools.ripgrep import Search
from shipmate.tools.tool import ToolError, Workspace

_SIMPLE = re.compile(r"[\w.*?-]+")


@dataclass(frozen=True, slots=True)
class Scope:
    start: str = "./"
    """Where to look, relative to the project's folder."""
    names: tuple[str, ...] = ()
    """Globs of file names, to look at fewer files; `holds` decides."""
    holds: Callable[[str], bool] | None = None
    """Whether a file belongs to it; None: all from `start` on."""

    def narrow(self, search: Search) -> Search:
        return replace(search, start=self.start, names=self.names)


def judge_scope(work: Workspace, pattern: str) -> Verdict:
    """Refused where the pattern leads out of the project. Asks the disk."""
    pattern = _below(work, pattern.strip())
    fixed = takewhile(lambda name: not has_magic(name), pattern.split("/"))
    decision = decide(work, "/".join(fixed) or ".", "search")
    return path_verdict(decision) if decision.verdict == "deny" else ALLOW


def scope_of(work: Workspace, pattern: str) -> Scope:
    """Of a pattern that `judge_scope` let pass. Asks the disk."""
    pattern = _below(work, pattern.strip())
    if pattern in {"", ".", "./", "/"}:
        return Scope()
    if ".." in pattern.split("/"):
        raise ToolError(f"{pattern!r}: write the pattern without `..`.")
    if not has_magic(pattern):
        decision = decide(work, pattern, "search")
        if decision.usable:
            return Scope(f"./{decision.relative}" if decision.relative != "." else "./")
    folder = fixed_folder(pattern)
    anchored = bool(folder) and decide(work, folder, "list").relative == folder
    return Scope(f"./{folder}" if anchored else "./", _names(pattern), glob(pattern))


def is_secret(work: Workspace, relative: str) -> bool:
    """Searches leave out what may hold secrets, as reading it asks."""
    return work.ask_secrets and bool(secret_of(relative.split("/")))


def secret_start(work: Workspace, scope: Scope) -> str:
    """Why a file that was named cannot be searched, or ""."""
    relative = scope.start.removeprefix("./")
    if not relative or not is_secret(work, relative):
        return ""
    name = shown_name(relative)
    return f"{name} may hold secrets: searches leave it out; read_file asks the user for it."


def _below(work: Workspace, pattern: str) -> str:
    """A pattern that begins with the project's own path, anchored there."""
    root = work.root.as_posix()
    rest = pattern.removeprefix(root)
    return rest if rest != pattern and rest.startswith("/") else pattern


def _names(pattern: str) -> tuple[str, ...]:
    """The last parts, where ripgrep reads them as we do."""
    names = [one.rpartition("/")[2] for one in spelled_out(pattern)]
    plain = all(_SIMPLE.fullmatch(name) and name.strip("*") for name in names)
    return tuple(dict.fromkeys(names)) if plain else ()

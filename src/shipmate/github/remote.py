"""Which repository is a project's: named in its settings, else by its git remote."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from shipmate.github.client import GitHub
from shipmate.github.failures import NoRepositoryError
from shipmate.github.repository import Name, Repository
from shipmate.github.settings import Place
from shipmate.safety.sandbox.room import SandboxSettings
from shipmate.tools.git import GitError, run_git

Source: TypeAlias = Literal["settings", "remote"]
HOLDS_S: Final = 30.0
"""So long what git said of a project's remotes is believed."""
_OWNER: Final = r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9_])?"
_REPO: Final = r"[A-Za-z0-9._-]{1,100}"
_NAME: Final = re.compile(rf"({_OWNER})/({_REPO})")
_SCP: Final = re.compile(r"(?:[\w.-]+@)?([\w.-]+):(?!/)(.+)")
_SET: Final = "Set it as `github` of the project (owner/name)."


def read_name(text: str) -> Name | None:
    """`owner/name`, or nothing."""
    found = _NAME.fullmatch(text)
    if found is None or found[2] in (".", ".."):
        return None
    return Name(found[1], found[2])


def of_url(url: str, host: str) -> Name | None:
    """The repository of a remote's address, if that is at `host`: https, ssh or `git@host:…`."""
    if "://" in url:
        try:
            parts = urlsplit(url)
            there, path = parts.hostname or "", parts.path.lstrip("/")
            port = f":{parts.port}" if parts.port and parts.scheme in ("http", "https") else ""
        except ValueError:
            return None
    elif scp := _SCP.fullmatch(url):
        there, path, port = scp[1], scp[2], ""
    else:
        return None
    ours = host if port else host.partition(":")[0]
    if f"{there}{port}".lower() not in (ours, f"ssh.{ours}", f"www.{ours}"):
        return None
    return read_name(path.rstrip("/").removesuffix(".git"))


@dataclass(slots=True)
class Remotes:
    """Repositories of projects by their folders. Git runs in the sandbox and only reads."""

    clock: Callable[[], float] = time.monotonic
    _known: dict[tuple[Path, str], tuple[float, Name]] = field(
        default_factory=dict[tuple[Path, str], tuple[float, Name]]
    )

    async def of(
        self, root: Path, place: Place, protected: tuple[Path, ...], sandbox: SandboxSettings
    ) -> Name:
        """Raises `NoRepositoryError`."""
        at, name = self._known.get((root, place.host), (float("-inf"), None))
        if name is not None and self.clock() - at < HOLDS_S:
            return name
        name = await _asked(root, place, protected, sandbox)
        self._known[root, place.host] = (self.clock(), name)
        return name


@dataclass(slots=True)
class Repositories:
    """The repositories of the projects."""

    github: GitHub
    protected: tuple[Path, ...]
    """Folders that no git looks into."""
    sandbox: Callable[[], SandboxSettings]
    remotes: Remotes = field(default_factory=Remotes)

    async def of(self, root: Path, named: str) -> tuple[Repository, Source]:
        """`named`: what the project's settings say. Raises `NoRepositoryError`."""
        if named:
            if (name := read_name(named)) is None:
                raise NoRepositoryError(f"The project names {named!r}, which is not owner/name.")
            return Repository(self.github, name), "settings"
        name = await self.remotes.of(root, self.github.place, self.protected, self.sandbox())
        return Repository(self.github, name), "remote"


async def _asked(
    root: Path, place: Place, protected: tuple[Path, ...], sandbox: SandboxSettings
) -> Name:
    query = ("config", "--get-regexp", r"^remote\..*\.url$")
    try:
        said = await run_git(root, *query, protected=protected, settings=sandbox)
    except GitError as error:
        why = str(error)
        if why.startswith("git ended with status"):
            why = "The project's folder has no git remote."
        raise NoRepositoryError(f"No repository at {place.host} is known. {why} {_SET}") from error
    found: dict[str, Name] = {}
    for entry in said.split("\n"):
        key, _, url = entry.partition(" ")
        remote = key.removeprefix("remote.").removesuffix(".url")
        if (name := of_url(url, place.host)) is not None:
            found.setdefault(remote, name)
    for remote in ("origin", "upstream", *found):
        if remote in found:
            return found[remote]
    raise NoRepositoryError(f"None of the project's git remotes is at {place.host}. {_SET}")

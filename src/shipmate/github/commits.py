"""What a branch of the project has that its remotes do not, as our own git tells it."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shipmate.github.patches import file_change
from shipmate.github.wire import WireFile
from shipmate.protocol import FileChange
from shipmate.safety.sandbox.room import SandboxSettings
from shipmate.tools.git import GitError, run_git
from shipmate.tools.output import clean
from shipmate.tools.tool import ToolError

MOST: Final = 100
"""Commits that are shown; with more, all of them must be pushed by hand."""
NOTHING: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The empty tree."""
_BRANCH: Final = re.compile(r"(?!/|-)[\w./+@-]{1,200}(?<!/)(?<!\.)(?<!\.lock)")
_STATUS: Final = {"new file": "added", "deleted file": "removed", "rename from": "renamed"}


@dataclass(frozen=True, slots=True)
class Git:
    """Our own git in one project: in the sandbox, and it only reads."""

    root: Path
    protected: tuple[Path, ...]
    sandbox: SandboxSettings

    async def run(self, *arguments: str) -> str:
        return await run_git(self.root, *arguments, protected=self.protected, settings=self.sandbox)


@dataclass(frozen=True, slots=True)
class Branch:
    name: str
    sha: str
    commits: tuple[str, ...]
    """Ids and first lines of those that no remote is known to have, the oldest first."""
    files: tuple[FileChange, ...]
    """What these commits change, all together."""


async def branch_of(git: Git, name: str) -> Branch:
    """Raises `ToolError`: there is no such branch, or git cannot say."""
    if not _BRANCH.fullmatch(name) or ".." in name or "//" in name or "@{" in name:
        raise ToolError(f"{name!r} is no name of a branch.")
    try:
        found = await git.run("rev-parse", "--verify", "--quiet", f"refs/heads/{name}^{{commit}}")
    except GitError as error:
        raise ToolError(f"There is no branch {name!r} here; make it and commit to it.") from error
    sha = found.strip()
    if not re.fullmatch(r"[0-9a-f]{40}", sha):
        raise ToolError("Only repositories with SHA-1 ids can be pushed.")
    try:
        new = ("--reverse", sha, "--not", "--remotes")
        told = await git.run("log", "--format=%H %h %s", f"--max-count={MOST + 1}", *new)
        lines = [line for line in told.split("\n") if line]
        if len(lines) > MOST:
            raise ToolError(f"More than {MOST} commits are new: push them by hand.")
        files = await _changed(git, lines[0].split(" ")[0], sha) if lines else ()
    except GitError as error:
        raise ToolError(f"Git cannot tell what is new: {error}") from error
    return Branch(name, sha, tuple(clean(line.partition(" ")[2]) for line in lines), files)


async def _changed(git: Git, first: str, last: str) -> tuple[FileChange, ...]:
    parents = (await git.run("rev-list", "--parents", "--max-count=1", first)).split()
    before = parents[1] if len(parents) > 1 else NOTHING
    options = ("--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")
    said = await git.run("diff", *options, before, last)
    return tuple(map(_file, re.split(r"(?m)^diff --git ", said)[1:]))


def _file(text: str) -> FileChange:
    head, _, patch = text.partition("\n@@")
    lines = head.split("\n")
    path = lines[0].rpartition(" b/")[2]
    status = "modified"
    was = ""
    for line in lines[1:]:
        for start, name in _STATUS.items():
            status = name if line.startswith(start) else status
        was = line.removeprefix("rename from ") if line.startswith("rename from ") else was
    patch = f"@@{patch}" if patch else ""
    rows = patch.split("\n")
    return file_change(
        WireFile(
            filename=path.strip('"'),
            status=status,
            additions=sum(row.startswith("+") for row in rows),
            deletions=sum(row.startswith("-") for row in rows),
            patch=patch,
            previous_filename=was,
        )
    )

"""The state of a project's git, as far as one line of the page needs it."""

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from shipmate.safety.sandbox.room import SandboxSettings
from shipmate.tools.git import run_git

STATUS = ("status", "--porcelain=v2", "--branch", "--ignore-submodules=all")


class GitState(Struct, frozen=True, kw_only=True):
    branch: str = ""
    """Empty where none is checked out."""
    commit: str = ""
    """Its short id; empty before the first one."""
    upstream: str = ""
    ahead: int = 0
    behind: int = 0
    """In commits, against what was last fetched."""
    changed: int = 0
    """Files that differ from the last commit, those that git does not know included."""
    conflicts: int = 0


async def git_state(root: Path, protected: tuple[Path, ...], settings: SandboxSettings) -> GitState:
    """Raises `tools.git.GitError`: no repository, no sandbox, no git."""
    said = await run_git(root, *STATUS, protected=protected, settings=settings)
    return parse(said.split("\n"))


def parse(lines: Iterable[str]) -> GitState:
    """Of `git status --porcelain=v2 --branch`."""
    heads: dict[str, str] = {}
    changed = conflicts = 0
    for line in lines:
        if line.startswith("# branch."):
            name, _, value = line.removeprefix("# branch.").partition(" ")
            heads[name] = value
        elif line[:2] in {"1 ", "2 ", "u ", "? "}:
            changed += 1
            conflicts += line.startswith("u ")
    ahead, _, behind = heads.get("ab", "+0 -0").partition(" ")
    branch, commit = heads.get("head", ""), heads.get("oid", "")
    return GitState(
        branch="" if branch == "(detached)" else branch,
        commit="" if commit == "(initial)" else commit[:10],
        upstream=heads.get("upstream", ""),
        ahead=abs(int(ahead)),
        behind=abs(int(behind)),
        changed=changed,
        conflicts=conflicts,
    )

"""A branch is pushed over smart HTTP by our own client.

Git itself only makes the pack, in a sandbox without network that cannot write. So no program that
a repository names (a hook, a credential helper, a proxy) ever runs beside the token, or sees it.
Nothing is forced: the branch there must be part of what is pushed.
"""

import base64
from dataclasses import dataclass
from typing import Final

from shipmate.github.client import GitHub
from shipmate.github.commits import Git
from shipmate.github.failures import GitHubError, TokenError, failure
from shipmate.github.repository import Repository
from shipmate.network.request import Request
from shipmate.safety.urls import read_url
from shipmate.tools.git import GitError, run_git_bytes
from shipmate.tools.output import clean
from shipmate.tools.tool import ToolError

PACK: Final = 50_000_000
"""Bytes that are pushed at once."""
REFS: Final = 8_000_000
KNOWN: Final = 2_000
"""Branches and tags there that are looked for here."""
SECONDS: Final = 120.0
NONE: Final = "0" * 40


@dataclass(frozen=True, slots=True)
class Pushing:
    repository: Repository
    git: Git

    @property
    def github(self) -> GitHub:
        return self.repository.github

    async def push(self, branch: str, sha: str) -> bool:
        """False: the branch is there already as it is here. Raises `ToolError`, `GitHubError`."""
        there = await self._refs()
        ref = f"refs/heads/{branch}"
        old = there.get(ref, NONE)
        if old == sha:
            return False
        known = await self._known(set(there.values()))
        if old != NONE and not (old in known and await self._is_part(old, sha)):
            raise ToolError(
                f"The branch {branch!r} at {self.repository.name} has commits that are not in "
                "yours. Nothing is forced: push under another name, or merge them first."
            )
        wanted = "".join(f"{line}\n" for line in (sha, *(f"^{one}" for one in sorted(known))))
        options = ("pack-objects", "--revs", "--stdout", "-q", "--delta-base-offset")
        pack = await run_git_bytes(
            *(self.git.root, *options),
            given=wanted,
            most=PACK,
            protected=self.git.protected,
            settings=self.git.sandbox,
        )
        line = f"{old} {sha} {ref}\0report-status agent=shipmate".encode()
        told = await self._asked("git-receive-pack", _packet(line) + b"0000" + pack)
        _check(told, ref, self.repository)
        return True

    async def _refs(self) -> dict[str, str]:
        told = await self._asked("info/refs?service=git-receive-pack")
        refs: dict[str, str] = {}
        for line in _lines(told):
            sha, _, name = line.partition(b"\0")[0].decode("utf-8", "replace").partition(" ")
            if len(sha) == 40 and name.strip() and not name.startswith("capabilities^{}"):
                refs[name.strip()] = sha
        return refs

    async def _known(self, shas: set[str]) -> set[str]:
        """Those of the commits there that are here, too: they need not be sent."""
        asked = sorted(shas)[:KNOWN]
        said = await run_git_bytes(
            *(self.git.root, "cat-file", "--batch-check=%(objectname)"),
            given="".join(f"{sha}\n" for sha in asked),
            most=1_000_000,
            protected=self.git.protected,
            settings=self.git.sandbox,
        )
        return {line for line in said.decode().split("\n") if len(line) == 40}

    async def _is_part(self, old: str, new: str) -> bool:
        try:
            await self.git.run("merge-base", "--is-ancestor", old, new)
        except GitError:
            return False
        return True

    async def _asked(self, what: str, body: bytes = b"") -> bytes:
        place, token = self.github.place, await self.github.token()
        if not token.value:
            raise TokenError("Pushing needs a token, and there is none.")
        basic = base64.b64encode(f"x-access-token:{token.value}".encode()).decode()
        kind = "application/x-git-receive-pack-request"
        headers = {"Authorization": f"Basic {basic}", **({"Content-Type": kind} if body else {})}
        method = "POST" if body else "GET"
        request = Request(method, headers, body, self.github.exempt(place), seconds=SECONDS)
        url = read_url(f"{place.web}/{self.repository.name}.git/{what}", request.exempt)
        async with self.github.client.request(url, request) as answer:
            told = await answer.read(REFS)
        if answer.cut or answer.elsewhere or answer.status != 200:
            named = f"repository {self.repository.name}"
            now = self.github.clock()
            raise failure(answer, told, named, signed_in=token.source, now=now)
        return told


def _packet(data: bytes) -> bytes:
    return f"{len(data) + 4:04x}".encode() + data


def _lines(data: bytes) -> list[bytes]:
    """The lines of git's own framing; what ends a part is left out."""
    found: list[bytes] = []
    at = 0
    while at + 4 <= len(data):
        try:
            size = int(data[at : at + 4], 16)
        except ValueError:
            raise GitHubError("The answer is not one of a git server.") from None
        if size > 4:
            found.append(data[at + 4 : at + size])
        at += max(size, 4)
    return found


def _check(told: bytes, ref: str, repository: Repository) -> None:
    lines = [line.decode("utf-8", "replace").strip() for line in _lines(told)]
    if "unpack ok" in lines and f"ok {ref}" in lines:
        return
    why = clean("; ".join(line for line in lines if not line.startswith("unpack ok")))[:300]
    raise GitHubError(f"{repository.name} did not take the push: {why or 'it did not say why'}.")

"""The git side of the fake: a real `git receive-pack` on a bare repository."""

import os
import subprocess
from pathlib import Path

ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.com",
}


def git(folder: Path, *arguments: str, given: bytes = b"") -> bytes:
    environment = {**os.environ, **ENVIRONMENT}
    command = ["git", "-c", "safe.directory=*", "-C", str(folder), *arguments]
    done = subprocess.run(command, input=given, capture_output=True, env=environment, check=True)
    return done.stdout


def bare(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "--bare", "-b", "main")
    return folder


def refs(folder: Path) -> bytes:
    """What smart HTTP advertises."""
    told = git(folder, "receive-pack", "--stateless-rpc", "--advertise-refs", ".")
    return b"001f# service=git-receive-pack\n0000" + told


def receive(folder: Path, request: bytes) -> bytes:
    return git(folder, "receive-pack", "--stateless-rpc", ".", given=request)

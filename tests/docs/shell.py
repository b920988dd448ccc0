"""Runs `sh` blocks as a reader would: in a clone with its server, a project and their models."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cli.server import Served, environment, served
from tests.docs import words
from tests.docs.pages import Example
from tests.provider import Provider

PROGRAMS = ("curl", "git")
"""What examples use besides ours."""
PRINTED = "http://127.0.0.1:8765"
"""The address in the documentation; the server of the test has another port."""


@dataclass(frozen=True)
class Reader:
    """Who reads the documentation: a home with two projects, and a clone that serves."""

    home: Path
    server: Served
    provider: Provider
    """Plays every model that has a key."""
    done: dict[Example, subprocess.CompletedProcess[str]] = field(
        default_factory=dict[Example, subprocess.CompletedProcess[str]]
    )
    """What was run already; no block is run twice."""

    @property
    def clone(self) -> Path:
        return self.home / "shipmate"

    def run(self, example: Example) -> subprocess.CompletedProcess[str]:
        """The block, in one bash that stops at the first failure, pipes included."""
        for program in PROGRAMS:
            if (
                re.search(rf"(?:^|[\s|(]){program} ", example.text)
                and shutil.which(program) is None
            ):
                pytest.skip(f"{example} needs {program}, which this machine does not have")
        if example not in self.done:
            self.done[example] = self._run(example)
        return self.done[example]

    def _run(self, example: Example) -> subprocess.CompletedProcess[str]:
        script = runnable(example).replace(PRINTED, self.server.url)
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-euo", "pipefail", "-c", script],
            cwd=self.clone if "$PWD" in script else self.home / "src/my-mod",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=40,
            check=False,
            env=environment(
                HOME=str(self.home),
                SHIPMATE_DATA=str(self.clone / "data"),
                PATH=os.pathsep.join([str(self.home / "bin"), os.environ["PATH"]]),
            ),
        )


def runnable(example: Example) -> str:
    """The block without the lines that start `./dev`: those are looked up, not run."""
    kept: list[str] = []
    for line in example.text.split("\n"):
        if line.startswith("./dev"):
            wrong = words.problem(line)
            assert not wrong, f"{example}: {line}: {wrong}"
        else:
            kept.append(line)
    return "\n".join(kept)


@contextlib.contextmanager
def reader(home: Path) -> Generator[Reader]:
    provider = Provider()
    try:
        _furnish(home, provider)
        with served(home / "shipmate/data") as server:
            yield Reader(home, server, provider)
    finally:
        provider.close()
    assert provider.broken == []


def _furnish(home: Path, provider: Provider) -> None:
    """Two projects under version control, one of them known to the server, and the providers
    that the examples name, all of them one server on loopback."""
    for name in ("my-project", "my-mod"):
        project = home / "src" / name
        project.mkdir(parents=True)
        readme = project / "README.md"
        readme.write_text("# A project\n")
        git = ["git", "-C", str(project), "-c", "user.name=n", "-c", "user.email=e@example.org"]
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "begin"]):
            if shutil.which("git") is None:
                continue
            subprocess.run([*git, *command], check=True, capture_output=True)
        readme.write_text("# Our project\n")
    commands = {home / "bin": "shipmate python", home / "shipmate/.venv/bin": "shipmate"}
    for folder, names in commands.items():
        folder.mkdir(parents=True)
        for name in names.split():
            module = " -m shipmate" if name == "shipmate" else ""
            program = folder / name
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}"{module} "$@"\n')
            program.chmod(0o755)
    settings = f'[projects.my-mod]\npath = "{home}/src/my-mod"\n'
    for name, model in {"openai": "gpt-4o", "deepseek": "deepseek-chat"}.items():
        settings += f'[providers.{name}]\nbase_url = "{provider.url}"\n'
        settings += f'[[providers.{name}.models]]\nid = "{model}"\n'
    (home / "shipmate/data").mkdir()
    (home / "shipmate/data/config.toml").write_text(settings)

"""Starts what is measured: the provider, the relay and shipmate, each a process of its own."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from bench.client import Target
from bench.processes import BIN, ROOT, Process, running

MODELS = (
    "quick",
    "flat-2000",
    "flat-20000",
    "flat-200000",
    "plain-50-200",
    "rate-50-200",
    "rate-50-500",
    "paper-1000-20000",
    "tools-100",
    "tools-500",
)
CONFIG = """
[providers.bench]
type = "openai"
base_url = "{provider}"

[projects.bench]
path = "{project}"

[agents.assistant]
max_steps = 1000

[limits]
reads_per_round = 100000
"""
MODEL = '[[providers.bench.models]]\nid = "{id}"\ncontext_length = 100000000\n'
SHIPMATE = str(BIN / "shipmate")


@dataclass(frozen=True)
class Place:
    """A folder for one run, and the provider in it."""

    folder: Path
    provider: str

    def prepare(self, name: str) -> Path:
        """A new data directory with a project in it."""
        data, project = self.folder / name, self.folder / f"{name}-project"
        data.mkdir(mode=0o700)
        project.mkdir()
        (project / "a.txt").write_text("".join(f"line {n}\n" for n in range(20)))
        config = CONFIG.format(provider=self.provider, project=project)
        config += "\n".join(MODEL.format(id=model) for model in MODELS)
        (data / "config.toml").write_text(config)
        return data


@dataclass(frozen=True)
class Server:
    process: Process
    target: Target


@contextlib.contextmanager
def provider(folder: Path) -> Generator[Process]:
    with running((sys.executable, "-m", "bench.provider"), folder / "provider.log") as process:
        yield process


@contextlib.contextmanager
def relay(place: Place) -> Generator[Server]:
    command = (sys.executable, "-m", "bench.relay", place.provider)
    with running(command, place.folder / "relay.log") as process:
        yield Server(process, Target(process.said["url"]))


@contextlib.contextmanager
def shipmate(place: Place, data: Path) -> Generator[Server]:
    """The product with its data in `data`, and a target that may send messages to it."""
    command = (SHIPMATE, "serve", "--data", str(data), "--port", "0", "--json")
    with running(command, place.folder / "shipmate.log") as process:
        yield Server(process, Target(process.said["url"]))


def signed_in(server: Server, data: Path) -> Server:
    """With a bearer token, made by the command line."""
    command = (SHIPMATE, "token", "create", "--data", str(data), "--name", "bench")
    made = subprocess.run(
        (*command, "--scopes", "run,approve"), cwd=ROOT, capture_output=True, text=True, check=True
    )
    token = secret(made.stdout)
    target = Target(
        server.target.url,
        path="/api/agent/chat/stream",
        headers=f"Authorization: Bearer {token}\r\n",
        fields=(("project", "bench"), ("agent", "assistant")),
        model_field="provider",
        model_prefix="bench/",
        new_field="task",
    )
    return Server(server.process, target)


def secret(output: str) -> str:
    """The token in what the command printed: JSON, or its last word."""
    with contextlib.suppress(ValueError, KeyError):
        return str(json.loads(output)["token"])
    return output.rsplit(maxsplit=1)[-1]

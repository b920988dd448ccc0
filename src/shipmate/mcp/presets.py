"""Two servers that many want (readings 5), off until the user installs them."""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from shipmate.errors import ConflictError, NotFoundError
from shipmate.mcp.settings import McpServerSettings
from shipmate.mcp.whole import whole
from shipmate.protocol import new_id
from shipmate.tools import processes, remains

INSTALL_S = 600.0
TAIL = 4_000
"""Characters of what an installer said that are shown when it failed."""
_BIN = "Scripts" if os.name == "nt" else "bin"


@dataclass(frozen=True, slots=True)
class Preset:
    id: str
    title: str
    description: str
    needs: str
    """The program that has to be there."""
    package: str
    install: Callable[[Path], tuple[tuple[str, ...], ...]]
    """The exact commands that put it into a folder of its own."""
    settings: Callable[[Path], McpServerSettings]


def _duckduckgo(folder: Path) -> tuple[tuple[str, ...], ...]:
    pip = (str(folder / _BIN / "python"), "-m", "pip", "install", "--quiet")
    return (
        (sys.executable, "-m", "venv", str(folder)),
        (*pip, "duckduckgo-mcp-server"),
    )


def _desktop_commander(folder: Path) -> tuple[tuple[str, ...], ...]:
    return (
        ("npm", "install", "--no-fund", "--no-audit", "--prefix", str(folder),
         "@wonderwhy-er/desktop-commander"),
    )  # fmt: skip


PRESETS = {
    one.id: one
    for one in (
        Preset(
            "duckduckgo",
            "DuckDuckGo",
            "Web search, and reading the pages that were found.",
            "",
            "duckduckgo-mcp-server (PyPI)",
            _duckduckgo,
            lambda folder: McpServerSettings(
                command=(str(folder / _BIN / "duckduckgo-mcp-server"),)
            ),
        ),
        Preset(
            "desktop-commander",
            "Desktop Commander",
            "Terminal, files and processes of the whole machine. It leaves the project's folder,"
            " so each call needs approval.",
            "npm",
            "@wonderwhy-er/desktop-commander (npm)",
            _desktop_commander,
            lambda folder: McpServerSettings(
                command=(
                    "node",
                    str(folder / "node_modules/@wonderwhy-er/desktop-commander/dist/index.js"),
                ),
                always_ask=True,
            ),
        ),
    )
}


@dataclass(slots=True)
class Installing:
    state: Literal["running", "failed"] = "running"
    error: str = ""


@dataclass(slots=True)
class Installer:
    """Installs presets into folders of the data directory, one task each."""

    folder: Path
    tasks: asyncio.TaskGroup
    owner: str
    """Begins the marks of processes (`tools.remains`)."""
    done: Callable[[str, McpServerSettings], object]
    """Told which server is there now, and how it is started."""
    states: dict[str, Installing] = field(default_factory=dict[str, Installing])
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def close(self) -> None:
        """Stop what is being installed, with all that it has started."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def commands(self, preset: str) -> tuple[tuple[str, ...], ...]:
        return _known(preset).install(self.folder / preset)

    def installed(self, preset: str) -> bool:
        command = _known(preset).settings(self.folder / preset).command
        return Path(command[-1]).exists()

    def missing(self, preset: str) -> str:
        """What has to be installed first; empty when nothing is."""
        needs = _known(preset).needs
        return "" if not needs or shutil.which(needs) else f"{needs} is not installed"

    def install(self, preset: str, shown: tuple[tuple[str, ...], ...]) -> None:
        """Begin. `shown`: the commands that the user saw; if others would run, none does."""
        one, commands = _known(preset), self.commands(preset)
        if shown != commands:
            raise ConflictError("These are not the commands that would run; look at them again.")
        if missing := self.missing(preset):
            raise ConflictError(f"{one.title} cannot be installed: {missing}.")
        known = self.states.get(preset)
        if known is not None and known.state == "running":
            raise ConflictError(f"{one.title} is being installed.")
        self.states[preset] = Installing()
        task = self.tasks.create_task(self._install(one, commands), name=f"install {preset}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _install(self, one: Preset, commands: tuple[tuple[str, ...], ...]) -> None:
        state = self.states[one.id]
        try:
            async with asyncio.timeout(INSTALL_S):
                for command in commands:
                    if problem := await _run(command, self.owner):
                        state.state, state.error = "failed", problem
                        return
        except TimeoutError:
            state.state, state.error = "failed", f"It took more than {INSTALL_S:.0f} s."
            return
        except OSError as error:
            state.state, state.error = "failed", str(error)
            return
        del self.states[one.id]
        self.done(one.id, one.settings(self.folder / one.id))


async def _run(command: tuple[str, ...], owner: str) -> str:
    """Run to its end; what it said when it failed, else empty. When it is stopped, all that it has
    started is gone."""
    mark = f"{owner}-install-{new_id()}"
    environment = processes.environment(os.environ, mark)
    passed = ("PIP_", "NPM_CONFIG_", "npm_config_", "SSL_CERT", "HTTP_PROXY", "HTTPS_PROXY")
    more = {k: v for k, v in os.environ.items() if k.startswith(passed)}
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**environment, **more},
        cwd=Path.home(),
        start_new_session=True,
    )
    try:
        said, _ = await process.communicate()
    finally:
        await whole(asyncio.to_thread(remains.sweep, mark, process.pid))
    if process.returncode == 0:
        return ""
    tail = said.decode(errors="replace")[-TAIL:].strip()
    return f"{command[0]} ended with status {process.returncode}: {tail}"


def _known(preset: str) -> Preset:
    if preset not in PRESETS:
        raise NotFoundError(f"There is no preset {preset!r}; there are {', '.join(PRESETS)}.")
    return PRESETS[preset]

"""Our own `git`: it only reads, in a sandbox, and nothing a repository configures is run.

A repository can name programs that git runs on the way (hooks, filters, a monitor of files, a
pager, ...). They are switched off where git can be told so by name; what is left runs in a room
without network that cannot write at all. Where there is no sandbox, git is not run.
"""

import asyncio
import base64
import shlex
from collections.abc import Sequence
from pathlib import Path

from shipmate.errors import ShipmateError
from shipmate.protocol import new_id
from shipmate.safety.sandbox.found import found
from shipmate.safety.sandbox.room import AUTO, Room, SandboxSettings
from shipmate.tools.collected import Collected
from shipmate.tools.processes import start

OFF = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.editor": "false",
    "core.sshCommand": "false",
    "core.askPass": "false",
    "core.alternateRefsCommand": "true",
    "core.attributesFile": "/dev/null",
    "core.untrackedCache": "false",
    "core.quotePath": "false",
    "credential.helper": "",
    "gpg.program": "false",
    "log.showSignature": "false",
    "protocol.allow": "never",
    "safe.directory": "*",
    "submodule.recurse": "false",
    "uploadpack.packObjectsHook": "",
}
"""Settings that outrank the repository's own."""
ENVIRONMENT = {
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
SECONDS = 10.0
MAX_OUTPUT = 1_000_000
"""Characters; of more, head and tail are given."""


class GitError(ShipmateError):
    """Git could not say; the text tells why."""

    status = 409
    code = "git"


async def run_git(
    root: Path, *arguments: str, protected: tuple[Path, ...] = (), settings: SandboxSettings = AUTO
) -> str:
    """What `git ARGUMENTS` prints in the project. Raises `GitError`."""
    room = await _room(root, protected, settings)
    return await _output(f"exec {_command(arguments)}", room, MAX_OUTPUT)


async def run_git_bytes(
    root: Path,
    *arguments: str,
    given: str = "",
    most: int,
    protected: tuple[Path, ...] = (),
    settings: SandboxSettings = AUTO,
) -> bytes:
    """The bytes that `git ARGUMENTS` prints, at most `most`, with `given` on its standard
    input. Raises `GitError`."""
    room = await _room(root, protected, settings)
    script = f"set -o pipefail; printf %s {shlex.quote(given)} | {_command(arguments)} | base64"
    text = await _output(script, room, most * 4)
    try:
        data = base64.b64decode(text, validate=False)
    except ValueError as error:
        raise GitError(f"What git gave has more than {most:,} bytes.") from error
    if len(data) > most:
        raise GitError(f"What git gave has more than {most:,} bytes.")
    return data


async def _room(root: Path, protected: tuple[Path, ...], settings: SandboxSettings) -> Room:
    try:
        here = await asyncio.to_thread(found, root, protected, settings)
    except OSError as error:
        raise GitError(f"The folder {root} is gone.") from error
    if here.means == "none":
        raise GitError("Git is not run without a sandbox: a repository may name programs for it.")
    return Room(here.means, root, protected, read_only=True, settings=settings)


def _command(arguments: Sequence[str]) -> str:
    options = [part for name, value in OFF.items() for part in ("-c", f"{name}={value}")]
    variables = [f"{name}={value}" for name, value in ENVIRONMENT.items()]
    return shlex.join(["env", *variables, "git", "--no-pager", *options, *arguments])


async def _output(script: str, room: Room, most: int) -> str:
    collected = Collected(most, None)
    command = await start(script, room, f"git:{new_id()}", collected)
    try:
        async with asyncio.timeout(SECONDS):
            await command.wait()
    except TimeoutError as error:
        raise GitError(f"Git took more than {SECONDS:g} s.") from error
    finally:
        await command.end()
    text, cut = collected.take()
    if cut and most > MAX_OUTPUT:
        raise GitError(f"What git gave has more than {most // 4:,} bytes.")
    if command.status != 0:
        raise GitError(text.strip()[-500:] or f"git ended with status {command.status}")
    return text

"""Our own `git`: it only reads, in a sandbox, and nothing a repository configures is run.

A repository can name programs that git runs on the way (hooks, filters, a monitor of files, a
pager, ...). They are switched off where git can be told so by name; what is left runs in a room
without network that cannot write at all. Where there is no sandbox, git is not run.
"""

import asyncio
import shlex
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
    try:
        here = await asyncio.to_thread(found, root, protected, settings)
    except OSError as error:
        raise GitError(f"The folder {root} is gone.") from error
    if here.means == "none":
        raise GitError("Git is not run without a sandbox: a repository may name programs for it.")
    options = [part for name, value in OFF.items() for part in ("-c", f"{name}={value}")]
    variables = [f"{name}={value}" for name, value in ENVIRONMENT.items()]
    script = shlex.join(["exec", "env", *variables, "git", "--no-pager", *options, *arguments])
    room = Room(here.means, root, protected, read_only=True, settings=settings)
    return await _output(script, room)


async def _output(script: str, room: Room) -> str:
    collected = Collected(MAX_OUTPUT, None)
    command = await start(script, room, f"git:{new_id()}", collected)
    try:
        async with asyncio.timeout(SECONDS):
            await command.wait()
    except TimeoutError as error:
        raise GitError(f"Git took more than {SECONDS:g} s.") from error
    finally:
        await command.end()
    text = collected.take()[0]
    if command.status != 0:
        raise GitError(text.strip()[-500:] or f"git ended with status {command.status}")
    return text

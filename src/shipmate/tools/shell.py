"""Provider `shell`: commands in the project, judged by what they would run."""

import asyncio
import itertools
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from shipmate.faults import point
from shipmate.protocol import BlockedDetail, CommandDetail, ExitDetail, new_id
from shipmate.safety.rules.plain import covers
from shipmate.safety.sandbox.found import found
from shipmate.safety.sandbox.hosts import hosts as needed_hosts
from shipmate.safety.sandbox.repository import mend
from shipmate.safety.sandbox.room import Room
from shipmate.safety.shell import LEVELS, ShellVerdict, check_shell
from shipmate.safety.verdict import ALLOW, Level, Subject, Verdict
from shipmate.tools.collected import Collected
from shipmate.tools.output import SPILL, spill_file
from shipmate.tools.processes import Command, owner, start
from shipmate.tools.tool import (
    SHUTDOWN,
    ToolContext,
    ToolError,
    ToolOutput,
    ToolStopped,
    Workspace,
    tool,
)

MAX_COMMAND = 1_000_000
"""Characters; a longer text belongs into a file."""
MAX_SECONDS = 3_600
LONG = 20_000
"""A command of more characters is judged in a thread."""
CUT = "[Cut in the middle. The whole could not be kept.]"
UNFILTERED = (
    "Without bubblewrap the network cannot be filtered: the command may reach every address, "
    "those of this machine and its neighbours among them."
)
Action = Literal["run", "poll", "wait", "end"]


@dataclass(slots=True)
class _Background:
    command: Command
    text: str
    call: str
    root: Path


@dataclass(slots=True)
class _Registry:
    """Background commands of this server: (session, id) to the command."""

    commands: dict[tuple[str, str], _Background] = field(
        default_factory=dict[tuple[str, str], _Background]
    )
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def add(self, session: str, background: _Background) -> str:
        name = f"bg{next(self.numbers)}"
        self.commands[session, name] = background
        return name

    def get(self, session: str, name: str) -> _Background:
        if found := self.commands.get((session, name)):
            return found
        known = ", ".join(n for s, n in self.commands if s == session)
        raise ToolError(
            f"There is no background command {name!r}; "
            + (f"there are: {known}." if known else "none is running (a restart ends them all).")
        )

    async def end(self, session: str | None = None) -> None:
        gone = [key for key in self.commands if session is None or key[0] == session]
        for background in [self.commands.pop(key) for key in gone]:
            await background.command.end()
            await asyncio.to_thread(mend, background.root)


BACKGROUND = _Registry()


async def end_background(session: str | None = None) -> None:
    """End the background commands of a session that is deleted, or all when the server stops."""
    await BACKGROUND.end(session)


async def by_command(  # noqa: PLR0913, PLR0917 - the tool's own parameters
    ctx: ToolContext,
    command: str = "",
    timeout_seconds: float = 120,
    background: bool = False,
    background_id: str = "",
    action: Action = "run",
    network: bool = False,
    hosts: tuple[str, ...] = (),
) -> Verdict:
    """Looking after one's own background command needs nobody; the rest is for `check_shell`."""
    if background_id or not command.strip() or len(command) > MAX_COMMAND:
        return ALLOW
    if len(command) > LONG:
        judged = await asyncio.to_thread(check_shell, command)
    else:
        judged = check_shell(command)
    room = await asyncio.to_thread(_room, ctx.work, judged, hosts if network else None)
    return _verdict(ctx, command, judged, room)


def _room(work: Workspace, judged: ShellVerdict, named: tuple[str, ...] | None) -> Room:
    """How a command is confined; `named` is None where it asks for no network."""
    try:
        means = found(work.root, work.protected, work.sandbox).means
    except OSError as error:
        raise ToolError(f"The project folder {work.root} is gone.") from error
    needs = () if named is None else needed_hosts(judged.commands, work.root, named)
    return Room(means, work.root, work.protected, needs, settings=work.sandbox)


def _verdict(ctx: ToolContext, command: str, judged: ShellVerdict, room: Room) -> Verdict:
    work = ctx.work
    free = work.safe_commands and not ctx.wary
    level, reason, rule = LEVELS[judged.verdict], judged.reason, judged.rule
    if level is Level.REFUSE:
        blocked = BlockedDetail(reason=reason, rule=rule)
        return Verdict(level, reason, rule, "Blocked command", blocked)
    if judged.verdict == "safe" and free and room.means != "none" and not room.hosts:
        level = Level.ALLOW
    if room.hosts and room.means == "landlock" and level is not Level.DANGER:
        level, reason, rule = Level.DANGER, UNFILTERED, "open-network"
    detail = CommandDetail(
        command=command, cwd=str(work.root), sandbox=room.means, network=room.hosts
    )
    binds = {"cwd": str(work.root), "sandbox": room.means, "network": " ".join(room.hosts)}
    shown = reason if level is Level.DANGER else ""
    return Verdict(
        level,
        shown,
        rule,
        "Run a command",
        detail,
        binds,
        touches=tuple(Subject("shell", words=words) for words in judged.commands),
        covers=() if room.hosts else covers(command, judged, str(work.root)),
    )


@tool(
    provider="shell",
    judge=by_command,
    effect=True,
    example='{"command": "pytest -q", "timeoutSeconds": 300}',
)
async def shell_exec(  # noqa: PLR0913, PLR0917 - what a model can say of a command
    ctx: ToolContext,
    command: str = "",
    timeout_seconds: float = 120,
    background: bool = False,
    background_id: str = "",
    action: Action = "run",
    network: bool = False,
    hosts: tuple[str, ...] = (),
) -> ToolOutput:
    """Run a command in bash and return its output, then its exit status and folder.

    Each call starts anew in the project folder, without a terminal: nothing can be typed in, and
    editors fail. In a sandbox it writes in the project only, has an empty /tmp of its own, and no
    network but its own localhost. When it needs the network (to install or fetch something) say
    `network: true`: over HTTP(S) it reaches the hosts its text names, the usual registries, and
    those you name in `hosts`. It is ended after `timeoutSeconds` with all its processes. With
    `background: true` it goes on (servers, watchers) and you get an id: call again with
    `backgroundId` and `action` "poll" (new output at once), "wait" (until it ends,
    `timeoutSeconds` at most) or "end". Output that is long is cut in the middle; the whole is
    kept in a file.
    """
    if background_id:
        return await _look_after(ctx, background_id, action, timeout_seconds)
    if not command.strip():
        raise ToolError('`command` is missing. Example: {"command": "ls"}')
    _check(command)
    limits, whole = ctx.work.limits, spill_file(ctx.work, ctx.call)
    collected = Collected(limits.tool_result_chars, whole, hide_keys=limits.hide_keys)
    started = await _started(ctx, command, hosts if network else None, collected)
    point("command.running")
    if background:
        name = BACKGROUND.add(ctx.work.session, _Background(started, command, ctx.call, ctx.root))
        text = f"Started in the background as {name}, in {ctx.root}. Look at it with "
        text += f'{{"backgroundId": "{name}", "action": "poll"}}.'
        return ToolOutput(text, ExitDetail(background=name))
    return await _foreground(ctx, started, timeout_seconds)


def _check(command: str) -> None:
    if len(command) > MAX_COMMAND:
        raise ToolError(
            f"The command has {len(command):,} characters, more than {MAX_COMMAND:,}. "
            "Write it to a file with write_file and run that."
        )
    if "\0" in command:
        raise ToolError("The command holds a NUL character, which bash cannot run.")


async def _started(
    ctx: ToolContext, command: str, hosts: tuple[str, ...] | None, collected: Collected
) -> Command:
    mark = f"{owner(ctx.work.files)}:{new_id()}"
    judged = await asyncio.to_thread(check_shell, command)
    room = await asyncio.to_thread(_room, ctx.work, judged, hosts)
    try:
        return await start(command, room, mark, collected)
    except FileNotFoundError as error:
        if ctx.root.is_dir():
            raise ToolError(f"Commands cannot run here: {error}.") from error
        raise ToolError(f"The project folder {ctx.root} is gone; nothing was run.") from error
    except (OSError, UnicodeEncodeError) as error:
        raise ToolError(f"The command could not be started: {error}.") from error


async def _foreground(ctx: ToolContext, command: Command, limit: float) -> ToolOutput:
    limit = min(max(limit, 0.1), MAX_SECONDS)
    try:
        async with asyncio.timeout(limit):
            await command.wait()
    except TimeoutError:
        await command.end()
        return _result(ctx, command, f"ended after {limit:g} s, the time limit", "time_limit")
    except asyncio.CancelledError as cut:
        await command.end()
        if SHUTDOWN in cut.args:
            raise ToolStopped(_result(ctx, command, "ended, as the server ended"), cut) from None
        raise ToolStopped(_result(ctx, command, "stopped by the user", "user"), cut) from None
    return _result(ctx, command, _told(command))


def _told(command: Command) -> str:
    return "exit status unknown" if command.status is None else f"exit status {command.status}"


def _result(
    ctx: ToolContext,
    command: Command,
    ending: str,
    stopped: Literal["", "time_limit", "user"] = "",
    call: str = "",
) -> ToolOutput:
    """The output in the order it came, then how it ended and where it ran."""
    text, cut = command.collected.take()
    lines = [text.removesuffix("\n")] if text else []
    if cut:
        whole = f'read_file {{"path": "{SPILL}{call or ctx.call}"}}'
        lines.insert(
            0, f"[Cut in the middle. The whole: {whole}]" if command.collected.kept else CUT
        )
    if mended := mend(ctx.root):
        lines.append(f"[{mended}]")
    if command.left and not stopped:
        lines.append(f"[{command.left} process(es) left behind were ended; use background: true]")
    lines.append(f"[{ending}; {command.seconds:.2f} s, in {ctx.root}]")
    status = None if stopped else command.status
    details = ExitDetail(status=status, seconds=round(command.seconds, 3), stopped=stopped)
    return ToolOutput("\n".join(lines), details, is_error=status != 0, truncated=cut)


async def _look_after(ctx: ToolContext, name: str, action: Action, limit: float) -> ToolOutput:
    background = BACKGROUND.get(ctx.work.session, name)
    command = background.command
    if action == "end":
        await command.end()
    elif action == "wait":
        try:
            async with asyncio.timeout(min(max(limit, 0.1), MAX_SECONDS)):
                await command.wait()
        except TimeoutError:
            pass
    if command.running:
        mended = await asyncio.to_thread(mend, ctx.root)
        text, cut = command.collected.take()
        text = f"{text}\n[{mended}]" if mended else text
        text = f"{text.removesuffix(chr(10))}\n[{name} is still running: {background.text[:200]}]"
        return ToolOutput(text.lstrip("\n"), ExitDetail(background=name), truncated=cut)
    await command.wait()
    del BACKGROUND.commands[ctx.work.session, name]
    ending = f"{name} was ended" if command.stopping else f"{name} has ended: {_told(command)}"
    result = _result(ctx, command, ending, call=background.call)
    return replace(result, is_error=result.is_error and not command.stopping)


TOOLS = (shell_exec,)

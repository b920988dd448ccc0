"""How a tool is declared: an async function whose signature is its schema.

    @tool(judge=by_command, effect=True)
    async def shell_exec(ctx: ToolContext, command: str, timeout_seconds: int = 120) -> str:
        '''What the model reads as the description.'''

Parameters are spelled in snake case here and in camel case for the model.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from shipmate.llm.model import ChatMessage, Image
from shipmate.network.client import Client
from shipmate.network.request import SECONDS
from shipmate.protocol import AnyBlock, AnyDetail, AskUser, FileSeen, FileWritten, Pending
from shipmate.safety.sandbox.room import AUTO, SandboxSettings
from shipmate.safety.verdict import ALLOW, Level, Verdict
from shipmate.tools.reads import ReadGuard
from shipmate.tools.signature import arguments_of, schema_of


class ToolError(Exception):
    """A failure the model should read and react to."""


class StrangerError(ToolError):
    """A failure told in words that strangers wrote, or may have."""


class NeedsAnswer(Exception):  # noqa: N818 - not a failure: the round goes on when it is answered
    """Raised by a tool that cannot go on without the user; it is run again with the answer."""

    def __init__(self, question: AskUser) -> None:
        super().__init__(question.question)
        self.question = question


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool gives back, before it passes the border (`tools.output`)."""

    text: str
    details: AnyDetail | None = None
    images: tuple[Image, ...] = ()
    is_error: bool = False
    truncated: bool = False
    untrusted: bool = False
    """It holds what strangers wrote: a page, a file of the network."""


STOP, SHUTDOWN = "stop", "shutdown"
"""The messages of a cancellation: by the user, and when the server ends. Any other is a Stop."""


class ToolStopped(asyncio.CancelledError):
    """Raised by a tool in place of the cancellation that ended it, with what it had so far. It
    goes on saying why the round was ended."""

    def __init__(self, output: ToolOutput, cut: asyncio.CancelledError) -> None:
        super().__init__(*cut.args)
        self.output = output


@dataclass(frozen=True, slots=True)
class Limits:
    """The section `[limits]` of the configuration that tools obey."""

    tool_result_chars: int = 20_000
    read_files_bytes: int = 10_240
    reads_per_round: int = 3
    hide_keys: bool = False
    """Text shaped like a key is taken out of results; secrets that are known always are."""


@dataclass(frozen=True, slots=True)
class Web:
    """The way to the network."""

    client: Client
    exempt: frozenset[str] = frozenset()
    """Hosts of a private network that the user lets agents ask for."""
    seconds: float = SECONDS


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where an agent works: what does not change from call to call within a round."""

    root: Path
    """The project's folder, resolved."""
    session: str = ""
    protected: tuple[Path, ...] = ()
    """Folders that no tool may look into: the server's own data directory."""
    files: Path | None = None
    """Where whole outputs and pictures are stored (`<data>/files`)."""
    limits: Limits = Limits()
    guard: ReadGuard = field(default_factory=ReadGuard)
    vision: bool = False
    """The model can see pictures."""
    web: Web | None = None
    """None where there is no network."""
    ask_secrets: bool = True
    """Reading secret-shaped files asks (readings 19)."""
    noted: list[FileSeen] = field(default_factory=list[FileSeen])
    """What a call had to do with files; a list of its own for each call."""
    written: list[FileWritten] = field(default_factory=list[FileWritten])
    """What a call made of files; as `noted`."""
    safe_commands: bool = False
    """Commands judged safe run unasked (only where a sandbox is active)."""
    sandbox: SandboxSettings = AUTO
    """How commands are confined."""
    repository: str = ""
    """At GitHub, `owner/name`, as the project's settings say; empty: that of its git remote."""
    history: "History | None" = None
    """Searches the project's conversations."""

    def note(self, real: Path, stamp: str = "", lines: tuple[int, int] | UnsetType = UNSET) -> None:
        """The agent read or wrote a file; see `FileSeen`."""
        file = FileSeen(path=self._name(real), stamp=stamp, lines=lines)
        self.guard.note(file)
        self.noted.append(file)

    def reads(self, real: Path) -> list[tuple[int, int]]:
        """The ranges of a file that were given in this round."""
        return self.guard.reads.get(self._name(real), [])

    def stamp(self, real: Path) -> str:
        """Of the content that the agent knows of a file; empty: of none."""
        return self.guard.stamps.get(self._name(real), "")

    def _name(self, real: Path) -> str:
        inside = real.is_relative_to(self.root)
        return real.relative_to(self.root).as_posix() if inside else str(real)


class Desk(Protocol):
    """What a call that runs for others (an MCP server) can turn to. What it waits for ends with
    it: where the server ends meanwhile, the outcome of the call is unknown."""

    async def ask(self, block: Pending) -> Pending:
        """Show a question or an approval of this call and wait until it is decided."""
        ...

    async def sample(self, system: str, messages: Sequence[ChatMessage]) -> tuple[str, str]:
        """Have the agent's model answer, without tools: its text, and which model it is."""
        ...

    def progress(self, call: str, text: str, done: float, total: float | None) -> None:
        """Show how far a call is."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What changes from call to call."""

    work: Workspace
    call: str = ""
    emit: Callable[[AnyBlock], Awaitable[Any]] | None = None
    """Records a block that the tool makes, such as the todo list."""
    binds: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the judge bound the call to; a tool that writes compares before it does."""
    hunks: frozenset[str] | None = None
    """The hunks of its change that the user accepted; None: the whole of it."""
    answer: AskUser | None = None
    """The user's answer, when the tool had raised `NeedsAnswer`."""
    todo: AnyBlock | None = None
    """The todo list of the session (of a sub-agent: its own) as it stands."""
    wary: bool = False
    """The session has read what strangers wrote: no setting approves anything ahead."""
    spawn: "Spawn | None" = None
    """Has another agent do a task; the thread of that agent belongs to this call."""
    desk: Desk | None = None
    agent: str = ""
    """The name of the agent whose call it is."""

    @property
    def root(self) -> Path:
        return self.work.root


History: TypeAlias = Callable[[str, str, int], Awaitable[ToolOutput]]
"""`await history(query, role, most)`; an empty role is everybody's."""
Spawn: TypeAlias = Callable[[str, str], Awaitable[ToolOutput]]
"""`await spawn(agent, task)`; raises `ToolError` where it cannot be done."""
ToolFunction: TypeAlias = Callable[..., Awaitable[str | ToolOutput]]
Judge: TypeAlias = Callable[..., Awaitable[Verdict]]
"""`async (ctx, **arguments) -> Verdict`, with the tool's own parameters."""
Fits: TypeAlias = Callable[[Mapping[str, Any]], str]
"""What is wrong with arguments, in words; empty when nothing is."""


class Foreign(msgspec.Struct, frozen=True):
    """In place of `Tool.arguments` for a tool whose schema is not made from a function."""


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str
    provider: str
    arguments: type[msgspec.Struct]
    judge: Judge
    run: ToolFunction
    effect: bool = True
    """It changes something: never run beside another one. Reads run together."""
    repeatable: bool = False
    """Running it a second time does no harm (`ask_user`): no `started` mark, run anew."""
    lasting: bool = False
    """It may take long: its result is kept as soon as it is there, not with those beside it."""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The JSON schema the model sees."""
    example: str = ""
    title: str = ""
    """What people see in place of the name."""
    fits: Fits | None = None
    """Checks arguments where `arguments` does not (`Foreign`)."""


async def always_ask(_ctx: ToolContext, **_arguments: Any) -> Verdict:
    return Verdict(Level.ASK)


async def never_ask(_ctx: ToolContext, **_arguments: Any) -> Verdict:
    return ALLOW


def tool(
    *,
    provider: str,
    judge: Judge = always_ask,
    effect: bool = True,
    repeatable: bool = False,
    example: str = "",
) -> Callable[[ToolFunction], Tool]:
    """Make a tool of a function. Without a `judge`, each call needs the user's approval."""

    def declare(function: ToolFunction) -> Tool:
        arguments = arguments_of(function)
        return Tool(
            name=function.__name__,
            description=inspect.getdoc(function) or "",
            provider=provider,
            arguments=arguments,
            judge=judge,
            run=function,
            effect=effect,
            repeatable=repeatable,
            parameters=schema_of(arguments),
            example=example,
        )

    return declare


def lasting(tool: Tool) -> Tool:
    """Mark a tool as one that may take long; written above `@tool`."""
    return replace(tool, lasting=True)

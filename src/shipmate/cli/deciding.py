"""Who decides in `shipmate run`: the options, or the person at the terminal."""

import asyncio
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec
import typer

from shipmate.cli.choices import Approve
from shipmate.cli.conversation import Conversation
from shipmate.protocol import (
    AnyDetail,
    ApprovalRequest,
    AskUser,
    CommandDetail,
    DiffDetail,
    Pending,
    RequestDetail,
)
from shipmate.safety.unseen import visible

NOBODY = "Nobody is there to approve this, so it was denied."
"""What the model is told when a call is denied for want of a person."""


@dataclass(slots=True)
class Decider:
    approve: Approve
    answers: list[str]
    """To questions, used in order."""
    terminal: bool
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    """Ctrl-C was pressed."""

    async def settle(
        self, conversation: Conversation, session: str, pending: Iterable[Pending]
    ) -> bool:
        """Decide what can be decided; false when nothing could."""
        settled = False
        for block in pending:
            if isinstance(block, ApprovalRequest):
                settled |= await self._approval(conversation, session, block)
            else:
                settled |= await self._question(conversation, session, block)
        return settled

    async def _approval(
        self, conversation: Conversation, session: str, block: ApprovalRequest
    ) -> bool:
        if self.approve is Approve.ALL:
            approved, feedback = True, ""
        elif self.approve is Approve.NONE or not self.terminal:
            approved, feedback = False, NOBODY
        else:
            _show(block)
            word = await self._line("Approve? [y/N, or say what to do instead] ")
            if word is None:
                return self.stopped.is_set()
            approved = word.strip().lower() in ("y", "yes")
            feedback = "" if approved or word.strip().lower() in ("", "n", "no") else word.strip()
        await conversation.decide(session, block, approved=approved, feedback=feedback)
        return True

    async def _question(self, conversation: Conversation, session: str, block: AskUser) -> bool:
        text: str | None = None
        if self.answers:
            text = self.answers.pop(0)
        elif self.approve is Approve.ALL and block.options:
            text = block.options[0]
        elif self.terminal:
            typer.secho(f"\n?{_asker(block)} {visible(block.question)}", err=True, bold=True)
            for number, option in enumerate(block.options, 1):
                typer.echo(f"  {number}. {visible(option)}", err=True)
            text = await self._typed(block)
        if text is None:
            return self.stopped.is_set()
        await conversation.answer(session, block.id, text)
        return True

    async def _typed(self, block: AskUser) -> str | None:
        """The answer of the person at the terminal, asked for until the question takes it."""
        while (text := _chosen(await self._line("Answer: "), block.options)) is not None:
            if block.takes(text):
                return text
            typer.secho("Answer with the options alone.", err=True, fg=typer.colors.RED)
        return None

    async def _line(self, prompt: str) -> str | None:
        """A line from the terminal; None at its end, or when Ctrl-C was pressed."""
        typer.echo(prompt, nl=False, err=True)
        reading = asyncio.ensure_future(_read_line())
        stopping = asyncio.ensure_future(self.stopped.wait())
        await asyncio.wait([reading, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not reading.done():
            reading.cancel()
            return None
        return reading.result()


async def _read_line() -> str | None:
    if os.name == "nt":
        return (await asyncio.to_thread(sys.stdin.readline)) or None
    ready = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin.fileno(), ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return sys.stdin.readline() or None


def _chosen(line: str | None, options: tuple[str, ...]) -> str | None:
    """An option by its number, or the line as it is."""
    text = (line or "").strip()
    if text.isdecimal() and 0 < int(text) <= len(options):
        return options[int(text) - 1]
    return text or None


def _show(block: ApprovalRequest) -> None:
    """The dialog: made from the arguments alone, whole, with nothing hidden in it."""
    dangerous = block.level == "dangerous"
    head = "DANGEROUS COMMAND" if dangerous else "Approval request"
    head += _asker(block)
    colour = typer.colors.RED if dangerous else typer.colors.YELLOW
    typer.secho(f"\n{head}: {visible(block.title)}", err=True, fg=colour, bold=True)
    if block.reason:
        typer.secho(visible(block.reason), err=True, fg=colour)
    typer.echo(visible(_details(block.details)), err=True)


def _asker(block: Pending) -> str:
    """Who asks, where it is not the agent one talks to."""
    return f" (asked by {visible(block.agent)})" if block.parent and block.agent else ""


def _confined(details: CommandDetail) -> str:
    """What holds the command back."""
    reach = ", ".join(details.network) or "off"
    match details.sandbox:
        case "bubblewrap":
            return f"sandbox: on, network: {'any public host' if reach == '*' else reach}"
        case "landlock":
            open_ = "every address, not filtered" if details.network else "off"
            return f"sandbox: on, without bubblewrap; network: {open_}"
        case "none":
            return "no sandbox: this command can do all that you can"
        case _:
            return ""


def _details(details: AnyDetail) -> str:
    match details:
        case CommandDetail():
            return f"  {details.command}\n  in {details.cwd}\n  {_confined(details)}".rstrip()
        case DiffDetail():
            lines: list[str] = []
            for file in details.files:
                lines += [f"  {file.change} {file.path}  +{file.added} -{file.removed}"]
                lines += [f"  {line}" for hunk in file.hunks for line in hunk.lines]
                lines += [f"  ({file.note})"] if file.note else []
            return "\n".join(lines)
        case RequestDetail():
            asked = [f"  {url}" for url in details.urls]
            return "\n".join([*asked, f"  saved as {details.path}"] if details.path else asked)
        case _:
            return msgspec.json.format(msgspec.json.encode(details), indent=2).decode()

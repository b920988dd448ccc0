"""Many approvals, tampered with: what is approved changes before it runs, clicks come twice and
late. `./dev test --safety` plays them in full, the tests a few of each."""

import asyncio
import random
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import repeat
from pathlib import Path

from shipmate.errors import ShipmateError
from shipmate.llm.model import ChatMessage, Reply, ToolSpec
from shipmate.llm.scripted import call, say, together
from shipmate.protocol import ApprovalRequest, ToolResult
from shipmate.tools.catalog import BUILTIN
from tests.play import Stage, stage

TOOLS = [tool for name in ("read_only", "read_write", "shell") for tool in BUILTIN[name]]
BEFORE, MINE = "before\n", "mine\n"


def _other_text(file: Path) -> None:
    file.write_text("theirs\n")


def _same_size(file: Path) -> None:
    file.write_text("bEfore\n")


def _gone(file: Path) -> None:
    file.unlink()


def _link_out(file: Path) -> None:
    outside = file.parents[2] / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "f.txt").write_text(BEFORE)
    file.unlink()
    file.symlink_to(outside / "f.txt")


def _folder_leads_out(file: Path) -> None:
    outside = file.parents[2] / f"outside-{file.parent.name}"
    shutil.move(file.parent, outside)
    file.parent.symlink_to(outside)


def _a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


CHANGES: tuple[Callable[[Path], None], ...] = (
    *(_other_text, _same_size, _gone, _link_out, _folder_leads_out, _a_folder),
)


def _state(folder: Path) -> dict[str, str]:
    """All files below, with what they hold."""
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() else ""
        for path in folder.rglob("*")
        if "sessions.db" not in path.name and "files" not in path.parts
    }


async def changed_meanwhile(folder: Path, count: int) -> Counter[str]:
    """`count` approved calls whose files change before they run: how many were refused with
    nothing written, and how many not."""
    tally = Counter[str]()
    for number in range(count):
        change, early = CHANGES[number % len(CHANGES)], number % 2 == 0
        at = folder / str(number)
        file = at / "project" / "d" / "f.txt"
        file.parent.mkdir(parents=True)
        file.write_text(BEFORE)
        calls = together(
            call("write_file", path="first.txt", content=MINE),
            call("write_file", path="d/f.txt", content=MINE),
        )
        async with stage(at, [calls, say("I see.")], tools=TOOLS) as play:
            session = await play.create()
            await play.say(session, "go")
            first, written = await _asked(play, session)
            if early:  # between what was shown and the click
                change(file)
            await play.executor.decide(session, True, block=written.id)
            if not early:  # between the click and the run
                change(file)
            before = _state(at)
            await play.executor.decide(session, True, block=first.id)
            await play.watch(session)
            _, result = await play.blocks(session, ToolResult)
            refused = result.is_error and _state(at) == {**before, "project/first.txt": MINE}
            tally["refused" if refused else f"not refused: {change.__name__}"] += 1
    return tally


async def _asked(play: Stage, session: str) -> list[ApprovalRequest]:
    return await play.blocks(session, ApprovalRequest)


async def clicked(folder: Path, count: int, seed: int = 4) -> Counter[str]:
    """`count` approvals, each decided several times at once and again too late: how many ran
    exactly as often as the decision that won says, and how many not."""
    dice, tally = random.Random(seed), Counter[str]()
    async with stage(folder, repeat(_step, 2 * count), tools=TOOLS) as play:
        for number in range(count):
            session = await play.create()
            await play.say(session, str(number))
            clicks = [_click(play, session, dice.random() < 0.7) for _ in range(dice.randint(2, 6))]
            stopped = dice.random() < 0.1
            if stopped:
                clicks.insert(dice.randrange(len(clicks)), _stop(play, session))
            won = await asyncio.gather(*clicks)
            await play.watch(session)
            late = await asyncio.gather(*(_click(play, session, True) for _ in range(3)))
            (asked,) = await _asked(play, session)
            log = folder / "project" / f"ran-{number}"
            ran = len(log.read_text().split()) if log.exists() else 0
            right = ran == (asked.result is True) or (stopped and ran == 0)
            once = [*won, *late].count("won") <= 1
            tally["once" if right and once else "not once"] += 1
    return tally


def _step(messages: Sequence[ChatMessage], _tools: Sequence[ToolSpec]) -> Reply:
    """One command for what the user says; then the round ends."""
    said = messages[-1]
    if said.role != "user":
        return say("Done.")
    return call("shell_exec", command=f"echo x >> ran-{said.text}")


async def _stop(play: Stage, session: str) -> str:
    await play.executor.stop(session)
    return "stopped"


async def _click(play: Stage, session: str, approved: bool) -> str:
    try:
        await play.executor.decide(session, approved)
    except ShipmateError:
        return "too late"
    return "won"

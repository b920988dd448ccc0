"""Provider `read_write`: changing files of the project, each change shown before it is made."""

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from shipmate.protocol import DiffDetail
from shipmate.safety.paths import Op
from shipmate.safety.verdict import Verdict
from shipmate.tools.change import MakePlan, Plan
from shipmate.tools.changes import (
    carry_out,
    judged,
    plan_content,
    plan_edits,
    plan_folder,
)
from shipmate.tools.edits import Edit
from shipmate.tools.tool import ToolContext, ToolError, ToolOutput, ToolStopped, tool


class Replacement(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One place of one file."""

    path: str
    old_string: str
    new_string: str


async def by_write(ctx: ToolContext, path: str, content: str) -> Verdict:
    return await _judged(lambda: plan_content(ctx.work, path, content, new=False))


@tool(
    provider="read_write",
    judge=by_write,
    example='{"path": "src/app.py", "content": "print(1)\\n"}',
)
async def write_file(ctx: ToolContext, path: str, content: str) -> ToolOutput:
    """Write a whole file: create it, or overwrite what is there.

    Folders on the way are made. A file that is there keeps its encoding, and its line ends
    where all of them are CR LF. To change a part of a file use `replace_string_in_file`.
    """
    return await _done(
        ctx, [(path, "write")], lambda: plan_content(ctx.work, path, content, new=False)
    )


async def by_create(ctx: ToolContext, path: str, content: str) -> Verdict:
    return await _judged(lambda: plan_content(ctx.work, path, content, new=True))


@tool(
    provider="read_write",
    judge=by_create,
    example='{"path": "src/new.py", "content": "print(1)\\n"}',
)
async def create_file(ctx: ToolContext, path: str, content: str) -> ToolOutput:
    """Create a file that is not there yet, with its folders. Nothing is ever overwritten."""
    return await _done(
        ctx, [(path, "create")], lambda: plan_content(ctx.work, path, content, new=True)
    )


async def by_folder(ctx: ToolContext, path: str) -> Verdict:
    return await _judged(lambda: plan_folder(ctx.work, path))


@tool(
    provider="read_write",
    judge=by_folder,
    example='{"path": "src/new"}',
)
async def create_directory(ctx: ToolContext, path: str) -> ToolOutput:
    """Create a folder, with those above it. It is fine when it exists."""
    return await _done(ctx, [(path, "mkdir")], lambda: plan_folder(ctx.work, path))


async def by_replacement(
    ctx: ToolContext, path: str, old_string: str, new_string: str, replace_all: bool = False
) -> Verdict:
    edits = [(path, Edit(old_string, new_string, replace_all))]
    return await _judged(lambda: plan_edits(ctx.work, edits, several=False))


@tool(
    provider="read_write",
    judge=by_replacement,
    example='{"path": "src/app.py", "oldString": "x = 1\\ny = 2", "newString": "x = 1\\ny = 3"}',
)
async def replace_string_in_file(
    ctx: ToolContext, path: str, old_string: str, new_string: str, replace_all: bool = False
) -> ToolOutput:
    """Replace a text in a file.

    `oldString` must stand in the file exactly once, with its white space: include a few lines
    around the change. `replaceAll` replaces each place instead. Line ends and encoding of the
    file are kept. When it is not found, or found several times, nothing is changed and the
    closest lines, or all line numbers, are named.
    """
    edits = [(path, Edit(old_string, new_string, replace_all))]
    return await _done(ctx, [(path, "write")], lambda: plan_edits(ctx.work, edits, several=False))


async def by_replacements(
    ctx: ToolContext, explanation: str, replacements: Sequence[Replacement]
) -> Verdict:
    del explanation
    return await _judged(lambda: plan_edits(ctx.work, _edits(replacements), several=True))


@tool(
    provider="read_write",
    judge=by_replacements,
    example=(
        '{"explanation": "Rename f", "replacements": '
        '[{"path": "a.py", "oldString": "def f(", "newString": "def g("}, '
        '{"path": "b.py", "oldString": "a.f(", "newString": "a.g("}]}'
    ),
)
async def multi_replace_string_in_file(
    ctx: ToolContext, explanation: str, replacements: tuple[Replacement, ...]
) -> ToolOutput:
    """Replace texts in one or several files: all of them, or none when one does not apply.

    Each `oldString` must stand in its file exactly once. Several replacements in one file are
    made in order, each on the result of the one before. `explanation` says what it is for.
    """
    del explanation  # for the user, who sees it among the arguments
    edits = _edits(replacements)
    paths: list[tuple[str, Op]] = [(path, "write") for path, _ in edits]
    return await _done(ctx, paths, lambda: plan_edits(ctx.work, edits, several=True))


def _edits(replacements: Sequence[Replacement]) -> list[tuple[str, Edit]]:
    if not replacements:
        raise ToolError("`replacements` is empty; name at least one.")
    return [(one.path, Edit(one.old_string, one.new_string)) for one in replacements]


async def _judged(make: MakePlan) -> Verdict:
    return await asyncio.to_thread(judged, make)


async def _done(ctx: ToolContext, paths: Sequence[tuple[str, Op]], make: MakePlan) -> ToolOutput:
    """Carry out. A write takes milliseconds and is not cut off: when the call is stopped
    meanwhile, what it did is told all the same."""
    run = asyncio.get_running_loop().run_in_executor(
        None, lambda: _told(carry_out(ctx, paths, make))
    )
    try:
        return await asyncio.shield(run)
    except asyncio.CancelledError as cut:
        try:
            output = await run
        except ToolError as error:
            output = ToolOutput(str(error), is_error=True)
        raise ToolStopped(output, cut) from None


def _told(plan: Plan) -> ToolOutput:
    files = tuple(change.shown() for change in plan if not change.nothing)
    lines = [line for change in plan for line in change.said]
    lines += [f"{file.path}: {file.note}." for file in files if file.note]
    return ToolOutput("\n".join(lines), DiffDetail(files=files) if files else None)


TOOLS = (
    write_file,
    create_file,
    create_directory,
    replace_string_in_file,
    multi_replace_string_in_file,
)

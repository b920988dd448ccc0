"""Provider `ask`: the round waits for the user's answer, for days if need be."""

from msgspec import UNSET

from shipmate.protocol import AskUser
from shipmate.tools.tool import NeedsAnswer, ToolContext, ToolError, never_ask, tool


@tool(
    provider="ask",
    judge=never_ask,
    effect=False,
    repeatable=True,
    example='{"question": "Which database shall I use?", "options": ["SQLite", "PostgreSQL"]}',
)
async def ask_user(
    ctx: ToolContext,
    question: str,
    options: tuple[str, ...] = (),
    multiple: bool = False,
    allow_freeform: bool = True,
) -> str:
    """Ask the user a question and wait for the answer.

    Ask when a decision is theirs or when something is missing that no file can tell; not for
    permission, which is asked for by itself. `options` are offered to choose from: one, or
    several with `multiple`; without `allowFreeform` nothing else can be answered.
    """
    if ctx.answer is not None and ctx.answer.result is not UNSET:
        return ctx.answer.result.strip() or "The user gave no answer."
    choices = tuple(dict.fromkeys(option.strip() for option in options if option.strip()))
    if not question.strip():
        raise ToolError("`question` is empty; write what you want to know.")
    if not choices and not allow_freeform:
        raise ToolError("Without `options` the user can only answer if `allowFreeform` is true.")
    raise NeedsAnswer(
        AskUser(
            id=f"{ctx.call}-question",
            call=ctx.call,
            question=question.strip(),
            options=choices,
            multiple=multiple and bool(choices),
            allow_freeform=allow_freeform,
        )
    )


TOOLS = (ask_user,)

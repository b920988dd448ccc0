"""A question to the user: no coroutine waits for the answer."""

from typing import Any

import msgspec
import pytest

from shipmate.protocol import AskUser
from shipmate.tools.arguments import parse_arguments
from shipmate.tools.ask import ask_user
from shipmate.tools.tool import NeedsAnswer, ToolContext, ToolError, Workspace


async def ask(ctx: ToolContext, **given: Any) -> str:
    return str(await ask_user.run(ctx, **parse_arguments(ask_user, given)))


async def test_the_question_is_raised_and_its_answer_given_when_run_again(work: Workspace) -> None:
    given = {"question": " Which? ", "options": '["A", "B", "A"]', "multiple": "true"}
    with pytest.raises(NeedsAnswer) as waiting:
        await ask(ToolContext(work, call="c1"), **given)
    asked = waiting.value.question
    assert asked == AskUser(
        id="c1-question", call="c1", question="Which?", options=("A", "B"), multiple=True
    )
    answered = msgspec.structs.replace(asked, result="B")
    assert await ask(ToolContext(work, call="c1", answer=answered), **given) == "B"


async def test_an_empty_answer_is_said_in_words(work: Workspace) -> None:
    answer = AskUser(call="c1", question="Which?", result="")
    said = await ask(ToolContext(work, call="c1", answer=answer), question="Which?")
    assert said == "The user gave no answer."


async def test_a_question_nobody_could_answer_is_refused(work: Workspace) -> None:
    with pytest.raises(ToolError, match="options"):
        await ask(ToolContext(work), question="Which?", allowFreeform=False)
    with pytest.raises(ToolError, match="empty"):
        await ask(ToolContext(work), question=" ")


def test_asking_again_does_no_harm() -> None:
    assert ask_user.repeatable

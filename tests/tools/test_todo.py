"""The todo list: the whole list each time."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from shipmate.protocol import AnyBlock, Todo, TodoItem
from shipmate.tools.arguments import parse_arguments
from shipmate.tools.todo import manage_todo_list
from shipmate.tools.tool import ToolContext, ToolError, Workspace


async def manage(
    work: Workspace, given: Mapping[str, Any], todo: Todo | None = None
) -> tuple[str, list[AnyBlock]]:
    made: list[AnyBlock] = []

    async def emit(block: AnyBlock) -> None:
        made.append(block)

    ctx = ToolContext(work, call="c1", emit=emit, todo=todo)
    return str(await manage_todo_list.run(ctx, **parse_arguments(manage_todo_list, given))), made


async def test_the_list_is_shown_to_the_user(work: Workspace) -> None:
    given = json.loads(manage_todo_list.example)
    text, made = await manage(work, given)
    assert text == "1 of 2 items are completed."
    assert made == [
        Todo(
            id="todo",
            items=(
                TodoItem(id=1, title="Read the failing test", status="completed"),
                TodoItem(id=2, title="Fix the parser", status="in-progress"),
            ),
            pos=made[0].pos,
        )
    ]


async def test_two_items_in_progress_are_warned_about(work: Workspace) -> None:
    items = [{"id": n, "title": f"t{n}", "status": "in_progress"} for n in (1, 2)]
    text, made = await manage(work, {"todoList": items})
    assert text.startswith("Warning: 2 items are in progress (1, 2)")
    assert len(made) == 1


async def test_an_empty_list_clears_it(work: Workspace) -> None:
    text, made = await manage(work, {"todoList": []})
    assert text == "The todo list is empty now."
    assert made == [Todo(id="todo")]


async def test_read_gives_the_list_back_and_changes_nothing(work: Workspace) -> None:
    todo = Todo(id="todo", items=(TodoItem(id=1, title="Look", status="in-progress"),))
    assert await manage(work, {"operation": "read"}, todo) == ("1. [in-progress] Look", [])
    assert await manage(work, {"operation": "read"}) == ("The todo list is empty.", [])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "`todoList` is missing"),
        ({"todoList": [{"id": 1, "title": "a"}]}, "`todoList[0].status` is missing"),
        ({"todoList": [{"id": 1, "title": " ", "status": "completed"}]}, "has no title"),
        (
            {"todoList": [{"id": 1, "title": t, "status": "completed"} for t in "ab"]},
            "Two items have the id 1",
        ),
    ],
)
async def test_what_is_wrong_is_named(work: Workspace, given: Mapping[str, Any], said: str) -> None:
    with pytest.raises(ToolError) as caught:
        await manage(work, given)
    assert said in str(caught.value)


def test_the_schema_requires_the_list() -> None:
    assert manage_todo_list.parameters["required"] == ["todoList"]
    item = manage_todo_list.parameters["properties"]["todoList"]["items"]["properties"]
    assert item["status"]["type"] == "string"

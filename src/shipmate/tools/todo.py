"""Provider `todo`: the model keeps its plan where the user sees it."""

from collections.abc import Sequence
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from shipmate.protocol import Todo, TodoItem
from shipmate.tools.arguments import requiring
from shipmate.tools.tool import ToolContext, ToolError, never_ask, tool


class TodoEntry(Struct, frozen=True):
    id: int
    title: str
    status: Literal["not-started", "in-progress", "completed"]


@requiring("todoList")
@tool(
    provider="todo",
    judge=never_ask,
    repeatable=True,
    example=(
        '{"todoList": [{"id": 1, "title": "Read the failing test", "status": "completed"}, '
        '{"id": 2, "title": "Fix the parser", "status": "in-progress"}]}'
    ),
)
async def manage_todo_list(
    ctx: ToolContext,
    todo_list: tuple[TodoEntry, ...] | UnsetType = UNSET,
    operation: Literal["write", "read"] = "write",
) -> str:
    """Keep the list of what is to be done, which the user sees.

    Use it for work of several steps. Send the whole list each time: all items, changed or not.
    Set an item to in-progress before you begin it (one at a time) and to completed as soon as
    it is done. `operation: "read"` gives the list back as it stands.
    """
    if operation == "read":
        items = ctx.todo.items if isinstance(ctx.todo, Todo) else ()
        return "\n".join(_line(item) for item in items) or "The todo list is empty."
    if isinstance(todo_list, UnsetType):
        raise ToolError("`todoList` is missing; send the whole list (empty to clear it).")
    items = _checked(todo_list)
    if ctx.emit:
        await ctx.emit(Todo(id="todo", items=items))
    return _told(items)


def _checked(entries: Sequence[TodoEntry]) -> tuple[TodoItem, ...]:
    seen: set[int] = set()
    for entry in entries:
        if entry.id in seen:
            raise ToolError(f"Two items have the id {entry.id}; number them 1, 2, 3 ...")
        if not entry.title.strip():
            raise ToolError(f"Item {entry.id} has no title.")
        seen.add(entry.id)
    return tuple(TodoItem(id=e.id, title=e.title.strip(), status=e.status) for e in entries)


def _told(items: Sequence[TodoItem]) -> str:
    if not items:
        return "The todo list is empty now."
    done = sum(item.status == "completed" for item in items)
    busy = [item for item in items if item.status == "in-progress"]
    told = f"{done} of {len(items)} items are completed."
    if len(busy) > 1:
        ids = ", ".join(str(item.id) for item in busy)
        told = f"Warning: {len(busy)} items are in progress ({ids}); keep it to one. {told}"
    return told


def _line(item: TodoItem) -> str:
    return f"{item.id}. [{item.status}] {item.title}"


TOOLS = (manage_todo_list,)

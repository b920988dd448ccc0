"""What is carried over a compaction from structured state, whatever the summary says."""

from collections.abc import Iterable, Sequence
from typing import Any, cast

from shipmate.protocol import AnyBlock, DiffDetail, Todo, ToolCall, ToolResult, User

SAID = 2_000
"""Characters of an earlier message of the user that are kept; of the last one `LAST`."""
LAST = 8_000
WORDS = 12_000
"""Characters of all of them together; the oldest give way."""
FILES = 60
_PATHS = ("path", "filePath", "file_path", "files", "paths", "replacements", "edits")
_MARKS = {"completed": "x", "in-progress": "~", "not-started": " "}


def facts(blocks: Iterable[AnyBlock], replaces: tuple[int, int]) -> str:
    """What the user said in the part that is left out, the files touched there, and the todo
    list as it stands."""
    kept = list(blocks)
    gone = [block for block in kept if replaces[0] <= block.pos <= replaces[1]]
    sections = [_words(gone), *_files(gone), _todo(kept)]
    return "\n\n".join(section for section in sections if section)


def _words(gone: Sequence[AnyBlock]) -> str:
    said = [block.text.strip() for block in gone if isinstance(block, User) and block.text.strip()]
    room, lines = WORDS, list[str]()
    for index, text in enumerate(reversed(said)):
        most = min(room, LAST if index == 0 else SAID)
        if most < 80:
            break
        shown = text if len(text) <= most else f"{text[: most - 2]} …"
        lines.append(f"- {shown}")
        room -= len(shown)
    return "The user said, oldest first:\n" + "\n".join(reversed(lines)) if lines else ""


def _files(gone: Sequence[AnyBlock]) -> list[str]:
    results = {block.call: block for block in gone if isinstance(block, ToolResult)}
    changed: dict[str, None] = {}
    read: dict[str, None] = {}
    for call in gone:
        if not isinstance(call, ToolCall):
            continue
        result = results.get(call.id)
        if result is None or result.is_error:
            continue
        details = result.details
        if isinstance(details, DiffDetail):
            changed |= dict.fromkeys(file.path for file in details.files)
        elif call.provider == "read_write":
            changed |= dict.fromkeys(_paths(call.arguments))
        else:
            read |= dict.fromkeys(_paths(call.arguments))
    only = [path for path in read if path not in changed]
    return [_listed("Files changed", list(changed)), _listed("Files read", only)]


def _paths(arguments: dict[str, Any]) -> list[str]:
    found: list[str] = []
    for name in _PATHS:
        value = arguments.get(name)
        for item in cast("list[Any]", value) if isinstance(value, list) else [value]:
            path = cast("dict[str, Any]", item).get("path") if isinstance(item, dict) else item
            if isinstance(path, str) and path:
                found.append(path)
    return found


def _listed(title: str, paths: list[str]) -> str:
    if not paths:
        return ""
    more = f" and {len(paths) - FILES} more" if len(paths) > FILES else ""
    return f"{title}: {', '.join(paths[-FILES:])}{more}"


def _todo(kept: Sequence[AnyBlock]) -> str:
    lists = [block for block in kept if isinstance(block, Todo)]
    if not lists or not lists[-1].items:
        return ""
    lines = [f"[{_MARKS[item.status]}] {item.id} {item.title}" for item in lists[-1].items]
    return "The todo list:\n" + "\n".join(lines)

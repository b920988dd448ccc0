"""The scripted demo plays its tour from whatever it is sent, in the user's language."""

import json

import pytest

from shipmate.agent import compaction
from shipmate.llm.demo import DEMO_FILE, DemoModel, Seen, next_step, proposed, readable
from shipmate.llm.demo_words import ENGLISH
from shipmate.llm.model import CallPart, ChatMessage, Part, Reply, ToolSpec

ALL = {"list_files", "read_file", "manage_todo_list", "write_file", "ask_user"}
RESULTS = {
    "list_files": "src/\nREADME.md\npyproject.toml",
    "read_file": "# Title\n\ntext",
    "ask_user": "Fix a bug",
}


def tour(task: str, tools: set[str] = ALL) -> tuple[list[Reply], list[ChatMessage]]:
    """Play to the end: the replies, and the messages as they stand then."""
    messages = [ChatMessage("system", "…"), ChatMessage("user", task)]
    replies: list[Reply] = []
    while not replies or replies[-1].calls:
        assert len(replies) < 20
        reply = next_step(messages, tools)
        replies.append(reply)
        ids = [f"{len(replies)}-{n}" for n, _ in enumerate(reply.calls)]
        parts = tuple(CallPart(i, c.name, c.raw) for i, c in zip(ids, reply.calls, strict=True))
        messages.append(ChatMessage("assistant", reply.text, calls=parts))
        for part in parts:
            messages.append(ChatMessage("tool", RESULTS.get(part.name, "Done."), call=part.id))
    return replies, messages


@pytest.mark.parametrize(
    ("task", "label"),
    [("Show me around", "**[scripted demo]** "), ("带我看看", "**[脚本演示]** ")],
)
def test_the_tour_shows_everything_and_labels_every_message(task: str, label: str) -> None:
    replies, _ = tour(task)
    assert [call.name for reply in replies for call in reply.calls] == [
        *("list_files", "read_file", "manage_todo_list", "write_file"),
        *("manage_todo_list", "ask_user", "manage_todo_list"),
    ]
    assert all(reply.text.startswith(label) for reply in replies)
    assert "Fix a bug" in replies[-1].text


def test_what_the_calls_carry_fits_the_tools() -> None:
    replies, _ = tour("hi")
    sent = {call.name: json.loads(call.raw) for reply in replies for call in reply.calls}
    assert sent["read_file"] == {"path": "README.md"}
    assert sent["write_file"]["path"] == DEMO_FILE
    assert "README.md" in sent["write_file"]["content"]
    statuses = [item["status"] for item in sent["manage_todo_list"]["todoList"]]
    assert statuses == ["completed"] * 3
    assert len(sent["ask_user"]["options"]) >= 2


def test_it_goes_on_from_any_point_after_a_restart() -> None:
    replies, messages = tour("hi")
    again = [next_step(messages[: 2 + 2 * n], ALL) for n in range(len(replies))]
    assert again == replies


def test_what_comes_after_the_tour_gets_an_honest_answer() -> None:
    _, messages = tour("hi")
    reply = next_step([*messages, ChatMessage("user", "修复 {bug}")], ALL)
    assert reply.calls == ()
    assert reply.text.startswith("**[脚本演示]** ")
    assert "修复 {bug}" in reply.text


def test_tools_that_are_not_offered_are_left_out() -> None:
    replies, _ = tour("hi", {"read_file", "ask_user"})
    assert [call.name for reply in replies for call in reply.calls] == ["ask_user"]


def test_a_project_without_a_readable_file_is_no_obstacle() -> None:
    assert readable("src/\n.git/\nimage.png\nThe folder is empty.") == ""
    assert readable(f"{DEMO_FILE}\nshipmate-demo-2.md\nmain.py") == "main.py"
    assert readable("zeta.md\nREADME.rst") == "README.rst"


def test_a_second_tour_proposes_another_file_so_that_there_is_something_to_approve() -> None:
    listing = f"README.md\n{DEMO_FILE}\nshipmate-demo-2.md"
    seen = Seen(ENGLISH, "hi", {"list_files": [listing]}, fresh=False)
    assert proposed(seen) == "shipmate-demo-3.md"


async def test_it_streams_what_it_says() -> None:
    spec = ToolSpec("list_files", "", {})
    items = [i async for i in DemoModel(pause=0).stream([ChatMessage("user", "hi")], [spec])]
    reply = items[-1]
    assert isinstance(reply, Reply)
    assert "".join(i.text for i in items if isinstance(i, Part)) == reply.text
    assert len(items) > 5


def test_the_demo_sums_up_when_it_is_asked_to() -> None:
    asked = ChatMessage("user", f"{compaction.ASK}user: tour")
    assert "wrote one" in next_step([asked], set()).text

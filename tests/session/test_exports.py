"""A session as a document, and a session of a document."""

import hashlib
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shipmate.database.store import Kept, SessionFilter
from shipmate.errors import ShipmateError
from shipmate.llm.scripted import call, say
from shipmate.protocol import (
    ApprovalRequest,
    Message,
    SessionRow,
    System,
    ToolCall,
    ToolResult,
    User,
    decode_kept,
)
from shipmate.session.exports import Format, export, file_name
from shipmate.session.imports import Document, bring_in
from tests.play import Stage, stage
from tests.session.trade import TOOLS, done, roles

ROW = SessionRow(
    id="s", agent="assistant", provider="a/b", project="p", title="<b>Title</b> & more"
)
SAMPLES = Path(__file__).parent.parent / "blocks" / "v1" / "blocks.jsonl"
PNG = b"\x89PNG\r\n\x1a\n" + b"picture"
ALLOWED = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "section", "pre"}


def samples() -> list[Kept]:
    found = [line for line in SAMPLES.read_bytes().split(b"\n") if line]
    return [Kept(n, n, json.loads(line)["type"], line) for n, line in enumerate(found, 1)]


def a_script(_file: str) -> bytes | None:
    return b"<svg onload=alert(1)>"


def nothing(_file: str) -> bytes | None:
    return None


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


@pytest.mark.parametrize("form", ["md", "html"])
def test_every_block_is_in_the_document(form: Format) -> None:
    text = export(ROW, [*samples(), kept("foo", extra="raw")], form, nothing).decode()
    for word in ("hé 🙂", "make test", "Approved by user: f", "raw"):
        assert word in text, word
    for word in ("Not decided.", "Not answered (stop).", "[x] t", "Summary", "(foo)"):
        assert word in text, word


def kept(kind: str, /, **fields: Any) -> Kept:
    return Kept(1, 1, kind, msgspec.json.encode({"type": kind, "id": "x", **fields}))


HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)> \"'& </pre></p></style>"
    "\n```html\n<script>evil()</script>\n```\njavascript:alert(1) \u202egnp.exe"
)


def test_a_page_holds_no_script_and_asks_for_nothing() -> None:
    blocks = [
        kept("user", text=HOSTILE),
        kept("message", text=HOSTILE, reasoning=HOSTILE, agent=HOSTILE, model=HOSTILE),
        kept("tool", message="m", name=HOSTILE, arguments={HOSTILE: HOSTILE}),
        kept("tool_result", call="c", text=HOSTILE),
        kept("system", text=HOSTILE),
        kept(HOSTILE, x=HOSTILE),
        kept("attachment", kind="image", name=HOSTILE, file="f"),
    ]
    row = msgspec.structs.replace(ROW, title=HOSTILE, project=HOSTILE)
    for load in (nothing, a_script):
        tags = Tags(export(row, blocks, "html", load).decode()).seen
        assert {tag for tag, _ in tags} <= ALLOWED
        for _, attributes in tags:
            assert not {"src", "href", "onerror", "onload", "style"} & set(attributes)


def test_a_page_carries_its_pictures() -> None:
    page = export(
        ROW, [kept("attachment", kind="image", name="n", file="f")], "html", lambda _: PNG
    )
    (picture,) = [given for tag, given in Tags(page.decode()).seen if tag == "img"]
    assert str(picture["src"]).startswith("data:image/png;base64,")


def test_hidden_characters_are_named_where_code_is_shown() -> None:
    block = kept("tool_result", call="c", text="safe\u202etxt")
    for form in ("md", "html"):
        assert "safe[U+202E]txt" in export(ROW, [block], form, nothing).decode()


def test_a_fence_in_markdown_is_longer_than_those_in_it() -> None:
    text = export(ROW, [kept("tool_result", call="c", text="a\n````\nb")], "md", nothing).decode()
    assert "\n`````\na\n````\nb\n`````\n" in text


@pytest.mark.parametrize(
    ("text", "end"), [("```py\nx = 1", "```"), ("~~~~\n```", "~~~~"), ("a", "")]
)
def test_code_that_was_cut_off_ends_where_its_message_does(text: str, end: str) -> None:
    blocks = [kept("message", text=text, partial=True), kept("user", text="next")]
    page = export(ROW, blocks, "md", nothing).decode()
    assert f"\n{text}\n{end}\n".replace("\n\n", "\n") in page.replace("\n\n", "\n")


@pytest.mark.timeout(120)
def test_fences_of_any_length_take_no_time() -> None:
    for text in ("`" * 200_000, "```\n" * 50_000, "~~~ " * 50_000, " " * 200_000 + "```"):
        export(ROW, [kept("message", text=text)], "html", nothing)


def test_a_file_name_is_safe() -> None:
    for title, name in {
        "../../etc/passwd": "etc-passwd.md",
        'a"b\r\nc': "a-b-c.md",
        "你好 世界": "你好-世界.md",
        "...": "s.md",
    }.items():
        assert file_name(msgspec.structs.replace(ROW, title=title), "md") == name


async def brought(play: Stage, folder: Path, document: Any, project: str = "") -> str:
    given = msgspec.json.decode(msgspec.json.encode(document), type=Document)
    return (await bring_in(play.executor, given, project, folder / "files")).id


async def test_what_was_exported_comes_in_the_same_and_goes_on(tmp_path: Path) -> None:
    script = [call("act", command="go"), say("on")]
    async with stage(tmp_path, script, tools=TOOLS) as play:
        session = await play.create(bypass=True)
        await play.say(session, "run")
        row, stored = await play.row(session), await play.store.window(session)
        content = export(row, stored, "json", nothing)
        made = await brought(play, tmp_path, json.loads(content), "elsewhere")
        there = await play.row(made)
        assert (there.title, there.project, there.status) == (row.title, "elsewhere", "idle")
        assert (there.bypass_approval, there.pending_approval) == (False, "")
        assert there.created_at == row.created_at
        assert [type(b) for b in await play.store.history(made)] == [
            *(User, Message, ToolCall, ApprovalRequest, ToolResult, System)
        ]
        assert done(await play.say(made, "and?")).finished
        assert roles(play.model.requests[-1].messages) == [
            "system",
            "user",
            "assistant",
            "tool",
            "user",
        ]
        assert not (tmp_path / "project" / "log").exists()


async def test_all_samples_come_in(tmp_path: Path) -> None:
    async with stage(tmp_path, [say("x")], tools=TOOLS) as play:
        blocks = [json.loads(k.json) for k in samples()]
        made = await brought(play, tmp_path, {"shipmate": 1, "blocks": blocks})
        assert len(await play.store.history(made)) >= len(blocks)
        assert done(await play.say(made, "hi")).finished


async def test_an_old_odd_and_large_session_comes_in(tmp_path: Path) -> None:
    """SES-25: 5,000 messages, 40 MB, a result of 5 MB, null tokens, an unknown type, a time in
    the future, duplicate order numbers."""
    blocks: list[dict[str, Any]] = []
    for n in range(2500):
        blocks.append({"type": "user", "id": f"u{n}", "pos": n, "text": f"q{n}", "at": 2**50})
        blocks.append(
            {"type": "message", "id": f"m{n}", "pos": n, "text": f"a{n} " * 3500, "tokens": None}
        )
    blocks.append({"type": "tool", "id": "c", "pos": 9000, "message": "m2499", "name": "look"})
    blocks.append(
        {"type": "tool_result", "id": "r", "pos": 9000, "call": "c", "text": "x" * (5 << 20)}
    )
    blocks.append({"type": "foo", "id": "m7", "pos": None, "what": 1})
    blocks.append({"type": "message", "text": ["wrong"]})
    assert sum(len(str(b)) for b in blocks) > 40_000_000
    async with stage(tmp_path, [say("Summed up."), say("on")], tools=TOOLS) as play:
        made = await brought(play, tmp_path, {"shipmate": 1, "blocks": blocks})
        window = await play.store.window(made, limit=100)
        assert len(window) == 100
        everything = await play.store.window(made, limit=10_000)
        assert [k.pos for k in everything] == list(range(1, 5006))
        shown = [decode_kept(k.json) for k in everything]
        said = [b.text[: b.text.find(" ") % 9] for b in shown if isinstance(b, (User, Message))]
        assert [t for t in said if t][:4] == ["q0", "a0", "q1", "a1"]
        for block in shown:
            if isinstance(block, Message):
                assert (block.tokens > 0, block.tokens_source) == (True, "estimate")
        raw = [json.loads(k.json) for k, b in zip(everything, shown, strict=True) if b is None]
        assert {b["type"] for b in raw} == {"foo", "message (unreadable)"}
        assert done(await play.say(made, "go on")).finished


async def test_pictures_come_along_if_they_are_what_they_say(tmp_path: Path) -> None:
    async with stage(tmp_path, [], tools=TOOLS) as play:
        good = hashlib.sha256(PNG).hexdigest()[:24]
        script = b"<svg onload=alert(1)>"
        files = {good: PNG, "0" * 24: PNG, hashlib.sha256(script).hexdigest()[:24]: script}
        files["../../evil"] = PNG
        await brought(play, tmp_path, {"shipmate": 1, "blocks": [], "files": files})
        assert [f.name for f in (tmp_path / "files").iterdir()] == [good]
        assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"shipmate": 2, "blocks": []}, "format 2"),
        ({"shipmate": 1, "blocks": [5]}, "Block 1 .* no object"),
        (
            {"shipmate": 1, "blocks": [{"type": "user", "text": "x"}, {"id": "x"}]},
            "Block 2 .* `type`",
        ),
        ({"shipmate": 1, "blocks": [{"type": 7}]}, "Block 1 .* `type`"),
    ],
)
async def test_what_is_no_session_is_refused_by_name(
    tmp_path: Path, document: Any, why: str
) -> None:
    async with stage(tmp_path, [], tools=TOOLS) as play:
        with pytest.raises(ShipmateError, match=why):
            await brought(play, tmp_path, document)
        assert await play.store.sessions(SessionFilter(archived=None)) == []
